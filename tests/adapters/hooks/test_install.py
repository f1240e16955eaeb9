"""Hooks are merged into what a person has, once, and taken out without a trace."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from adapters.hooks.command import AGENTS
from adapters.hooks.ground import ByHand, Ground, NoAgent
from adapters.hooks.jsonc import parsed

COMMANDS = Path(__file__).with_name("commands.py")
ROOT = Path(__file__).parents[3]
TIELINE = ["/opt/tie line/bin/tieline"]

BEFORE = {
    "claude-code": {".claude/settings.json": '{"theme":   "dark",\n"permissions": {"deny": ["Read"]}}'},
    "codex": {
        ".codex/config.toml": '# mine\nmodel = "x" # keep\n\n[mcp_servers.other]\ncommand = "true"\n',
        ".codex/hooks.json": '{"hooks": {"Stop": [ {"hooks": [{"type": "command", "command": "say done"}]} ]}}\n',
    },
    "gemini": {
        ".gemini/settings.json": (
            '{\n    // mine\n    "ui": {"theme": "Default"}, // and\n    "hooks": {\n        "AfterTool": [ /* own */\n'
            '            {"matcher": "*", "hooks": [{"type": "command", "command": "true"}]}\n        ]\n    },\n'
            '    "mcpServers": { "other": { "command": "true" } }\n}\n'
        )
    },
    "opencode": {
        ".config/opencode/opencode.jsonc": (
            '{\n    // mine\n    "mcp": { "other": {"type": "local", "command": ["true"], "enabled": false} },\n}\n'
        )
    },
    "hermes": {
        ".hermes/config.yaml": (
            "# mine\nmodel:\n  default: x # y\nplugins:\n  # on\n  enabled:\n    - foo # bar\n"
            'mcp_servers:\n    other:\n        command: "true"\n'
        )
    },
}


@pytest.fixture
def person(tmp_path: Path) -> Path:
    """A home with stand-ins for the agents' own commands."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("claude", "codex", "gemini", "opencode"):
        script = folder / name
        script.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} {COMMANDS} {name} "$@"\n')
        script.chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    return home


def ground(person: Path) -> Ground:
    return Ground({"HOME": str(person), "PATH": f"{person.parent}/bin:{os.environ['PATH']}"}, TIELINE)


