"""The language of the scripted agent."""

from pathlib import Path

import pytest

from adapters.scripted.history import Histories
from adapters.scripted.persona import Persona
from adapters.scripted.script import Unreadable, filled, filled_data, read, script_in

VALUES: dict[str, object] = {"last": {"messages": [{"text": "hi", "n": 3}]}, "id": "m-1"}


def words(script: str) -> list[tuple[str, str]]:
    return [(directive.verb, directive.text) for directive in read(script)]


def test_directives_are_separated_by_line_ends_or_semicolons_in_spaces() -> None:
    assert words("say a;b ; wait 1\n\n  hang\n") == [("say", "a;b"), ("wait", "1"), ("hang", "")]
    assert words("hang ; ") == [("hang", "")]
    assert words("") == []


def test_json_may_hold_a_script_of_its_own() -> None:
    script = 'call peer_send {"to": "b", "text": "do: say a ; call x {}\\nhang"} ; say sent'
    call, say = read(script)
    assert (call.text, call.data) == ("peer_send", {"to": "b", "text": "do: say a ; call x {}\nhang"})
    assert (say.verb, say.text) == ("say", "sent")


def test_json_may_stand_on_many_lines() -> None:
    call, say = read('call x {\n  "a": 1\n}\nsay done')
    assert call.data == {"a": 1}
    assert say.text == "done"


def test_a_call_needs_no_arguments() -> None:
    assert words("call peer_receive ; say x") == [("call", "peer_receive"), ("say", "x")]
    assert words("call peer_receive") == [("call", "peer_receive")]


@pytest.mark.parametrize("script", ["42", 'call x {"a": 1', "call x {} y", "call", "SAY x"])
def test_what_is_no_script_is_told(script: str) -> None:
    with pytest.raises(Unreadable):
        read(script)


def test_only_marked_text_is_a_script() -> None:
    assert script_in(" do: say x") == "say x"
    assert script_in("do:\nsay x\nsay y") == "say x\nsay y"
    assert script_in("please do: say x") is None


def test_references_are_filled_in() -> None:
    assert filled("$id: $last.messages[0].text, ${id}x. $$id", VALUES) == "m-1: hi, m-1x. $id"
    assert filled("$last.messages[0].n", VALUES) == "3"
    assert filled("it costs $5 and $nothing.at[9]", VALUES) == "it costs $5 and $nothing.at[9]"
    assert filled("$last.messages[1].text", VALUES) == "$last.messages[1].text"


def test_a_reference_alone_keeps_its_type_in_json() -> None:
    data = {"ids": ["$id"], "all": "$last.messages", "n": "$last.messages[0].n", "text": "n=$last.messages[0].n"}
    assert filled_data(data, VALUES) == {"ids": ["m-1"], "all": [{"text": "hi", "n": 3}], "n": 3, "text": "n=3"}


def test_the_first_rule_that_fits_wins(tmp_path: Path) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text(
        '{"rules": [{"on": "mail", "match": "CV", "from": "default/a", "script": ["say a", "say b"]},'
        '{"on": "prompt", "regex": "hand (?P<what>.+) to (?P<to>\\\\w+)", "script": "say $to: $what"},'
        '{"on": "mail", "intent": "reply", "script": "say thanks"}, {"on": "mail", "script": "say any"}]}'
    )
    persona = Persona(str(rules))
    assert persona.script("mail", "my cv", {"from": "default/a"}) == ("say a\nsay b", {})
    assert persona.script("mail", "my cv", {"from": "default/b"}) == ("say any", {})
    assert persona.script("mail", "x", {"intent": "reply"}) == ("say thanks", {})
    assert persona.script("prompt", "Hand this to Career") == ("say $to: $what", {"what": "this", "to": "Career"})
    assert persona.script("prompt", "hello") is None
    assert persona.script("start") is None


def test_a_history_outlives_its_process(tmp_path: Path) -> None:
    first = Histories(str(tmp_path))
    session = first.new()
    first.add(session, {"sessionUpdate": "x"})
    assert Histories(str(tmp_path)).load(session) == [{"sessionUpdate": "x"}]
    assert Histories(str(tmp_path)).load("other") is None
    assert Histories(str(tmp_path)).load("../" + tmp_path.name + "/" + session) is None
    assert Histories(None).load(session) is None
