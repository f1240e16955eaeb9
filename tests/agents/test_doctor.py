"""The doctor with the real agents: which are there, what each can do, and what it lacks where nobody has logged in."""

import asyncio

import pytest

from tests.acceptance.home import TIELINE, Home
from tests.agents.installed import path

pytestmark = pytest.mark.timeout(500)


async def test_each_agent_is_found_started_and_told_of(home: Home) -> None:
    (home.path / "user").mkdir()
    environ = {**home.environ, "PATH": path(), "HOME": str(home.path / "user")}
    process = await asyncio.create_subprocess_exec(
        *TIELINE, "doctor", "--agents", "--json", env=environ, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    told = out.decode()
    for sign in (
        "preset gemini: it wants a login",
        "preset codex: it wants a login",
        "preset claude-code: no login of it is found",
        "preset hermes: it wants a login",
        "preset opencode: OpenCode",
        "preset opencode: without a login",
        "preset goose: not installed",
    ):
        assert sign in told, told
