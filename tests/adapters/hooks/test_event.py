"""What the hooks of each agent tell the bridge, what they answer, and how a waiter wakes each."""

import io
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from adapters.hooks.event import BOUND_S, FAREWELL_S, Post, hook
from adapters.hooks.formats import FORMATS, Format
from adapters.hooks.ground import Ground
from adapters.hooks.merged import hooks_of
from adapters.hooks.waiter import wait
from bridge.errors import Code, Refused
from bridge.notices import MAIL_BESIDE_WORK, MAIL_IN_TERMINAL

Ran = Callable[..., tuple[int, str]]


class Away(Exception):
    pass


class Bridge:
    """Says the same to every hook, and keeps what it was told."""

    def __init__(self, notice: str | None = None, error: Exception | None = None) -> None:
        self._told = {"notice": notice, "ended": notice is None}
        self._error = error
        self.events: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self.threads: list[str | None] = []

    def posting(self, thread: str | None) -> Post:
        self.threads.append(thread)

        def post(path: str, body: dict[str, Any]) -> Mapping[str, Any]:
            if self._error is not None:
                raise self._error
            self.events.append(body["event"])
            self.bodies.append(body)
            return self._told

        return post


def none_waits(form: Format, thread: str, token: str | None) -> int:
    raise AssertionError("nobody asked to wait")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ran:
    def ran(bridge: Bridge, event: str, agent: str, given: object = None) -> tuple[int, str]:
        said = given if isinstance(given, bytes) else json.dumps(given or {}).encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(said)))
        code = hook([event, "--agent", agent], bridge.posting, none_waits)
        return code, capsys.readouterr().out

    return ran


@pytest.mark.parametrize(
    ("agent", "event", "answer"),
    [
        ("claude-code", "stop", {"decision": "block", "reason": "NOTICE"}),
        ("codex", "stop", {"decision": "block", "reason": "NOTICE"}),
        ("gemini", "stop", {"decision": "block", "reason": "NOTICE"}),
        (
            "claude-code",
            "tool",
            {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "NOTICE"}},
        ),
        ("gemini", "tool", {"hookSpecificOutput": {"hookEventName": "AfterTool", "additionalContext": "NOTICE"}}),
        ("gemini", "prompt", {"hookSpecificOutput": {"hookEventName": "BeforeAgent", "additionalContext": "NOTICE"}}),
        ("opencode", "tool", {"notice": "NOTICE"}),
        ("hermes", "stop", {"notice": "NOTICE"}),
    ],
)
def test_each_agent_is_answered_in_its_own_form(run: Ran, agent: str, event: str, answer: object) -> None:
    code, said = run(Bridge("NOTICE"), event, agent)
    assert (code, json.loads(said)) == (0, answer)
    assert run(Bridge(None), event, agent) == (0, "")


@pytest.mark.parametrize(
    ("event", "given", "told"),
    [
        ("prompt", {"prompt": "please work"}, "prompt"),
        ("prompt", {"prompt": MAIL_IN_TERMINAL}, "woken"),
        ("prompt", {"prompt": f"<system>\n{MAIL_BESIDE_WORK}</system>"}, "woken"),
        ("stop", {"stop_hook_active": False}, "stop"),
        ("stop", {"stop_hook_active": True}, "stop-again"),
        ("end", {"reason": "exit"}, "end"),
        ("end", {"reason": "clear"}, "idle"),
        ("tool", b"no JSON", "tool"),
        ("tool", b'{"tool_response": "' + b"x" * 3_000_000 + b'"}', "tool"),
    ],
)
def test_what_has_happened_is_told_from_what_the_agent_says(run: Ran, event: str, given: object, told: str) -> None:
    bridge = Bridge()
    assert run(bridge, event, "claude-code", given) == (0, "")
    assert bridge.events == [told]


def test_a_hook_never_fails_its_agent(run: Ran) -> None:
    for error in (Away(), Refused(Code.NOT_PERMITTED, "no"), KeyError("notice")):
        assert run(Bridge(error=error), "stop", "claude-code") == (0, "")
    assert run(Bridge("NOTICE"), "stop", "unheard-of") == (0, "")
    assert run(Bridge("NOTICE"), "unheard-of", "claude-code") == (0, "")


