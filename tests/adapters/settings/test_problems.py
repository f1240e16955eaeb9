"""Every fault of the settings is told with its key, its line and the remedy, and all of them at once."""

from pathlib import Path

import pytest

from adapters.settings.load import load
from adapters.settings.problems import SettingsError
from tests.adapters.settings.conftest import Load, Problems

SECRET = "123456:open-sesame-now"


_HOOK = "token = '1:a'\n[telegram.webhook]\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[limits]\ndept = 6", "tieline.toml:2: unknown setting limits.dept; did you mean depth?"),
        ("[limit]\ndepth = 6", "tieline.toml:1: unknown setting limit; did you mean limits?"),
        ("limits.depth = 0", "tieline.toml:1: limits.depth should be more than 0; write a greater number"),
        ("[limits]\n\ndepth = '6'", "tieline.toml:3: limits.depth should be a number; write it without quotes"),
        ("[limits]\ndepth = true", "tieline.toml:2: limits.depth should be a number; write it without quotes"),
        ("[limits]\ndepth = 1.5", "tieline.toml:2: limits.depth should be a whole number; write it without a fraction"),
        ("[limits]\nlease_s = inf", "tieline.toml:2: limits.lease_s should be a finite number; "),
        ("[limits]\nlease_s = nan", "tieline.toml:2: limits.lease_s should be "),
        (
            "[limits]\nlease_s = 1e300",
            "tieline.toml:2: limits.lease_s is out of all bounds; write a number of at most ",
        ),
        (f"[limits]\ninbox = {10**24}", "tieline.toml:2: limits.inbox is out of all bounds; "),
        (f"[store]\nretention_days = {10**400}", "tieline.toml:2: store.retention_days is out of all bounds; "),
        ("limits = 3", "tieline.toml:1: limits should be a table; "),
        ("profile = 'My Profile'", "tieline.toml:1: profile 'My Profile' is no name; use 1 to 63 of a-z, "),
        ("profile = 3", "tieline.toml:1: profile should be text; put it in quotes"),
        ("[store]\nurl = 'postgresql://x'", "tieline.toml:2: store.url is not supported yet for PostgreSQL; "),
        ("[store]\nurl = 'mysql'", 'tieline.toml:2: store.url names no store; write url = "sqlite"'),
        ("[web]\nlisten = '0.0.0.0:80'", "tieline.toml:2: web.listen should be a loopback address; "),
        ("[web]\nlisten = '127.0.0.1:99999'", "tieline.toml:2: web.listen should be a loopback address; "),
        ("[web]\nlisten = 8484", "tieline.toml:2: web.listen should be a loopback address; "),
    ],
)
def test_of_plain_keys(text: str, expected: str, problems: Problems) -> None:
    (problem,) = problems(text)
    assert problem.startswith(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "tieline.toml:1: telegram has no token; write token_file, or set TIELINE_TELEGRAM__TOKEN"),
        ("token = ''", "tieline.toml:2: telegram.token is no token; copy it from the chat with @BotFather"),
        ("token = '1:a b'", "tieline.toml:2: telegram.token is no token; "),
        ("token_file = 'none'", "tieline.toml:2: telegram.token_file cannot be read: "),
        ("token = '1:a'\ntoken_file = 'x'", "tieline.toml:3: telegram.token_file is there beside token; "),
        ("token = '1:a'\noperators = ['me']", "tieline.toml:3: telegram.operators[0] should be a number; "),
        ("token = '1:a'\noperators = [-5]", "tieline.toml:3: telegram.operators[0] should be more than 0; "),
        (f"token = '1:a'\noperators = [{10**24}]", "tieline.toml:3: telegram.operators[0] is out of all bounds; "),
        ("token = '1:a'\noperators = 5", "tieline.toml:3: telegram.operators should be a list; "),
        ("token = '1:a'\nbase_url = 'x'", "tieline.toml:3: telegram.base_url should be a URL; "),
        (f"{_HOOK}", "tieline.toml:3: telegram.webhook.url is missing; add it"),
        (f"{_HOOK}url = 'http://a.example/b'", "tieline.toml:4: telegram.webhook.url should be a public https URL; "),
        (f"{_HOOK}url = 'https://'", "tieline.toml:4: telegram.webhook.url should be a public https URL; "),
        (f"{_HOOK}url = 'https://a.example/?b'", "tieline.toml:4: telegram.webhook.url should be a public https URL; "),
        (f"{_HOOK}url = 'https://a.example'\nlisten = 8443", "tieline.toml:5: telegram.webhook.listen should be an "),
        (f"{_HOOK}url = 'https://a.example'\nlisten = 'host:1'", "tieline.toml:5: telegram.webhook.listen should be "),
        (f"{_HOOK}url = 'https://a.example'\nsecret = 'a b'", "tieline.toml:5: telegram.webhook.secret is no secret "),
        (
            f"{_HOOK}url = 'https://a.example'\nsecret_file = 'x'",
            "tieline.toml:5: telegram.webhook.secret_file cannot be ",
        ),
        ("token = '1:a'\noperater = [1]", "tieline.toml:3: unknown setting telegram.operater; did you mean operators?"),
    ],
)
def test_of_telegram(text: str, expected: str, problems: Problems) -> None:
    (problem,) = problems(f"[telegram]\n{text}")
    assert problem.startswith(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 'tieline.toml:1: agents.desk has neither preset nor command; write preset = "…" or command = ["…"]'),
        (
            "preset = 'hermez'",
            "tieline.toml:2: agents.desk.preset has the unknown preset 'hermez'; did you mean hermes?",
        ),
        ("command = 'run'", "tieline.toml:2: agents.desk.command should be a list; "),
        ("command = []", "tieline.toml:2: agents.desk.command is empty; "),
        ("command = ['x', '']", "tieline.toml:2: agents.desk.command[1] should be text in one line; "),
        (
            "preset = 'goose'\nmode = 'command'\npeer_text = 'embed'",
            "tieline.toml:2: agents.desk.preset is of agents that speak ACP; ",
        ),
        ("preset = 'goose'\nresume = ['x']", "tieline.toml:3: agents.desk.resume is of agents that are driven by a "),
        ("preset = 'goose'\nmode = 'x'", "tieline.toml:3: agents.desk.mode has the unknown mode 'x'; "),
        ("preset = 'goose'\npeer_text = 'x'", "tieline.toml:3: agents.desk.peer_text has the unknown way 'x'; "),
        (
            "preset = 'goose'\nenv_pass = ['A=b']",
            "tieline.toml:3: agents.desk.env_pass[0] 'A' is no name of a variable",
        ),
        ("preset = 'goose'\nenv_pass = ['TIELINE_TOKEN']", "tieline.toml:3: agents.desk.env_pass[0] TIELINE_TOKEN is"),
        ("preset = 'goose'\nenv = {A = 1}", "tieline.toml:3: agents.desk.env.A should be text; put it in quotes"),
        (
            "preset = 'goose'\nenv = {TIELINE_HOME = 'x'}",
            "tieline.toml:3: agents.desk.env.TIELINE_HOME TIELINE_HOME is",
        ),
    ],
)
def test_of_agents(text: str, expected: str, problems: Problems) -> None:
    (problem,) = problems(f"[agents.desk]\n{text}")
    assert problem.startswith(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("agent = 'dsk'", "tieline.toml:4: sessions.a.agent has the unknown agent 'dsk'; did you mean desk?"),
        ("kind = 'robot'", "tieline.toml:4: sessions.a.kind has the unknown kind 'robot'; use one of chat, "),
        ("cwd = 'work'", "tieline.toml:4: sessions.a.cwd should be an absolute path; "),
        ("title = ''", "tieline.toml:4: sessions.a.title should be text in one line; "),
        ("accept_wake = 1", "tieline.toml:4: sessions.a.accept_wake should be true or false; "),
        ("tags = 'x'", "tieline.toml:4: sessions.a.tags should be a list; "),
        (
            "places = [\n'web:a',\n'nonsense']",
            "tieline.toml:6: sessions.a.places[1] has 'nonsense', which is no place; ",
        ),
        ("places = ['telegramm:1']", "tieline.toml:4: sessions.a.places[0] has 'telegramm:1', but there is no chat"),
        ("places = ['telegram:x/1']", "tieline.toml:4: sessions.a.places[0] has 'telegram:x/1', which is no place of"),
        (
            "places = ['telegram:-1/2']",
            "tieline.toml:4: sessions.a.places[0] has telegram:-1/2, but Telegram is not set",
        ),
        ("places = ['web:a', 'web:a']", "tieline.toml:4: sessions.a.places[1] binds web:a again; remove it here or at"),
        ("[sessions.b]\nagnet = 'x'", "tieline.toml:5: unknown setting sessions.b.agnet; did you mean agent?"),
        ("[sessions.B_b]", "tieline.toml:4: sessions.B_b 'B_b' is no name; "),
        ("[sessions.shell]\nagent = 'desk'", "tieline.toml:4: sessions.shell always exists, for commands in a shell; "),
        ("[sessions.shell]\nkind = 'chat'", "tieline.toml:4: sessions.shell always exists, for commands in a shell; "),
    ],
)
def test_of_sessions(text: str, expected: str, problems: Problems) -> None:
    (problem,) = problems(f"[agents.desk]\npreset = 'scripted'\n[sessions.a]\n{text}")
    assert problem.startswith(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("busy = 'queues'", "busy has the unknown way 'queues'; did you mean queue?"),
        ("inbox_limit = 0", "inbox_limit should be more than 0; write a greater number"),
        (f"inbox_limit = {10**24}", "inbox_limit is out of all bounds; write a number of at most 9007199254740992"),
        ("max_chars = 'many'", "max_chars should be a number; write it without quotes"),
        ("reply_wake = 1", "reply_wake should be true or false; write one of these, without quotes"),
        ("peer_tools = 'allow'", "peer_tools has the unknown way 'allow'; use one of ask, deny, inherit"),
        ("peer_mode = ''", "peer_mode should be text in one line; write something, without control characters"),
        ("hidden = 'yes'", "hidden should be true or false; write one of these, without quotes"),
        ("quiet = '22:00-07:00'", "quiet should be a list; put it in brackets"),
        ("quiet = ['22-7']", "quiet[0] has '22-7', which are no hours; write hours like \"22:00-07:00\""),
        ("quiet = ['24:00-07:00']", "quiet[0] has '24:00-07:00', which are no hours; write hours like \"22:00-07:00\""),
        (
            "quiet = ['07:00-22:00', '21:00-07:00']\ntimezone = 'UTC'",
            "quiet leaves no time of the day; shorten it, or write accept_wake = false",
        ),
        (
            "timezone = 'Europe/Bonn'",
            'timezone names no time zone that is known here; write one like timezone = "Europe/Berlin"',
        ),
        ("timezone = '../zone'", "timezone names no time zone that is known here; write one like timezone"),
    ],
)
def test_of_how_a_session_takes_mail(text: str, expected: str, problems: Problems) -> None:
    (problem,) = problems(f"[agents.desk]\npreset = 'scripted'\n[sessions.a]\nagent = 'desk'\n{text}", TZ="UTC")
    assert problem.startswith(f"tieline.toml:5: sessions.a.{expected}")