def filled(person: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = person / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def calls(person: Path) -> list[Any]:
    path = person / "calls"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("own", [True, False])
def test_it_is_installed_once_and_removed_without_a_trace(person: Path, agent: str, own: bool) -> None:
    before = BEFORE[agent] if own else {}
    filled(person, before)
    confirm = AGENTS[agent].install(ground(person))
    assert confirm  # a person is told what is left to do
    assert AGENTS[agent].installed(ground(person))
    called = calls(person)
    again = ground(person)
    AGENTS[agent].install(again)
    assert (again.changed, again.ran, calls(person)) == ([], [], called)

    AGENTS[agent].remove(ground(person))
    assert not AGENTS[agent].installed(ground(person))
    left = {
        str(path.relative_to(person)): path.read_text()
        for path in person.rglob("*")
        if path.is_file() and path.name != "calls" and "plugins" not in path.parts
    }
    if agent in ("claude-code", "codex") and not own:  # their own commands leave an empty file
        left = {name: text for name, text in left.items() if text.strip("{} \n")}
    assert left == before
    more = ground(person)
    AGENTS[agent].remove(more)
    assert (more.changed, more.ran) == ([], [])


@pytest.mark.parametrize("agent", AGENTS)
def test_what_a_person_has_is_still_there_beside_it(person: Path, agent: str) -> None:
    filled(person, BEFORE[agent])
    AGENTS[agent].install(ground(person))
    texts = {name: (person / name).read_text() for name in BEFORE[agent]}
    match agent:
        case "codex":
            config = tomllib.loads(texts[".codex/config.toml"])
            assert set(config["mcp_servers"]) == {"other", "tieline"}
            assert "# keep" in texts[".codex/config.toml"]
            assert config["mcp_servers"]["tieline"]["args"] == ["mcp", "--agent", "codex"]
            hooks = json.loads(texts[".codex/hooks.json"])["hooks"]
            assert [each["hooks"][0]["command"] for each in hooks["Stop"]] == [
                "'/opt/tie line/bin/tieline' hook stop --agent codex",
                "say done",
            ]
            assert "trusted" not in "".join(texts.values())
        case "gemini":
            text = texts[".gemini/settings.json"]
            assert all(comment in text for comment in ("// mine", "// and", "/* own */"))
            settings = parsed(text).value
            assert set(settings["mcpServers"]) == {"other", "tieline"}
            assert len(settings["hooks"]["AfterTool"]) == 2
            assert settings["hooks"]["AfterAgent"][0]["hooks"][0]["timeout"] == 10_000  # milliseconds there
        case "opencode":
            assert set(parsed(texts[".config/opencode/opencode.jsonc"]).value["mcp"]) == {"other", "tieline"}
            assert "// mine" in texts[".config/opencode/opencode.jsonc"]
        case "hermes":
            text = texts[".hermes/config.yaml"]
            assert text.index("- tieline-terminal") < text.index("- foo # bar")
            assert [line for line in text.splitlines() if "tieline" not in line] == BEFORE[agent][
                ".hermes/config.yaml"
            ].splitlines()
        case "claude-code":
            settings = json.loads(texts[".claude/settings.json"])
            assert settings["permissions"] == {"deny": ["Read"]}
            assert settings["enabledPlugins"] == {"tieline@tieline": True}


def test_what_a_person_has_changed_meanwhile_stays(person: Path) -> None:
    filled(person, BEFORE["gemini"])
    path = person / ".gemini" / "settings.json"
    AGENTS["gemini"].install(ground(person))
    path.write_text(path.read_text().replace('"theme": "Default"', '"theme": "Other"'))
    AGENTS["gemini"].remove(ground(person))
    now = parsed(path.read_text()).value
    assert now == {**parsed(BEFORE["gemini"][".gemini/settings.json"]).value, "ui": {"theme": "Other"}}
    assert "// mine" in path.read_text()


@pytest.mark.parametrize(
    ("agent", "name", "text"),
    [
        ("gemini", ".gemini/settings.json", '{"hooks": '),
        ("gemini", ".gemini/settings.json", '{"hooks": []}'),
        ("codex", ".codex/hooks.json", "nonsense"),
        ("opencode", ".config/opencode/opencode.json", "{,}"),
        ("hermes", ".hermes/config.yaml", "plugins: {enabled: [foo]}\n"),
        ("hermes", ".hermes/config.yaml", "mcp_servers:\n  tieline:\n    command: mine\n"),
        ("hermes", ".hermes/config.yaml", "\ufeffplugins:\n  enabled:\n    - foo\n"),
        ("hermes", ".hermes/config.yaml", '"mcp_servers":\n  other:\n    command: mine\n'),
        ("hermes", ".hermes/config.yaml", "{plugins: {enabled: [foo]}}\n"),
        ("codex", ".codex/config.toml", '[mcp_servers.tieline]\ncommand = "mine"\nenv = { TIELINE_TOKEN = "x" }\n'),
        ("gemini", ".gemini/settings.json", '{"mcpServers": {"tieline": {"command": "tieline", "args": ["mcp"]}}}'),
        (
            "opencode",
            ".config/opencode/opencode.json",
            '{"mcp": {"tieline": {"type": "remote", "url": "http://[::1]"}}}',
        ),
    ],
)
def test_what_cannot_be_merged_safely_is_left_alone_and_said(person: Path, agent: str, name: str, text: str) -> None:
    filled(person, {name: text})
    with pytest.raises(ByHand) as told:
        AGENTS[agent].install(ground(person))
    assert "tieline" in told.value.what
    assert (person / name).read_text() == text
    assert calls(person) == []


@pytest.mark.parametrize(
    ("agent", "name", "text"),
    [
        ("codex", ".codex/config.toml", '[mcp_servers.tieline]\ncommand = "tieline"\nargs = ["mcp"]\n'),
        ("gemini", ".gemini/settings.json", '{"mcpServers": {"tieline": {"command": "tieline", "args": ["mcp"]}}}'),
        (
            "opencode",
            ".config/opencode/opencode.json",
            '{"mcp": {"tieline": {"type": "remote", "url": "http://[::1]"}}}',
        ),
    ],
)
def test_a_server_of_a_persons_own_is_not_taken_out(person: Path, agent: str, name: str, text: str) -> None:
    filled(person, {name: text})
    assert not AGENTS[agent].installed(ground(person))
    AGENTS[agent].remove(ground(person))
    assert (person / name).read_text() == text
    assert calls(person) == []


def test_hooks_that_look_like_ours_are_a_persons_own(person: Path) -> None:
    own = {"type": "command", "command": "other hook stop --agent codex"}
    filled(person, {".codex/hooks.json": json.dumps({"hooks": {"Stop": [{"hooks": [own]}]}})})
    AGENTS["codex"].install(ground(person))
    path = person / ".codex" / "hooks.json"
    settings = json.loads(path.read_text())
    settings["hooks"]["PostToolUse"][0]["hooks"].append({"type": "command", "command": "say done"})
    path.write_text(json.dumps(settings))
    AGENTS["codex"].remove(ground(person))
    hooks = json.loads(path.read_text())["hooks"]
    assert hooks == {
        "Stop": [{"hooks": [own]}],
        "PostToolUse": [{"hooks": [{"type": "command", "command": "say done"}]}],
    }


@pytest.mark.parametrize(
    ("agent", "name", "remark"),
    [("gemini", ".gemini/settings.json", "// the newest\n"), ("codex", ".codex/config.toml", "# the newest\n")],
)
def test_a_remark_that_a_person_has_made_meanwhile_stays(person: Path, agent: str, name: str, remark: str) -> None:
    filled(person, BEFORE[agent])
    AGENTS[agent].install(ground(person))
    path = person / name
    first, _, rest = path.read_text().partition("\n")
    path.write_text(f"{first}\n{remark}{rest}")
    AGENTS[agent].remove(ground(person))
    assert remark in path.read_text()


def tieline(person: Path, *arguments: str) -> tuple[int, Any]:
    command = [sys.executable, "-P", "-m", "adapters.main", "hook", *arguments, "--json"]
    done = subprocess.run(command, env=ground(person).environ, capture_output=True, text=True, check=False)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def test_a_file_that_nobody_may_write_is_left_alone(person: Path) -> None:
    filled(person, BEFORE["hermes"])
    (person / ".hermes" / "config.yaml").chmod(0o444)
    code, (told,) = tieline(person, "install", "hermes")
    assert (code, "read-only" in told["error"]["reason"]) == (70, True)
    assert {name: (person / name).read_text() for name in BEFORE["hermes"]} == BEFORE["hermes"]
    assert not (person / ".hermes" / "plugins" / "tieline-terminal").exists()


def test_a_file_that_is_no_text_is_named(person: Path) -> None:
    path = person / ".codex" / "hooks.json"
    path.parent.mkdir()
    path.write_bytes(b'{"a": "\xff"}')
    code, (told,) = tieline(person, "install", "codex")
    assert (code, str(path) in told["error"]["reason"]) == (70, True)
    (person / ".codex" / "config.toml").write_bytes(b"\xff")
    code, states = tieline(person, "status")
    assert (code, {one["agent"]: one["installed"] for one in states}["codex"]) == (0, None)


def test_a_record_that_was_cut_off_keeps_nobody_from_it(person: Path) -> None:
    record = person / ".tieline" / "hooks" / "gemini" / "before.json"
    filled(person, {**BEFORE["gemini"], str(record): '{"/home'})
    AGENTS["gemini"].install(ground(person))
    AGENTS["gemini"].remove(ground(person))
    assert not record.exists()
    assert "tieline" not in (person / ".gemini" / "settings.json").read_text()


def test_what_could_not_be_installed_leaves_nothing_of_ours(person: Path) -> None:
    filled(person, {".codex/hooks.json": "nonsense"})
    code, _ = tieline(person, "install", "codex")
    assert code == 78
    assert not (person / ".tieline").exists()


def test_without_the_agents_own_command_it_says_so(person: Path) -> None:
    with pytest.raises(NoAgent, match="claude is not on your PATH"):
        AGENTS["claude-code"].install(Ground({"HOME": str(person), "PATH": "/nowhere"}, TIELINE))


def test_where_its_own_command_fails_nothing_has_been_changed(person: Path) -> None:
    filled(person, BEFORE["gemini"])
    (person.parent / "bin" / "gemini").write_text("#!/bin/sh\necho no such luck >&2\nexit 1\n")
    environ = ground(person).environ
    command = [sys.executable, "-P", "-m", "adapters.main", "hook", "install", "gemini", "--json"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 70
    assert "no such luck" in json.loads(done.stdout)["error"]["reason"]
    assert {name: (person / name).read_text() for name in BEFORE["gemini"]} == BEFORE["gemini"]


def test_the_command_says_what_it_did_and_what_a_person_must_confirm(person: Path) -> None:
    environ = {**ground(person).environ, "TIELINE_HOME": str(person / "own")}

    def tieline(*arguments: str) -> tuple[int, Any]:
        command = [sys.executable, "-P", "-m", "adapters.main", "hook", *arguments, "--json"]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        return done.returncode, lines

    code, (done,) = tieline("install", "codex")
    assert (code, done["agent"], done["action"]) == (0, "codex", "installed")
    assert "trust" in done["confirm"][0]
    assert ["--env", f"TIELINE_HOME={person / 'own'}"] == done["commands"][0][4:6]
    code, states = tieline("status")
    assert (code, [one["agent"] for one in states if one["installed"]]) == (0, ["codex"])
    assert tieline("remove", "codex")[1][0]["action"] == "removed"
    assert tieline("install", "nobody")[0] == 64
