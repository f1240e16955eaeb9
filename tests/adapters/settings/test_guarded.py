"""What agents must not widen: what counts as wider, and what holds until it is accepted."""

import json

import pytest

from adapters.settings.guarded import Guarded, guarded, restricted, widening
from adapters.settings.model import PeerText, WebhookSettings
from adapters.settings.outlook import outlook
from bridge.decision import Circumstances, Effect, Party, Verb
from bridge.ids import SessionId
from bridge.session import Kind, PeerTools
from tests.adapters.settings.conftest import Load

FILE = """
[telegram]
token = "1:a"
base_url = "https://one.example/bot"
operators = [111, 112]
users = [222]
chats = [-1]
[agents.desk]
command = ["desk", "--a b"]
[sessions.front]
agent = "desk"
[[policy.rules]]
from = "default/front"
to = "default/*"
verbs = ["send", "ask"]
effect = "ask"
"""
RULE = '[[policy.rules]]\nfrom = "default/a"\nto = "default/b"\nverbs = "send"\neffect = "allow"\n'
WITHOUT_PERMISSION = 'agent = "desk"\npeer_tools = "deny"\npeer_mode = "plan"'
NOW = Circumstances(1_000.0, None)
A, B = (Party(SessionId(f"default/{handle}"), Kind.CHAT) for handle in "ab")


def test_a_copy_comes_back_from_json_as_it_was_but_for_the_names_of_rules(loaded: Load) -> None:
    copy = guarded(loaded(FILE)).to_json()
    again = Guarded.from_json(json.loads(json.dumps(copy)))
    assert again.to_json() == copy
    assert widening(again, guarded(loaded(FILE))) == widening(guarded(loaded(FILE)), again) == []
    assert "1:a" not in json.dumps(copy)


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("[111, 112]", "[111]", []),
        ("[111, 112]", "[111, 112, 999]", ["telegram.operators: 999 may approve, stop, bind and change the policy"]),
        (
            "[111, 112]",
            "[222]",
            [
                "telegram.operators: nobody would be left of those who decide now (111, 112)",
                "telegram.operators: 222 may approve, stop, bind and change the policy",
            ],
        ),
        ("users = [222]", "users = [222, 112]", []),
        ("users = [222]", "users = [223]", ["telegram.users: 223 may talk"]),
        ("chats = [-1]", "chats = []", []),
        (
            'agent = "desk"',
            'agent = "desk"\npeer_tools = "inherit"\npeer_mode = "plan"',
            ["default/front: peer_tools is inherit instead of ask"],
        ),
        ('agent = "desk"', 'agent = "desk"\npeer_tools = "deny"', []),
        ("chats = [-1]", "chats = [-1, -2]", ["telegram.chats: people are heard in -2"]),
        (
            "one.example",
            "two.example",
            ["telegram.base_url: https://two.example/bot instead of https://one.example/bot gets the bot's token"],
        ),
        ('"--a b"', '"--c"', ["agents.desk: runs desk --c instead of desk '--a b'"]),
        ("[sessions", '[agents.more]\ncommand = ["more"]\n[sessions', ["agents.more: runs more"]),
        (
            '"--a b"]',
            '"--a b"]\nenv = { PATH = "/tmp/other" }\nenv_pass = ["SECRET"]\npeer_text = "embed"',
            [
                "agents.desk: its env is another one (PATH)",
                "agents.desk: gets SECRET of the bridge's environment",
                "agents.desk: peer_text is embed: what peers write stands among its user's words",
            ],
        ),
        (
            "[sessions",
            '[agents.more]\ncommand = ["more"]\nenv = { A = "b" }\n[sessions',
            ["agents.more: runs more", "agents.more: its env is another one (A)"],
        ),
        ('"send", "ask"', '"send", "ask", "wake"', ["ask a person about wake: default/front → default/*"]),
        ('effect = "ask"', 'effect = "deny"', []),
    ],
)
def test_what_is_wider_is_told_in_lines(loaded: Load, old: str, new: str, lines: list[str]) -> None:
    assert old in FILE
    assert widening(guarded(loaded(FILE)), guarded(loaded(FILE.replace(old, new)))) == lines


def test_a_webhook_waits_until_it_is_accepted_and_so_does_another_secret(loaded: Load) -> None:
    def hooked(host: str, secret: str = "") -> str:
        return FILE.replace("[agents", f'[telegram.webhook]\nurl = "https://{host}/hook"\n{secret}\n[agents')

    none, one = guarded(loaded(FILE)), guarded(loaded(hooked("a.example")))
    other, with_secret = loaded(hooked("b.example")), loaded(hooked("a.example", 'secret = "word"'))
    told = "telegram.webhook: https://a.example/hook gets what people say, and may speak for them"
    assert widening(none, one) == [told]
    assert widening(one, none) == []
    assert widening(one, guarded(with_secret)) == [told]
    assert "word" not in json.dumps(guarded(with_secret).to_json())
    for settings in (other, with_secret):
        held = restricted(settings, one).telegram
        assert held is not None
        assert held.webhook is None
    held = restricted(loaded(hooked("a.example")), one).telegram
    assert held is not None
    assert held.webhook == WebhookSettings("https://a.example/hook", "127.0.0.1", 8443, None)