@pytest.mark.parametrize("text", ["busy = 'collect'", "peer_tools = 'deny'", "peer_mode = 'plan'"])
def test_a_key_that_would_silently_do_nothing_is_refused(text: str, problems: Problems) -> None:
    (problem,) = problems(f"[sessions.a]\n{text}")
    key = text.partition(" ")[0]
    remedy = "remove it, or give the session an agent"
    assert problem == f"tieline.toml:2: sessions.a.{key} is of turns, and the session has no agent; {remedy}"


def test_quiet_hours_on_a_machine_without_a_time_zone_need_one(problems: Problems) -> None:
    (problem,) = problems("[sessions.a]\nquiet = ['22:00-07:00']", TZ="nowhere/at-all")
    assert problem.startswith("tieline.toml:2: sessions.a.quiet needs a time zone, and this machine does not tell")


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("", ["policy.rules[0].from is missing; add it", "policy.rules[0].to is missing; add it"]),
        (
            "from = 'a'\nto = '*'",
            ["policy.rules[0].from[0] has a wrong selector: 'a' names no profile; write PROFILE/a"],
        ),
        ("from = []\nto = '*'", ["policy.rules[0].from is empty; write at least one"]),
        ("from = '*'\nto = ['*', 'kind:x']", ["policy.rules[0].to[1] has a wrong selector: 'kind:x' names no kind"]),
        ("from = '*'\nto = 3", ["policy.rules[0].to should be a list; "]),
    ],
)
def test_of_rules(rule: str, expected: list[str], problems: Problems) -> None:
    found = problems(f"[[policy.rules]]\nverbs = 'send'\neffect = 'allow'\n{rule}")
    assert len(found) == len(expected)
    for problem, start in zip(found, expected, strict=True):
        assert problem.partition(": ")[2].startswith(start)


