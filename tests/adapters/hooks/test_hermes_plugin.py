"""The plugin for Hermes in a terminal, as it is installed, with a stand-in for what Hermes gives to plugins."""

import queue
import runpy
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from adapters.hooks import hermes
from adapters.hooks.ground import Ground


class Context:
    """`injected` gets what would be the next prompt."""

    def __init__(self, cli: object) -> None:
        self.hooks: dict[str, Callable[..., Any]] = {}
        self.injected: queue.Queue[str] = queue.Queue()
        self._manager = SimpleNamespace(_cli_ref=cli)

    def register_hook(self, name: str, hook: Callable[..., Any]) -> None:
        self.hooks[name] = hook

    def inject_message(self, text: str) -> bool:
        self.injected.put(text)
        return True


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """What the stand-in for `tieline` was called for. It says NOTICE to each event, and to one waiter."""
    command = tmp_path / "tieline"
    command.write_text(
        f"#!/bin/sh\necho $2 >> {tmp_path}/events\n"
        f"[ $2 = stop ] && exit 0\n[ $2 = wait ] && {{ mkdir {tmp_path}/waited 2>/dev/null || exit 0; }}\n"
        'echo \'{"notice": "NOTICE"}\'\n'
    )
    command.chmod(0o755)
    return tmp_path / "events"


def plugin(tmp_path: Path, cli: object) -> Context:
    hermes.install(Ground({"HOME": str(tmp_path)}, [str(tmp_path / "tieline")]))
    context = Context(cli)
    runpy.run_path(str(tmp_path / ".hermes" / "plugins" / hermes.NAME / "__init__.py"))["register"](context)
    return context


def test_it_tells_between_tool_calls_and_wakes_an_idle_terminal(tmp_path: Path, events: Path) -> None:
    context = plugin(tmp_path, SimpleNamespace(_agent_running=False))
    turn = {"task_id": "t", "turn_id": "t:1"}
    assert context.hooks["pre_llm_call"](user_message="work", **turn) == {"context": "NOTICE"}
    assert context.hooks["transform_tool_result"](result="done", **turn) == "done\n\nNOTICE"
    context.hooks["on_session_end"](interrupted=False, **turn)
    assert context.injected.get(timeout=20) == "NOTICE"
    assert events.read_text().split()[:4] == ["prompt", "tool", "stop", "wait"]


def test_it_never_interrupts_what_works(tmp_path: Path, events: Path) -> None:
    cli = SimpleNamespace(_agent_running=True)
    context = plugin(tmp_path, cli)
    terminal = context.hooks["on_session_end"].__self__  # type: ignore[attr-defined]
    terminal._wait("stop")
    assert events.read_text().split() == ["stop", "wait"]
    assert context.injected.empty()


def test_helpers_and_a_gateway_are_none_of_its_business(tmp_path: Path, events: Path) -> None:
    context = plugin(tmp_path, SimpleNamespace(_agent_running=False))
    assert context.hooks["pre_llm_call"](user_message="review", task_id="t", turn_id="review:1") is None
    gateway = plugin(tmp_path, None)
    assert gateway.hooks["pre_llm_call"](user_message="hello", task_id="t", turn_id="t:1") is None
    assert gateway.hooks["transform_tool_result"](result="done") is None
    gateway.hooks["on_session_end"](task_id="t", turn_id="t:1")
    assert not events.exists()