def test_to_leave_telegram_out_leaves_nobody_to_ask(loaded: Load) -> None:
    without = FILE[FILE.index("[agents") :]
    (line,) = widening(guarded(loaded(FILE)), guarded(loaded(without)))
    assert "nobody would be left" in line
    assert restricted(loaded(without), guarded(loaded(FILE))).telegram is None


def test_until_it_is_accepted_the_old_people_chats_url_and_commands_hold(loaded: Load) -> None:
    accepted = guarded(loaded(FILE))
    wider = (
        FILE.replace("[111, 112]", "[111, 222, 999]")
        .replace("users = [222]", "users = [112, 888]")
        .replace("[-1]", "[-1, -2]")
        .replace("one.example", "two.example")
        .replace('"--a b"', '"--evil"')
        .replace("[sessions", '[agents.more]\ncommand = ["more"]\n[sessions')
    )
    narrowed = restricted(loaded(wider), accepted)
    assert narrowed.telegram is not None
    assert narrowed.telegram.operators == {111}
    assert narrowed.telegram.users == {112, 222}
    assert narrowed.telegram.chats == {-1}
    assert narrowed.telegram.base_url == "https://one.example/bot"
    assert {name: agent.command for name, agent in narrowed.agents.items()} == {"desk": ("desk", "--a b")}
    assert [name for name in widening(accepted, guarded(narrowed)) if not name.startswith("ask")] == []


def test_until_it_is_accepted_an_agent_gets_nothing_more_and_a_session_keeps_its_agent(loaded: Load) -> None:
    file = FILE.replace("[sessions", '[agents.bold]\ncommand = ["bold"]\nenv_pass = ["A"]\n[sessions')
    accepted = Guarded.from_json(json.loads(json.dumps(guarded(loaded(file)).to_json())))
    wide = file.replace('env_pass = ["A"]', 'env_pass = ["A", "B"]\npeer_text = "embed"').replace(
        'agent = "desk"', 'agent = "bold"'
    )
    assert widening(accepted, guarded(loaded(wide))) == [
        "agents.bold: gets B of the bridge's environment",
        "agents.bold: peer_text is embed: what peers write stands among its user's words",
        "default/front: its agent is bold instead of desk",
    ]
    held = restricted(loaded(wide), accepted)
    assert (held.agents["bold"].env_pass, held.agents["bold"].peer_text) == (("A",), PeerText.PULL)
    assert [session.agent for session in held.sessions] == ["desk"]
    assert widening(guarded(loaded(wide)), accepted) == ["default/front: its agent is desk instead of bold"]
    other = file.replace('command = ["bold"]', 'command = ["bold"]\nenv = { PATH = "/tmp/other" }')
    assert restricted(loaded(other), accepted).agents.keys() == {"desk"}
    assert "/tmp/other" not in json.dumps(guarded(loaded(other)).to_json())


def test_of_a_copy_that_says_nothing_of_it_nothing_is_wider(loaded: Load) -> None:
    copy = guarded(loaded(FILE)).to_json()
    del copy["surroundings"], copy["agents"]
    more = FILE.replace('"--a b"]', '"--a b"]\nenv_pass = ["A"]')
    assert widening(Guarded.from_json(copy), guarded(loaded(more))) == []
    assert restricted(loaded(more), Guarded.from_json(copy)).agents["desk"].env_pass == ("A",)


def test_who_decides_now_decides_about_those_who_would_replace_them(loaded: Load) -> None:
    narrowed = restricted(loaded(FILE.replace("[111, 112]", "[999]")), guarded(loaded(FILE)))
    assert narrowed.telegram is not None
    assert narrowed.telegram.operators == {111, 112}


def test_telegram_itself_waits_where_none_was_accepted(loaded: Load) -> None:
    accepted = guarded(loaded(FILE[FILE.index("[agents") :]))
    assert restricted(loaded(FILE), accepted).telegram is None
    assert "telegram.base_url: https://one.example/bot gets the bot's token" in widening(
        accepted, guarded(loaded(FILE))
    )