def test_of_verbs_and_effects(problems: Problems) -> None:
    assert problems("[[policy.rules]]\nfrom = '*'\nto = '*'\nverbs = ['sned']\neffect = 'alow'") == [
        "tieline.toml:4: policy.rules[0].verbs[0] has the unknown verb 'sned'; did you mean send?",
        "tieline.toml:5: policy.rules[0].effect has the unknown effect 'alow'; did you mean allow?",
    ]


def test_all_at_once_and_in_the_order_of_the_file(problems: Problems) -> None:
    text = """\
profil = "x"
[limits]
depth = "six"
[sessions.a]
agent = "none"
places = ["web:x"]
[sessions.b]
places = ["web:x"]
[[policy.rules]]
from = "*"
to = "*"
verbs = ["fly"]
effect = "allow"
"""
    found = problems(text, TIELINE_LIMITS__VISITS="many")
    assert [problem.split(": ")[0] for problem in found] == [
        "tieline.toml:1",
        "tieline.toml:3",
        "tieline.toml:5",
        "tieline.toml:8",
        "tieline.toml:12",
        "TIELINE_LIMITS__VISITS",
    ]


def test_a_place_is_bound_once_over_all_sessions(problems: Problems) -> None:
    (problem,) = problems("[sessions.a]\nplaces = ['web:x']\n[sessions.b]\nplaces = ['web:x']")
    assert problem == "tieline.toml:4: sessions.b.places[0] binds web:x again; remove it here or at tieline.toml:2"


