"""What a session's agent is started with, as the operator's file says it."""

import json

import pytest

from adapters.settings.guarded import Guarded, guarded, restricted, widening
from adapters.settings.outlook import outlook
from bridge.launching import Options, Server
from tests.adapters.settings.conftest import Load, Problems

FILE = """
[agents.desk]
command = ["desk"]
hooks_env = { ACCEPT_HOOKS = "1" }
[agents.other]
command = ["other"]
[sessions.front]
agent = "desk"
cwd = "/srv"
"""
ALL = """
model = "opus"
mode = "plan"
preamble = "Answer in English.\\nAlways."
files = ["docs/plan.md"]
hooks = true
safe = true
label = "nightly"
fallback = ["other"]
[sessions.front.servers.files]
command = ["mcp-files", "."]
env_pass = ["FILES_TOKEN"]
"""
OPTIONS = Options(
    model="opus",
    mode="plan",
    preamble="Answer in English.\nAlways.",
    servers=(Server("files", ("mcp-files", "."), ("FILES_TOKEN",)),),
    files=("docs/plan.md",),
    hooks=True,
    safe=True,
    label="nightly",
    fallback=("other",),
)


def test_all_of_it_is_read(loaded: Load) -> None:
    (session,) = loaded(FILE + ALL).sessions
    assert session.options == OPTIONS
    (session,) = loaded(FILE).sessions
    assert session.options == Options()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('modell = "opus"', "tieline.toml:10: unknown setting sessions.front.modell; did you mean model?"),
        ('label = "Two words"', "tieline.toml:10: sessions.front.label 'Two words' is no name; "),
        (
            'files = ["/etc/passwd"]',
            "tieline.toml:10: sessions.front.files has '/etc/passwd', which is no path within ",
        ),
        ('preamble = "/compact"', "tieline.toml:10: sessions.front.preamble begins with /, which agents take for "),
        (
            'fallback = ["othre"]',
            "tieline.toml:10: sessions.front.fallback has the unknown agent 'othre'; did you mean ",
        ),
        ('fallback = ["desk"]', "tieline.toml:10: sessions.front.fallback names an agent twice; "),
        ('hooks = "yes"', "tieline.toml:10: sessions.front.hooks should be true or false; "),
        (
            "[sessions.front.servers.tieline]\ncommand = ['x']",
            "tieline.toml:10: sessions.front.servers names one tieline, as the bridge's own is named; ",
        ),
        ("[sessions.front.servers.files]", "tieline.toml:10: sessions.front.servers.files.command is missing; "),
        (
            "[sessions.front.servers.files]\ncommand = ['x']\nenv = {}",
            "tieline.toml:12: unknown setting sessions.front.servers.files.env; use one of command, env_pass",
        ),
        (
            "[sessions.b]\nagent = 'other'\nhooks = true",
            "tieline.toml:12: sessions.b.hooks is told to no agent 'other'",
        ),
        ("[sessions.b]\nagent = 'other'\nsafe = true", "tieline.toml:12: sessions.b.safe takes a working directory: "),
        ("[sessions.b]\nmodel = 'opus'", "tieline.toml:11: sessions.b.model is of an agent, and the session has none"),
        (
            "[agents.desk.safe_env]\nTIELINE_X = '1'",
            "tieline.toml:11: agents.desk.safe_env.TIELINE_X TIELINE_X is the ",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_key_and_line(text: str, expected: str, problems: Problems) -> None:
    (problem,) = problems(FILE + text)
    assert problem.startswith(expected)


def accepted(loaded: Load, text: str) -> Guarded:
    return Guarded.from_json(json.loads(json.dumps(guarded(loaded(text)).to_json())))


LINES = [
    "default/front: its agent gets the MCP server files, which runs mcp-files ., with FILES_TOKEN",
    "default/front: mode is plan instead of the agent's own",
    "default/front: model is opus instead of the agent's own",
    "default/front: the hooks that are set up for its agent run without a question",
    "default/front: its agent is told, as by its user: Answer in English.\nAlways.",
    "default/front: its agent is given docs/plan.md",
    "default/front: other may answer for its agent",
]


def test_what_would_let_an_agent_do_more_is_told_and_waits(loaded: Load) -> None:
    before, wanted = accepted(loaded, FILE), loaded(FILE + ALL)
    assert widening(before, guarded(wanted)) == LINES
    (held,) = restricted(wanted, before).sessions
    assert held.options == Options(safe=True, label="nightly"), "what narrows holds at once"
    assert widening(accepted(loaded, FILE + ALL), guarded(wanted)) == []


def test_what_is_taken_away_needs_no_word_but_to_leave_safe_mode_and_to_change_the_mode(loaded: Load) -> None:
    before = accepted(loaded, FILE + ALL)
    assert widening(before, guarded(loaded(FILE))) == [
        "default/front: mode is the agent's own instead of plan",
        "default/front: model is the agent's own instead of opus",
        "default/front: safe is off: its agent gets what is configured for its user",
    ]
    (held,) = restricted(loaded(FILE), before).sessions
    assert (held.options.safe, held.options.mode, held.options.model) == (True, "plan", "opus")
    assert (held.options.hooks, held.options.servers, held.options.fallback) == (False, (), ())


def test_another_command_of_a_server_is_another_server(loaded: Load) -> None:
    before = accepted(loaded, FILE + ALL)
    wanted = loaded(FILE + ALL.replace('"mcp-files", "."', '"mcp-files", "/"'))
    assert widening(before, guarded(wanted)) == [
        "default/front: its agent gets the MCP server files, which runs mcp-files /, with FILES_TOKEN"
    ]
    (held,) = restricted(wanted, before).sessions
    assert held.options == OPTIONS


def test_a_new_session_that_would_be_started_with_more_is_not_there_until_that_is_accepted(loaded: Load) -> None:
    before = accepted(loaded, FILE)
    more = FILE + '[sessions.new]\nagent = "other"\ncwd = "/srv"\nmode = "yolo"\n[sessions.plain]\nagent = "other"\n'
    view = outlook(loaded(more), before, ask=True)
    assert view.waiting == ("default/new: mode is yolo instead of the agent's own",)
    assert [one.id for one in view.settings.sessions] == ["default/front", "default/plain"]


def test_to_leave_a_session_out_and_put_it_back_widens_nothing_unasked(loaded: Load) -> None:
    safe = FILE + "safe = true\n"
    left_out = outlook(loaded(FILE.partition("[sessions")[0]), accepted(loaded, safe), ask=True).wanted
    view = outlook(loaded(FILE), left_out, ask=True)
    assert view.waiting == ("default/front: safe is off: its agent gets what is configured for its user",)


def test_a_copy_of_before_says_nothing_of_it(loaded: Load) -> None:
    copy = guarded(loaded(FILE)).to_json()
    del copy["launches"]
    assert widening(Guarded.from_json(copy), guarded(loaded(FILE))) == []


def test_what_is_set_for_consent_and_for_safe_mode_is_guarded_like_all_that_is_set(loaded: Load) -> None:
    before = accepted(loaded, FILE)
    other = FILE.replace('ACCEPT_HOOKS = "1"', 'PATH = "/tmp/other"')
    assert widening(before, guarded(loaded(other))) == ["agents.desk: its env is another one (PATH)"]
    assert "/tmp/other" not in json.dumps(guarded(loaded(other)).to_json())
    preset = FILE.replace('command = ["other"]', 'preset = "hermes"')
    plain = preset.replace('preset = "hermes"', 'preset = "hermes"\nhooks_env = {}\nsafe_env = {}')
    assert widening(accepted(loaded, preset), guarded(loaded(plain))) == [], "what a preset brings is no news"


def test_what_a_preset_passes_is_news_where_the_file_passes_it_to_another_command(loaded: Load) -> None:
    own = FILE.replace('command = ["other"]', 'command = ["codex-acp"]')
    preset = FILE.replace('command = ["other"]', 'preset = "codex"')
    assert widening(accepted(loaded, own), guarded(loaded(preset))) == []
    other = FILE.replace('command = ["other"]', 'command = ["other"]\npreset = "codex"')
    (line,) = widening(accepted(loaded, FILE), guarded(loaded(other)))
    assert line.startswith("agents.other: gets ")
    assert "OPENAI_API_KEY" in line
