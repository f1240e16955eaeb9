"""What the settings say is what the bridge gets."""

import subprocess
import sys
from pathlib import Path

import pytest

from adapters.acp.presets import PRESETS
from adapters.settings.home import home_of
from adapters.settings.load import load
from adapters.settings.model import AgentSettings, PeerText, StoreSettings, WebSettings
from adapters.settings.zone import machine_zone
from bridge.decision import Effect, Verb
from bridge.ids import Place, SessionId
from bridge.limits import Limits
from bridge.session import Busy, Declared, Habits, Kind, PeerTools
from policy.rules import Rule
from policy.selectors import selector
from tests.adapters.settings.conftest import Load, Problems

TEXT = """\
profile = "default"
[store]
url = "sqlite"
retention_days = 7
[telegram]
token = "123:abc"
base_url = "http://127.0.0.1:8081/bot"
operators = [111]
users = [222]
chats = [-1001234]
[web]
listen = "127.0.0.1:8484"
[limits]
depth = 3
lease_s = 0.5
[agents.desk]
preset = "hermes"
env = {MODE = "calm"}
env_pass = ["OPENAI_API_KEY"]
[agents.own]
command = ["my-agent", "--acp"]
peer_text = "embed"
[sessions.front-desk]
agent = "desk"
cwd = "~/work"
places = ["telegram:-1001234/42", "telegram:-1001234/general", "telegram:111", "web:front-desk"]
tags = ["office"]
[sessions.build]
kind = "shell"
title = "Builds"
project = "house"
accept_wake = false
[sessions.laptop]
[[policy.rules]]
from = "default/front-desk"
to = ["default/career", "tag:office"]
verbs = ["send", "wake"]
effect = "allow"
[[policy.rules]]
from = "*"
to = "*"
verbs = "send"
effect = "ask"
"""


def test_every_table_is_read(loaded: Load, tmp_path: Path) -> None:
    settings = loaded(TEXT)
    assert settings.home == tmp_path
    assert settings.profile == "default"
    assert settings.store == StoreSettings("sqlite", 7)
    assert settings.web == WebSettings("127.0.0.1", 8484)
    assert settings.limits == Limits(depth=3, lease_s=0.5, retention_s=7 * 86_400)
    telegram = settings.telegram
    assert telegram is not None
    assert (telegram.token, telegram.base_url) == ("123:abc", "http://127.0.0.1:8081/bot")
    assert [set(each) for each in (telegram.operators, telegram.users, telegram.chats)] == [{111}, {222}, {-1001234}]


def test_agents_are_read(loaded: Load) -> None:
    assert loaded(TEXT).agents == {
        "desk": AgentSettings(
            "desk",
            ("hermes-acp",),
            {"MODE": "calm"},
            ("OPENAI_API_KEY",),
            PeerText.PULL,
            hooks_env=PRESETS["hermes"].hooks_env,
            safe_env=PRESETS["hermes"].safe_env,
            preset="hermes",
        ),
        "own": AgentSettings("own", ("my-agent", "--acp"), {}, (), PeerText.EMBED),
    }


def test_a_command_of_ones_own_goes_before_that_of_the_preset(loaded: Load) -> None:
    agents = loaded('[agents.a]\npreset = "hermes"\ncommand = ["/opt/hermes-acp"]').agents
    assert agents["a"].command == ("/opt/hermes-acp",)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_has_its_command(preset: str, loaded: Load) -> None:
    assert loaded(f'[agents.a]\npreset = "{preset}"').agents["a"].command == PRESETS[preset].command


def test_a_preset_passes_what_leads_its_agent_to_its_own_login_and_no_others(loaded: Load) -> None:
    codex, gemini, own, none = (
        loaded(f"[agents.a]\n{text}").agents["a"].env_pass
        for text in (
            'preset = "codex"',
            'preset = "gemini"',
            'preset = "codex"\nenv_pass = ["MY_KEY"]',
            'preset = "codex"\nenv_pass = []',
        )
    )
    assert "OPENAI_API_KEY" in codex
    assert "CODEX_HOME" in codex
    assert not {*codex} & {*gemini}
    assert (own, none) == (("MY_KEY",), ())


def test_no_two_makes_of_agents_are_passed_each_others_keys() -> None:
    keys = [name for preset in PRESETS.values() if preset.login is not None for name in preset.login.variables]
    assert len(keys) == len(set(keys))