@pytest.mark.parametrize(("place", "key"), [("telegram:-5/1", "chats"), ("telegram:5", "users")])
def test_a_place_where_nobody_is_heard_is_refused(place: str, key: str, problems: Problems) -> None:
    (problem,) = problems(f"[telegram]\ntoken = '1:a'\nchats = [-6]\n[sessions.a]\nplaces = ['{place}']")
    number = place.removeprefix("telegram:").partition("/")[0]
    assert problem.endswith(f"has {place}, where nobody is heard; add {number} to telegram.{key}")


@pytest.mark.parametrize(
    ("text", "where"),
    [("[limits\n", "tieline.toml:1"), ("a = 1\na = 2\n", "tieline.toml:2"), ("\n\na = ", "tieline.toml:3")],
)
def test_of_the_syntax(text: str, where: str, problems: Problems) -> None:
    (problem,) = problems(text)
    assert problem.startswith(f"{where}: this is no TOML (")
    assert "at line" not in problem
    assert problem.endswith("; correct the syntax at or before this line")


def test_of_a_file_that_is_no_utf8(tmp_path: Path) -> None:
    (tmp_path / "tieline.toml").write_bytes(b"profile = 'default'\n# \xff\n")
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, {})
    assert str(caught.value) == "tieline.toml:2: this is no UTF-8 text; save the file as UTF-8"


