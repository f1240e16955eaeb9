"""Agents that a person has started in terminals: they join, hear of mail, are woken, and answer."""

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bridge.notices import MAIL_BESIDE_WORK, MAIL_IN_TERMINAL
from tests.acceptance.home import PATIENCE_S, Home
from tests.acceptance.terminal import controlled_by

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no kernel tells as much of terminals")

HERE = Path(__file__).parent
CANARY = "what the desk says: the canary sings"


class InTerminal:
    def __init__(self, process: asyncio.subprocess.Process, keyboard: int) -> None:
        self.process = process
        self._keyboard = keyboard

    async def does(self, *what: Any) -> Any:
        assert self.process.stdout
        os.write(self._keyboard, json.dumps(what).encode() + b"\n")
        async with asyncio.timeout(PATIENCE_S):
            return json.loads(await self.process.stdout.readline())

    async def reads(self) -> list[Any]:
        result = (await self.does("call", "peer_receive", {}))["result"]
        messages: list[Any] = result["structuredContent"]["messages"]
        return messages


@asynccontextmanager
async def terminal(home: Home, directory: str = "work", *, controlled: bool = True) -> AsyncIterator[InTerminal]:
    """A stand-in in a terminal of its own, or in none."""
    where = home.path / directory
    where.mkdir(exist_ok=True)
    plugin = home.path / "hooks" / "claude-code" / "marketplace" / "tieline"
    command = [sys.executable, "-P", str(HERE / "terminal_agent.py"), str(plugin)]
    keyboard, slave = os.openpty()
    started: dict[str, Any] = controlled_by(slave) if controlled else {"stdin": slave, "start_new_session": True}
    process = await asyncio.create_subprocess_exec(
        *command, env=home.environ, cwd=where, stdout=asyncio.subprocess.PIPE, limit=2**22, **started
    )
    os.close(slave)
    try:
        yield InTerminal(process, keyboard)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        os.close(keyboard)


@pytest.fixture
async def home(home: Home) -> Home:
    """With the plugin installed by a stand-in for the agent's own command."""
    folder = home.path / "bin"
    folder.mkdir()
    claude = folder / "claude"
    claude.write_text("#!/bin/sh\nexit 0\n")
    claude.chmod(0o755)
    home.variables = {"HOME": str(home.path / "person"), "PATH": f"{folder}:{os.environ['PATH']}"}
    installed = await home.tieline("hook", "install", "claude-code", "--json")
    assert installed.code == 0, installed.err
    home.session("desk")
    return home


async def test_an_agent_in_a_terminal_hears_of_mail_at_work_and_as_it_stops_and_is_woken_when_idle(home: Home) -> None:
    home.rule("default/desk", "default/work-claude-code")
    await home.up()
    async with terminal(home) as agent:
        assert "result" in await agent.does("begin")
        assert (await shown(home))["reachable"] == "pull"
        assert await agent.does("prompt", "please tidy up") == [[0, None]]
        assert (await shown(home))["activity"] == "thinking"
        assert await agent.does("tool") == [[0, None]]

        first = await home.tieline("send", "work-claude-code", CANARY, "--from", "desk", "--wake", "--json")
        assert first.code == 0, first.out
        context = {"hookEventName": "PostToolUse", "additionalContext": MAIL_BESIDE_WORK}
        assert await agent.does("tool") == [[0, {"hookSpecificOutput": context}]]
        assert await agent.does("tool") == [[0, None]]  # once a message
        assert (await shown(home))["busy"] == "steer"
        assert await agent.does("stop") == [[0, {"decision": "block", "reason": MAIL_IN_TERMINAL}]]
        assert [(one["text"], one["origin"]) for one in await agent.reads()] == [(CANARY, "peer")]
        assert await agent.does("stop", True) == [[0, None]]
        closed = (await home.tieline("inbox", "--from", "desk", "--json")).lines
        assert ["gave no answer" in one["text"] for one in closed] == [True]

        await until(home, lambda one: one["reachable"] == "wake")
        asking = asyncio.create_task(home.tieline("ask", "work-claude-code", "Is it done?", "--from", "desk", "--json"))
        begun = time.monotonic()
        assert await agent.does("woken") == MAIL_IN_TERMINAL
        assert time.monotonic() - begun < 2 + PATIENCE_S / 10
        (question,) = await agent.reads()
        await agent.does("call", "peer_reply", {"message_id": question["message_id"], "text": "It is."})
        answer = (await asking).json
        assert (answer["answer"], answer["reply"]["text"]) == ("answered", "It is.")
        assert await agent.does("stop") == [[0, None]]
    await until(home, lambda one: not one["live"])
    assert (await shown(home))["reachable"] == "pull"