def test_sessions_are_read(loaded: Load) -> None:
    places = ("telegram:-1001234/42", "telegram:-1001234/general", "telegram:111", "web:front-desk")
    assert loaded(TEXT).sessions == (
        Declared(
            SessionId("default/front-desk"),
            "Front Desk",
            Kind.CHAT,
            "desk",
            "/home/somebody/work",
            None,
            ("office",),
            tuple(map(Place, places)),
        ),
        Declared(SessionId("default/build"), "Builds", Kind.SHELL, project="house", habits=Habits(accept_wake=False)),
        Declared(SessionId("default/laptop"), "Laptop", Kind.TERMINAL),
    )


def test_how_a_session_takes_mail_is_read(loaded: Load) -> None:
    text = """
        [agents.desk]
        preset = "hermes"
        [sessions.career]
        agent = "desk"
        busy = "steer"
        inbox_limit = 3
        max_chars = 200
        reply_wake = false
        peer_tools = "deny"
        peer_mode = "plan"
        hidden = true
        quiet = ["22:00-07:00", "12:30-13:00"]
        timezone = "Europe/Berlin"
    """
    (career,) = loaded(text).sessions
    assert career.habits == Habits(
        busy=Busy.STEER,
        inbox_limit=3,
        max_chars=200,
        reply_wake=False,
        peer_tools=PeerTools.DENY,
        peer_mode="plan",
        hidden=True,
        quiet=("22:00-07:00", "12:30-13:00"),
        timezone="Europe/Berlin",
    )


def test_quiet_hours_are_those_of_the_machine_unless_told(loaded: Load, tmp_path: Path) -> None:
    (named,) = loaded("[sessions.a]\nquiet = ['22:00-07:00']", TZ=":America/New_York").sessions
    assert named.habits.timezone == "America/New_York"
    localtime = tmp_path / "localtime"
    assert machine_zone({}, str(localtime)) is None
    localtime.symlink_to("/usr/share/zoneinfo/Asia/Tokyo")
    assert machine_zone({}, str(localtime)) == "Asia/Tokyo"


def test_rules_are_read_and_named_after_their_place_in_the_file(loaded: Load) -> None:
    everybody = (selector("*"),)
    assert loaded(TEXT).rules == (
        Rule(
            (selector("default/front-desk"),),
            (selector("default/career"), selector("tag:office")),
            frozenset({Verb.SEND, Verb.WAKE}),
            Effect.ALLOW,
            "policy.rules[0] (tieline.toml:34)",
            34,
        ),
        Rule(everybody, everybody, frozenset({Verb.SEND}), Effect.ASK, "policy.rules[1] (tieline.toml:39)", 39),
    )


def test_without_a_file_everything_has_its_default(tmp_path: Path) -> None:
    settings = load(tmp_path, {})
    assert settings.profile == "default"
    assert settings.store == StoreSettings("sqlite", 30)
    assert settings.limits == Limits()
    assert (settings.telegram, settings.web, settings.agents, settings.sessions, settings.rules) == (
        None,
        None,
        {},
        (),
        (),
    )


def test_the_shells_own_session_may_be_titled(loaded: Load) -> None:
    (shell,) = loaded('[sessions.shell]\ntitle = "Me"').sessions
    assert (shell.title, shell.kind) == ("Me", Kind.SHELL)


def test_the_environment_comes_before_the_file(loaded: Load) -> None:
    settings = loaded(
        TEXT,
        TIELINE_PROFILE="work",
        TIELINE_LIMITS__DEPTH="9",
        TIELINE_TELEGRAM__TOKEN="456:def",
        TIELINE_TELEGRAM__USERS="3, 4",
        TIELINE_TELEGRAM__OPERATORS="[111, 5]",
        TIELINE_SESSIONS__FRONT_DESK__TITLE="2026",
        TIELINE_SESSIONS__BUILD__ACCEPT_WAKE="true",
        TIELINE_AGENTS__DESK__ENV__Some_Mode__X="loud",
    )
    assert settings.profile == "work"
    assert settings.limits == Limits(depth=9, lease_s=0.5, retention_s=7 * 86_400)
    assert settings.telegram is not None
    assert settings.telegram.token == "456:def"
    assert settings.telegram.users == {3, 4}
    assert settings.telegram.operators == {111, 5}
    assert settings.sessions[0].id == "work/front-desk"
    assert settings.sessions[0].title == "2026"
    assert settings.sessions[1].habits.accept_wake
    assert settings.agents["desk"].env == {"MODE": "calm", "Some_Mode__X": "loud"}