def test_only_an_agent_that_shares_its_process_tells_its_thread(run: Ran) -> None:
    for agent, thread in (("codex", "t-1"), ("claude-code", None)):
        bridge = Bridge("NOTICE")
        run(bridge, "tool", agent, {"session_id": "t-1"})
        assert bridge.threads == [thread]


def test_an_agent_that_shares_its_process_says_where_it_works_and_its_helpers_say_nothing(run: Ran) -> None:
    bridge = Bridge("NOTICE")
    assert run(bridge, "prompt", "codex", {"session_id": "t-1", "agent_id": "t-2", "prompt": "help me"}) == (0, "")
    assert bridge.events == []
    run(bridge, "prompt", "codex", {"session_id": "t-1", "prompt": "please work"})
    run(bridge, "prompt", "claude-code", {"prompt": "please work"})
    assert bridge.bodies == [{"event": "prompt", "client": "codex", "cwd": os.getcwd()}, {"event": "prompt"}]


def test_the_farewell_of_an_agent_is_shorter_than_it_waits(run: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    bounds: list[float] = []
    monkeypatch.setattr("signal.setitimer", lambda _, seconds: bounds.append(seconds))
    for event in ("tool", "end"):
        run(Bridge(), event, "codex", {"session_id": "t-1"})
    assert bounds == [BOUND_S, 0, FAREWELL_S, 0]
    assert (
        hooks_of(Ground({}, ["tieline"]), "codex", {"SessionEnd": "end"}, 10, 3)["SessionEnd"]["hooks"][0]["timeout"]
        > FAREWELL_S
    )


def asked(*answers: object, agent: int | None = None) -> Callable[..., Mapping[str, Any]]:
    """A bridge that says who the agent is, and then each of these to whoever waits."""
    coming = iter(answers)

    def ask(method: str, path: str, body: object) -> Mapping[str, Any]:
        if method == "GET":
            return {"session": "default/work", "agent": agent or os.getpid()}
        answer = next(coming)
        if isinstance(answer, Exception):
            raise answer
        return {"notice": answer, "ended": answer is None}

    return ask


def test_claude_code_is_woken_by_an_exit_code_and_a_notice(capsys: pytest.CaptureFixture[str]) -> None:
    assert wait(FORMATS["claude-code"], "", asked("NOTICE"), (Away,)) == 2
    assert capsys.readouterr().err == "NOTICE\n"


def test_codex_is_woken_by_its_own_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    codex = tmp_path / "codex"
    codex.write_text(f'#!/bin/sh\nprintf "%s|" "$@" > {tmp_path}/call\n')
    codex.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert wait(FORMATS["codex"], "t-1", asked("NOTICE"), (Away,)) == 0
    assert (tmp_path / "call").read_text() == "queue|--thread|t-1|--message|NOTICE|"
    assert wait(FORMATS["codex"], "", asked("NOTICE"), (Away,)) == 0  # nobody knows which


def test_a_plugin_is_told_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert wait(FORMATS["hermes"], "", asked("NOTICE"), (Away,)) == 0
    assert json.loads(capsys.readouterr().out) == {"notice": "NOTICE"}


def test_a_waiter_asks_the_next_bridge_and_gives_way_to_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapters.hooks.waiter._LOOK_S", 0)
    unavailable = Refused(Code.UNAVAILABLE, "it ends")
    assert wait(FORMATS["claude-code"], "", asked(Away(), unavailable, "NOTICE"), (Away,)) == 2
    assert wait(FORMATS["claude-code"], "", asked(Refused(Code.BUSY, "another waits")), (Away,)) == 0
    assert wait(FORMATS["claude-code"], "", asked(None), (Away,)) == 0


def test_a_waiter_ends_with_its_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    assert wait(FORMATS["claude-code"], "", asked(Away(), agent=child), (Away,)) == 0