async def test_what_an_agent_starts_in_its_shell_is_that_agent_also_after_a_restart_of_the_bridge(home: Home) -> None:
    home.rule("default/work-claude-code", "default/desk")
    await home.up()
    async with terminal(home) as agent:
        await agent.does("begin")
        code, _ = await agent.does("shell", "policy", "pause", "--json")
        assert code == 77  # as a person, it would
        await home.kill()
        await home.up()
        code, _ = await agent.does("shell", "policy", "pause", "--json")
        assert code == 77
        code, said = await agent.does("shell", "send", "desk", "hello", "--intent", "inform", "--json")
        assert code == 0, said
        (mail,) = (await home.tieline("inbox", "--from", "desk", "--json")).lines
        assert (mail["from"], mail["origin"]) == ("default/work-claude-code", "peer")
        # Its tools go on with the next bridge, as the same session.
        assert (await agent.does("call", "peer_receive", {}))["result"]["structuredContent"]["messages"] == []
        assert [one["id"] for one in await terminals(home)] == ["default/work-claude-code"]


async def test_two_terminals_in_one_directory_are_two_sessions_and_one_that_comes_back_is_the_same(home: Home) -> None:
    await home.up()
    async with terminal(home) as one, terminal(home) as other:
        await one.does("begin")
        await other.does("begin")
        assert [each["id"] for each in await terminals(home)] == [
            "default/work-claude-code",
            "default/work-claude-code-2",
        ]
    await until(home, lambda one: not one["live"])
    await until(home, lambda one: not one["live"], "work-claude-code-2")
    async with terminal(home) as again:
        await again.does("begin")
        assert [each["live"] for each in await terminals(home)] == [True, False]


async def test_mail_that_an_agent_had_read_waits_for_the_next_one_when_it_is_gone(home: Home) -> None:
    home.rule("default/desk", "default/work-claude-code")
    await home.up()
    async with terminal(home) as agent:
        await agent.does("begin")
        await home.tieline("send", "work-claude-code", "first", "--from", "desk", "--json")
        assert len(await agent.reads()) == 1
    await until(home, lambda one: not one["live"])
    async with terminal(home) as agent:
        await agent.does("begin")
        assert [(one["text"], one["redelivered"]) for one in await agent.reads()] == [("first", True)]


async def test_the_operators_file_says_which_session_a_directory_is_and_only_then_rules_by_kind_hold(
    home: Home,
) -> None:
    home.tables.append(f'[sessions.laptop]\nkind = "terminal"\ncwd = "{home.path}/declared"')
    home.rule("kind:terminal", "default/desk")
    await home.up()
    async with terminal(home, "declared") as declared, terminal(home) as unknown:
        await declared.does("begin")
        await unknown.does("begin")
        send = {"to": "desk", "text": "hello", "intent": "inform"}
        assert not (await declared.does("call", "peer_send", send))["result"].get("isError")
        refused = (await unknown.does("call", "peer_send", send))["result"]
        assert refused["structuredContent"]["error"]["code"] == "unknown_session"
        assert {one["id"] for one in await terminals(home)} == {"default/laptop", "default/work-claude-code"}


async def test_a_program_without_a_terminal_is_no_agent_of_a_person(home: Home) -> None:
    home.tables.append('[sessions.laptop]\nkind = "terminal"')
    home.variables |= {"TIELINE_SESSION": "laptop"}
    await home.up()
    async with terminal(home, controlled=False) as daemon:
        answer = await daemon.does("begin")
        assert "not_permitted" in answer["error"]["message"]
        assert "no terminal" in answer["error"]["message"]
    async with terminal(home) as agent:
        assert "result" in await agent.does("begin")
        code, said = await agent.does("shell", "hook", "tool", "--agent", "claude-code")
        assert (code, said) == (0, "")


async def test_a_directory_whose_name_is_no_text_keeps_nobody_out(home: Home) -> None:
    await home.up()
    for _ in range(2):  # the same one comes back
        async with terminal(home, os.fsdecode(b"caf\xe9")) as agent:
            assert "result" in await agent.does("begin")
            assert [one["id"] for one in await terminals(home)] == ["default/caf-claude-code"]


async def test_hooks_say_nothing_and_cost_nothing_where_no_bridge_runs(home: Home) -> None:
    home.write()
    async with terminal(home) as agent:
        for what in (["prompt", "hello"], ["tool"], ["stop"]):
            assert await agent.does(*what) == [[0, None]]


async def shown(home: Home, session: str = "work-claude-code") -> Any:
    return next(one for one in await terminals(home) if one["id"] == f"default/{session}")


async def terminals(home: Home) -> list[Any]:
    return [one for one in (await home.typed("sessions", "--json")).lines if one["kind"] == "terminal"]


async def until(home: Home, holds: Callable[[Any], bool], session: str = "work-claude-code") -> None:
    """What other processes see and do is announced by nothing but the list."""
    async with asyncio.timeout(PATIENCE_S):
        while not holds(await shown(home, session)):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
