"""Real Claude Code in a tmux window, as an ordinary user, with the plugin that `tieline hook install` gives it."""

import asyncio
import json
import os
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bridge.notices import MAIL_BESIDE_WORK, MAIL_IN_TERMINAL
from tests.acceptance.home import PATIENCE_S, TIELINE, Home
from tests.agents.installed import path
from tests.agents.messages_api import ANSWER, Api, said_by_users, serving, texts_of

pytestmark = [pytest.mark.timeout(240), pytest.mark.skipif(shutil.which("tmux") is None, reason="it needs tmux")]

KEY = "stub-key-0123456789a"
CANARY = "the canary of the desk"
NOBODY = 65534
ORDINARY = (
    [
        *("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"),
        # Python may be installed where only root may look.
        *("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"),
    ]
    if os.getuid() == 0
    else []
)


@pytest.fixture
def api() -> Iterator[Api]:
    with serving() as api:
        yield api


@pytest.fixture
async def home(tmp_path: Path, api: Api) -> AsyncIterator[Home]:
    """A home whose person uses Claude Code, and has said yes to all that it asks at its first start."""
    home = Home(tmp_path)
    home.through = ORDINARY
    person, work = tmp_path / "person", tmp_path / "person" / "work"
    (person / ".claude").mkdir(parents=True)
    work.mkdir()
    trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    begun = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [KEY], "rejected": []},
        "projects": {str(work): trusted},
    }
    (person / ".claude.json").write_text(json.dumps(begun))
    permissions = {"defaultMode": "default", "allow": ["mcp__plugin_tieline_tieline", "Bash"]}
    (person / ".claude" / "settings.json").write_text(json.dumps({"permissions": permissions}))
    home.variables = {
        "HOME": str(person),
        "PATH": path(),
        "TERM": "xterm-256color",
        "ANTHROPIC_BASE_URL": api.url,
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "ENABLE_TOOL_SEARCH": "false",
    }
    home.session("desk")
    home.rule("default/desk", "default/work-claude-code")
    home.write()
    _give_away(tmp_path)
    try:
        yield home
    finally:
        _tmux(home, "kill-server")
        await home.close()


async def test_claude_code_hears_of_mail_at_work_is_woken_when_idle_and_answers(home: Home, api: Api) -> None:
    await home.up()
    _ran(home, *TIELINE, "hook", "install", "claude-code")
    _tmux(home, "new-session", "-d", "-x", "140", "-y", "40", "-c", f"{home.path}/person/work", "claude")
    await until(home, lambda one: one["live"])

    _tmux(home, "send-keys", "please work", "Enter")
    await until(home, lambda one: one["busy"] == "steer")  # its hooks between tool calls are heard
    answer = (await home.tieline("ask", "work-claude-code", f"{CANARY} 1", "--from", "desk", "--json")).json
    assert (answer["answer"], answer["reply"]["text"]) == ("answered", ANSWER)
    assert any(MAIL_BESIDE_WORK in text for one in api.requests for row in one["messages"] for text in texts_of(row))

    await until(home, lambda one: one["reachable"] == "wake" and one["activity"] == "idle")
    before, begun = len(api.requests), time.monotonic()
    asking = asyncio.create_task(home.tieline("ask", "work-claude-code", f"{CANARY} 2", "--from", "desk", "--json"))
    answer = (await asking).json
    assert (answer["answer"], answer["reply"]["text"]) == ("answered", ANSWER)
    assert api.came[before] - begun < 2
    woken = api.requests[before]["messages"]
    assert any(MAIL_IN_TERMINAL in text for row in woken for text in texts_of(row))

    await until(home, lambda one: one["activity"] == "idle")
    assert not any(CANARY in text for one in api.requests for text in said_by_users(one))
    assert any(CANARY in text for row in api.requests[-1]["messages"] for text in texts_of(row))


def _give_away(folder: Path) -> None:
    if ORDINARY:
        for each in (folder, *folder.rglob("*")):
            os.chown(each, NOBODY, NOBODY)


def _ran(home: Home, *command: str) -> None:
    done = subprocess.run(
        [*ORDINARY, *command], env=home.environ, cwd=home.path, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr


def _tmux(home: Home, *arguments: str) -> None:
    command = [*ORDINARY, "tmux", "-S", str(home.path / "tmux.sock"), "-f", "/dev/null", *arguments]
    environ = {name: value for name, value in home.environ.items() if name != "TMUX"}
    subprocess.run(command, env=environ, cwd=home.path, check=arguments[0] != "kill-server", timeout=30)


async def until(home: Home, holds: Callable[[Any], bool]) -> None:
    async with asyncio.timeout(2 * PATIENCE_S):
        while True:
            every = (await home.tieline("sessions", "--from", "desk", "--json")).lines
            found = [one for one in every if one["id"] == "default/work-claude-code"]
            if found and holds(found[0]):
                return
            await asyncio.sleep(0.1)