def test_rules_from_the_environment_say_so(loaded: Load) -> None:
    rules = '[{"from": "*", "to": "*", "verbs": ["send"], "effect": "deny"}]'
    (rule,) = loaded(TEXT, TIELINE_POLICY__RULES=rules).rules
    assert (rule.name, rule.line) == ("policy.rules[0] (TIELINE_POLICY__RULES)", None)


def test_variables_that_are_no_settings_are_left_alone(loaded: Load) -> None:
    loaded("", TIELINE_HOME="/x", TIELINE_SESSION="default/a", TIELINE_TOKEN="t", TIELINES="x")


def test_the_token_may_be_in_a_file_of_the_home(loaded: Load, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("789:ghi\n")
    settings = loaded("[telegram]\ntoken_file = 'token'")
    assert settings.telegram is not None
    assert settings.telegram.token == "789:ghi"


def test_the_secret_of_the_webhook_may_be_in_a_file_too(loaded: Load, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("of_the-file\n")
    text = "[telegram]\ntoken = '1:a'\n[telegram.webhook]\nurl = 'https://a.example/b'\nsecret_file = 'secret'"
    for environ, secret in (({}, "of_the-file"), ({"TIELINE_TELEGRAM__WEBHOOK__SECRET": "other"}, "other")):
        settings = loaded(text, **environ)
        assert settings.telegram is not None
        assert settings.telegram.webhook is not None
        assert settings.telegram.webhook.secret == secret


def test_a_token_of_the_environment_needs_no_file(loaded: Load) -> None:
    settings = loaded("[telegram]\ntoken_file = 'nowhere'", TIELINE_TELEGRAM__TOKEN="456:def")
    assert settings.telegram is not None
    assert settings.telegram.token == "456:def"


def test_the_home_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    load(tmp_path / "new" / "home", {})
    assert (tmp_path / "new" / "home").stat().st_mode & 0o777 == 0o700


def test_a_home_that_was_open_to_others_is_closed(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    load(tmp_path, {})
    assert tmp_path.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("environ", "home"),
    [
        ({"HOME": "/home/me"}, "/home/me/.tieline"),
        ({"HOME": "/home/me", "TIELINE_HOME": ""}, "/home/me/.tieline"),
        ({"HOME": "/home/me", "TIELINE_HOME": "~/elsewhere"}, "/home/me/elsewhere"),
        ({"HOME": "/home/me", "TIELINE_HOME": "/srv/tieline"}, "/srv/tieline"),
    ],
)
def test_the_home_is_where_the_environment_says(environ: dict[str, str], home: str) -> None:
    assert home_of(environ) == Path(home)


def test_to_find_the_home_costs_no_heavy_import() -> None:
    code = "import sys, adapters.settings.home; sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('peer_mode = "plan"', "sessions.career.peer_mode is of agents that the bridge runs, and a gateway runs its "),
        ('peer_tools = "deny"', "sessions.career.peer_tools is of agents that the bridge runs, "),
        ('model = "opus"', "sessions.career.model is of agents that the bridge runs, "),
        ('agent = "desk"', "sessions.career.agent is of agents that the bridge runs, "),
    ],
)
def test_what_is_of_an_agent_is_not_set_for_a_gateways_session(line: str, told: str, problems: Problems) -> None:
    agent = '[agents.desk]\ncommand = ["desk"]\n'
    (problem,) = problems(f'{agent}[sessions.career]\nkind = "gateway"\nplaces = ["hermes:a:1"]\n{line}\n')
    assert problem.startswith(f"tieline.toml:6: {told}")


def test_a_gateways_session_is_told_by_its_place_and_may_say_what_becomes_of_handoffs(
    loaded: Load, problems: Problems
) -> None:
    (problem,) = problems('[sessions.career]\nkind = "gateway"\n')
    assert "names no place" in problem
    (session,) = loaded('[sessions.career]\nkind = "gateway"\nplaces = ["hermes:a:1"]\nbusy = "steer"\n').sessions
    assert session.habits.busy is Busy.STEER


def test_a_session_at_a_gateways_place_is_run_by_that_gateway(loaded: Load) -> None:
    place = "hermes:agent:main:telegram:group:-1001:2"
    text = f'[sessions.career]\nkind = "gateway"\nplaces = ["{place}"]\ntags = ["office"]\n'
    (session,) = loaded(text).sessions
    assert (session.kind, session.agent, session.places) == (Kind.GATEWAY, "gateway:hermes", (Place(place),))