def test_of_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "tieline.toml").mkdir()
    with pytest.raises(SettingsError, match=r"^tieline\.toml: the file cannot be read \(.+\); correct that$"):
        load(tmp_path, {})


def test_of_a_home_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SettingsError, match="this home cannot be used"):
        load(tmp_path / "file" / "home", {})


def test_of_a_token_file_that_holds_none(tmp_path: Path, problems: Problems) -> None:
    for content in (b"", b"\n", b"two words", b"two\nlines", b"\xff\xfe"):
        (tmp_path / "token").write_bytes(content)
        (problem,) = problems("[telegram]\ntoken_file = 'token'")
        assert problem.startswith("tieline.toml:2: telegram.token_file ")
        assert problem.endswith("; write the bot's token into it, and nothing else")


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("TIELINE_LIMITS__DEPT", "1", "TIELINE_LIMITS__DEPT: unknown setting limits.dept; did you mean depth?"),
        ("TIELINE_PROFIL", "x", "TIELINE_PROFIL: unknown setting profil; did you mean profile?"),
        ("TIELINE_LIMITS__DEPTH", "six", "TIELINE_LIMITS__DEPTH: limits.depth should be a number; "),
        ("TIELINE_LIMITS", "6", "TIELINE_LIMITS: limits should be a table; "),
        ("TIELINE_TELEGRAM__USERS", "me", "TIELINE_TELEGRAM__USERS: telegram.users[0] should be a number; "),
        ("TIELINE_SESSIONS__A__AGENT", "x", "TIELINE_SESSIONS__A__AGENT: sessions.a.agent has the unknown agent 'x'; "),
    ],
)
def test_of_the_environment(name: str, value: str, expected: str, problems: Problems) -> None:
    (problem,) = problems("[telegram]\ntoken = '1:a'\n[limits]\ndepth = 3", **{name: value})
    assert problem.startswith(expected)


def test_of_a_secrets_file_that_holds_none(tmp_path: Path, problems: Problems) -> None:
    for content in (b"", b"two words", b"s\xc3\xa9same", b"x" * 257, b"\xff\xfe"):
        (tmp_path / "secret").write_bytes(content)
        (problem,) = problems(f"[telegram]\n{_HOOK}url = 'https://a.example'\nsecret_file = 'secret'")
        assert problem.startswith("tieline.toml:5: telegram.webhook.secret_file ")
    text = f"[telegram]\n{_HOOK}url = 'https://a.example'\nsecret = 'a'\nsecret_file = 'secret'"
    (problem,) = problems(text)
    assert problem == "tieline.toml:6: telegram.webhook.secret_file is there beside secret; remove one of them"


def test_no_problem_shows_a_secret(problems: Problems) -> None:
    text = f"[telegram]\ntoken = ['{SECRET}']\n[agents.a]\npreset = 'x'\nenv = {{KEY = ['{SECRET}']}}"
    assert "sesame" not in " ".join(problems(text))
    assert "sesame" not in " ".join(problems("", TIELINE_TELEGRAM__TOKEN=f"{SECRET} x"))
    passed_with_value = f"[agents.a]\npreset = 'goose'\nenv_pass = ['KEY={SECRET}']"
    assert "sesame" not in " ".join(problems(passed_with_value))


def test_no_secret_is_in_what_was_loaded(loaded: Load) -> None:
    settings = loaded(f"[telegram]\ntoken = '{SECRET}'\n[agents.a]\npreset = 'goose'\nenv = {{KEY = '{SECRET}'}}")
    assert "sesame" not in repr(settings)
