"""`tieline policy` on a real set of rules, whole, and on what is no set of rules."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adapters.main import main

RULES = Path(__file__).parents[2] / "policy" / "rules"

Screen = pytest.CaptureFixture[str]


def test_the_commands_print_what_the_transcript_shows(monkeypatch: pytest.MonkeyPatch, capsys: Screen) -> None:
    monkeypatch.chdir(RULES)
    for command, expected in transcript((RULES / "office.txt").read_text(encoding="utf-8")):
        code = main(shlex.split(command)[1:])
        shown = capsys.readouterr()
        assert f"{shown.out}{shown.err}exit {code}\n" == expected, command


def transcript(text: str) -> Iterator[tuple[str, str]]:
    for part in f"\n{text}".split("\n$ ")[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown.rstrip("\n") + "\n"


def objects(capsys: Screen) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TIELINE_HOME", str(tmp_path))
    return tmp_path


def settings(*rules: str) -> str:
    sessions = '[sessions.desk]\nkind = "chat"\n[sessions.career]\nkind = "chat"\n'
    return sessions + "".join(f"[[policy.rules]]\n{rule}\n" for rule in rules)


def test_a_check_as_json_has_an_object_for_each_finding(capsys: Screen) -> None:
    code = main(["policy", "check", "--json", str(RULES / "office.toml"), "--with", str(RULES / "laboratory.toml")])
    found = objects(capsys)
    assert code == 78
    assert [one["line"] for one in found] == [140, 145, 173, 178, 188, 211, 216, 239, 280, 285, 290]
    assert found[0] == {
        "level": "warning",
        "finding": "shadowed",
        "rule": "policy.rules[11] (office.toml:140)",
        "line": 140,
        "text": "never decides: all that it matches is asked about by policy.rules[8] (office.toml:125)",
        "remedy": "Remove it: nothing changes. If it is meant, narrow policy.rules[8] (office.toml:125).",
        "by": ["policy.rules[8] (office.toml:125)"],
    }


def test_an_explanation_as_json(capsys: Screen) -> None:
    assert (
        main(["policy", "explain", "back-desk", "career", "wake", "--json", "--file", str(RULES / "office.toml")]) == 0
    )
    rule = {
        "rule": "policy.rules[6] (office.toml:112)",
        "line": 112,
        "effect": "ask",
        "from": ["office/back-desk"],
        "to": ["office/career", "office/travel"],
        "verbs": ["wake"],
    }
    written = '[[policy.rules]]\nfrom = "office/back-desk"\nto = ["office/career", "office/travel"]\nverbs = ["wake"]\n'
    assert objects(capsys) == [
        {
            "from": "office/back-desk",
            "to": "office/career",
            "verb": "wake",
            "effect": "ask",
            "rule": "policy.rules[6] (office.toml:112)",
            "reason": f"{rule['rule']} asks a person about wake from office/back-desk to office/career",
            "crosses_profiles": False,
            "decided_by": rule,
            "also": [],
            "changes": [
                {
                    "change": "allow",
                    "text": 'write effect = "allow" in policy.rules[6] (office.toml:112), for all that it matches',
                    "changes": rule,
                    "then": f'{written}effect = "allow"',
                    "instead": None,
                }
            ],
            "notes": ["nobody attends at its places who could approve it, so it is refused"],
        }
    ]


def test_without_a_verb_there_is_an_object_for_each_that_matters(capsys: Screen) -> None:
    assert main(["policy", "explain", "mailroom", "finance", "--json", "--file", str(RULES / "office.toml")]) == 0
    assert [(one["verb"], one["effect"]) for one in objects(capsys)] == [
        ("discover", "deny"),
        ("send", "deny"),
        ("ask", "deny"),
        ("wake", "deny"),
        ("broadcast", "deny"),
        ("claim", "deny"),
        ("spawn", "deny"),
    ]


def test_what_the_recipient_says_for_itself_stands_beside_what_is_allowed(home: Path, capsys: Screen) -> None:
    own = 'hidden = true\nbusy = "reject"\naccept_wake = false\nquiet = ["22:00-07:00"]\ntimezone = "Europe/Berlin"\n'
    rule = 'from = "*"\nto = "default/career"\nverbs = ["discover", "send", "wake"]\neffect = "allow"'
    text = '[agents.a]\ncommand = ["a"]\n' + settings(rule).replace("[[policy", f'agent = "a"\n{own}[[policy', 1)
    (home / "tieline.toml").write_text(text)
    assert main(["policy", "explain", "desk", "career", "--file", str(home / "tieline.toml")]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    by = "policy.rules[0] (tieline.toml:13): * -> default/career"
    assert head == "default/desk -> default/career"
    assert lines == [
        f"  allow  discover      {by}",
        f"  allow  send          {by}",
        "  deny   ask           nothing matches it",
        f"  allow  wake          {by}",
        "  discover: it is hidden: it is in no list that agents get, and takes what is sent to its name",
        "  wake: it has accept_wake = false, so it is refused",
        '  wake: it has busy = "reject": refused while its agent is at work',
        "  wake: quiet hours 22:00-07:00 (Europe/Berlin): until they are over, it waits",
    ]


def test_a_check_says_where_rules_ask_and_nobody_could_be_asked(home: Path, capsys: Screen) -> None:
    rule = 'from = "default/desk"\nto = "default/career"\nverbs = "send"\neffect = "ask"'
    (home / "tieline.toml").write_text(settings(rule))
    assert main(["policy", "check"]) == 0
    assert capsys.readouterr().err.startswith("1 rule asks a person, and there are no operators")
    telegram = '[telegram]\ntoken = "1:a"\noperators = [111]\n'
    (home / "tieline.toml").write_text(settings(rule) + telegram)
    assert main(["policy", "check"]) == 0
    assert capsys.readouterr().err == ""


def test_without_a_file_the_home_is_looked_at_as_the_bridge_would(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Screen
) -> None:
    rule = 'from = "default/desk"\nto = "default/career"\nverbs = "send"\neffect = "allow"'
    (home / "tieline.toml").write_text(settings(rule))
    assert main(["policy", "check"]) == 0
    assert capsys.readouterr().out == "1 rule, 3 sessions: nothing is wrong\n"
    assert main(["policy", "explain", "desk", "default/career", "send"]) == 0
    assert capsys.readouterr().out.startswith("allow: send from default/desk to default/career\n")
    monkeypatch.setenv("TIELINE_PROFILE", "work")
    assert main(["policy", "check"]) == 78
    assert "policy.rules[0] (tieline.toml:5) can never match" in capsys.readouterr().out


def test_warnings_alone_are_no_failure(home: Path, capsys: Screen) -> None:
    rule = 'from = "default/*"\nto = "default/*"\nverbs = "send"\neffect = "allow"'
    (home / "tieline.toml").write_text(settings(rule, rule))
    assert main(["policy", "check"]) == 0
    assert capsys.readouterr().out.endswith("2 rules, 3 sessions: 1 warning\n")


def test_the_file_of_a_token_need_not_be_there_where_only_rules_are_looked_at(tmp_path: Path, capsys: Screen) -> None:
    file = tmp_path / "elsewhere.toml"
    file.write_text(settings() + '[telegram]\ntoken_file = "telegram.token"\n')
    assert main(["policy", "check", str(file)]) == 0
    assert capsys.readouterr().out == "0 rules, 3 sessions: nothing is wrong\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[policy.rules]]\nfrom = ", "office.toml:2: this is no TOML"),
        (
            '[[policy.rules]]\nfrom = "desk"\nto = "*"\nverbs = "send"\neffect = "allow"',
            "office.toml:2: policy.rules[0].from",
        ),
    ],
)
def test_settings_that_are_wrong_are_told_with_their_line(text: str, told: str, tmp_path: Path, capsys: Screen) -> None:
    file = tmp_path / "office.toml"
    file.write_text(text)
    assert main(["policy", "check", str(file)]) == 78
    assert told in capsys.readouterr().err
    assert main(["policy", "explain", "a", "b", "send", "--json", "--file", str(file)]) == 78
    (shown,) = objects(capsys)
    assert shown["error"]["reason"].startswith(told)
    assert shown["error"]["remedy"]


def of_children(home: Path, rule: str) -> None:
    agents = '[agents.helper]\ncommand = ["helper"]\n[agents.other]\ncommand = ["other"]\n'
    (home / "tieline.toml").write_text(agents + settings(rule))


@pytest.mark.parametrize("to", ["tag:agent:helper", "kind:tool", "default/*", "*"])
def test_a_rule_about_children_is_explained_and_no_mistake(home: Path, capsys: Screen, to: str) -> None:
    of_children(home, f'from = "default/desk"\nto = "{to}"\nverbs = "spawn"\neffect = "allow"')
    assert main(["policy", "check"]) == 0
    assert "nothing is wrong" in capsys.readouterr().out
    assert main(["policy", "explain", "desk", "agent:helper", "--json"]) == 0
    (told,) = objects(capsys)
    assert (told["verb"], told["effect"]) == ("spawn", "allow")


def test_a_rule_about_children_of_no_agent_can_never_match(home: Path, capsys: Screen) -> None:
    of_children(home, 'from = "default/desk"\nto = "tag:agent:helpr"\nverbs = "spawn"\neffect = "allow"')
    assert main(["policy", "check"]) == 78
    assert "a tag that no session has" in capsys.readouterr().out


def test_what_would_let_a_session_spawn_names_the_agent_and_no_id_that_there_is_not(home: Path, capsys: Screen) -> None:
    of_children(home, 'from = "default/desk"\nto = "tag:agent:other"\nverbs = "spawn"\neffect = "allow"')
    assert main(["policy", "explain", "desk", "agent:helper", "spawn"]) == 0
    shown = capsys.readouterr().out
    assert 'to = "tag:agent:helper"' in shown
    assert 'verbs = ["spawn"]' in shown


@pytest.mark.parametrize(("to", "verb"), [("agent:nobody", "spawn"), ("agent:helper", "ask")])
def test_what_cannot_be_spawned_is_not_explained(home: Path, capsys: Screen, to: str, verb: str) -> None:
    of_children(home, 'from = "default/desk"\nto = "kind:tool"\nverbs = "spawn"\neffect = "allow"')
    assert main(["policy", "explain", "desk", to, verb]) == 64
    assert "invalid_request" in capsys.readouterr().err