def test_what_is_wider_waits_and_what_is_narrower_holds_at_once(loaded: Load) -> None:
    accepted = guarded(loaded(FILE + RULE))
    file = loaded(FILE.replace('effect = "ask"', 'effect = "allow"') + RULE.replace("allow", "deny"))
    view = outlook(file, accepted, ask=True)
    assert view.waiting == (
        "allow send, ask: default/front → default/*",
        "no longer ask a person about send, ask: default/front → default/*",
    )
    front = Party(SessionId("default/front"), Kind.CHAT)
    assert view.policy.decide(front, B, Verb.SEND, NOW).effect is Effect.ASK
    assert "waits for an operator's word" in view.policy.decide(front, B, Verb.SEND, NOW).reason
    assert view.policy.decide(A, B, Verb.SEND, NOW).effect is Effect.DENY


def test_at_the_first_start_and_where_nobody_can_be_asked_the_file_holds(loaded: Load) -> None:
    first = outlook(loaded(FILE), None, ask=True)
    assert (first.waiting, first.unasked, first.settings) == ((), (), loaded(FILE))
    unasked = outlook(loaded(FILE + RULE), first.wanted, ask=False)
    assert (unasked.waiting, unasked.unasked) == ((), ("allow send: default/a → default/b",))
    assert unasked.policy.decide(A, B, Verb.SEND, NOW).effect is Effect.ALLOW


def test_what_peers_may_have_an_agent_do_stays_as_narrow_as_it_was(loaded: Load) -> None:
    narrow = loaded(FILE.replace('agent = "desk"', WITHOUT_PERMISSION))
    wide = loaded(FILE.replace('agent = "desk"', 'agent = "desk"\npeer_tools = "inherit"'))
    assert widening(guarded(narrow), guarded(wide)) == [
        "default/front: peer_tools is inherit instead of deny",
        "default/front: peer_mode is none instead of plan",
    ]
    (session,) = restricted(wide, guarded(narrow)).sessions
    assert (session.habits.peer_tools, session.habits.peer_mode) == (PeerTools.DENY, "plan")
    assert widening(guarded(wide), guarded(narrow)) == []
    (session,) = restricted(narrow, guarded(wide)).sessions
    assert (session.habits.peer_tools, session.habits.peer_mode) == (PeerTools.DENY, "plan")


BY_LABEL = '[[policy.rules]]\nfrom = "tag:office"\nto = "tag:office"\nverbs = "ask"\neffect = "allow"\n'


@pytest.mark.parametrize(
    ("label", "lines"),
    [
        ('tags = ["office"]', ["default/front: tag:office is new or gone there"]),
        ('tags = ["garden"]', []),
        ('project = "house"', []),
    ],
)
def test_a_label_is_wider_where_a_rule_names_it(loaded: Load, label: str, lines: list[str]) -> None:
    before, after = FILE + BY_LABEL, FILE.replace('agent = "desk"', f'agent = "desk"\n{label}') + BY_LABEL
    accepted = guarded(loaded(before))
    assert widening(accepted, guarded(loaded(after))) == lines
    (session,) = restricted(loaded(after), accepted).sessions
    assert (session.tags, session.project) == ((), None)
    assert widening(guarded(loaded(after)), accepted) == lines  # as an allow may be left behind, so may a deny


def test_a_terminals_word_is_not_enough_before_an_operator_has_said_so(loaded: Load) -> None:
    before = FILE
    after = FILE.replace("[[policy.rules]]", "[policy]\nconfirm_in_chat = false\n[[policy.rules]]")
    accepted = guarded(loaded(before))
    (line,) = widening(accepted, guarded(loaded(after)))
    assert "confirm_in_chat" in line
    assert restricted(loaded(after), accepted).confirm_in_chat
    assert widening(guarded(loaded(after)), accepted) == []


def test_to_leave_a_session_out_and_put_it_back_widens_nothing_unasked(loaded: Load) -> None:
    strict = WITHOUT_PERMISSION + '\ntags = ["kept-out"]'
    denied = '[[policy.rules]]\nfrom = "tag:kept-out"\nto = "*"\nverbs = "send"\neffect = "deny"\n'
    file = FILE + denied
    first = outlook(loaded(file.replace('agent = "desk"', strict)), None, ask=True).wanted
    left_out = outlook(loaded(file.replace('[sessions.front]\nagent = "desk"\n', "")), first, ask=True)
    assert left_out.waiting == ()
    held = Guarded.from_json(json.loads(json.dumps(left_out.wanted.to_json())))
    put_back = outlook(loaded(file), held, ask=True)
    assert put_back.waiting == (
        "default/front: peer_tools is ask instead of deny",
        "default/front: peer_mode is none instead of plan",
        "default/front: tag:kept-out is new or gone there",
    )
    (session,) = put_back.settings.sessions
    assert (session.habits.peer_tools, session.habits.peer_mode, session.tags) == (
        PeerTools.DENY,
        "plan",
        ("kept-out",),
    )
