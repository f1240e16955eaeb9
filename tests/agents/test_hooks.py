"""The agents' own commands take what `tieline hook install` gives them, and leave no trace of it after `remove`."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from adapters.hooks.jsonc import parsed
from tests.adapters.hooks.test_install import BEFORE, filled
from tests.agents.installed import path

pytestmark = pytest.mark.timeout(240)

LISTS = {
    "claude-code": ["claude", "plugin", "list"],
    "codex": ["codex", "mcp", "list"],
    "gemini": ["gemini", "mcp", "list"],
    # With a plugin beside it OpenCode looks for packages first, on the network.
    "opencode": ["opencode", "--version"],
    "hermes": ["hermes", "plugins", "list"],
}
"""What shows that an agent knows of it."""


@pytest.mark.parametrize("agent", LISTS)
def test_a_real_agent_knows_it_and_is_left_as_it_was(tmp_path: Path, agent: str) -> None:
    before = {**BEFORE[agent]}
    if agent == "codex":
        before[".codex/hooks.json"] = json.dumps(json.loads(before[".codex/hooks.json"]))
    filled(tmp_path, before)
    environ = {"HOME": str(tmp_path), "PATH": path(), "LANG": "C.UTF-8", "DISABLE_AUTOUPDATER": "1"}

    def ran(*command: str) -> str:
        done = subprocess.run(
            command, env=environ, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    def tieline(*arguments: str) -> Any:
        return json.loads(ran(sys.executable, "-P", "-m", "adapters.main", "hook", *arguments, "--json"))

    assert tieline("install", agent)["action"] == "installed"
    assert tieline("install", agent)["action"] == "unchanged"
    assert "tieline" in ran(*LISTS[agent]) or agent == "opencode"
    if agent == "opencode":
        config = parsed((tmp_path / ".config" / "opencode" / "opencode.jsonc").read_text()).value
        assert config["mcp"]["tieline"]["command"][-3:] == ["mcp", "--agent", "opencode"]
    if agent == "gemini":
        settings = parsed((tmp_path / ".gemini" / "settings.json").read_text()).value
        assert set(settings["mcpServers"]) == {"other", "tieline"}
    assert tieline("remove", agent)["action"] == "removed"
    assert {name: (tmp_path / name).read_text() for name in before} == before
    assert not [each for each in tmp_path.rglob("*") if "tieline" in os.path.relpath(each, tmp_path)]
    assert tieline("remove", agent)["action"] == "unchanged"
