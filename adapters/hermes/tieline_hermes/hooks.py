"""Hermes' hooks and the bridge's tools, as the threads of Hermes' agents call them."""

import contextvars
from itertools import count
from typing import TYPE_CHECKING, Any

from .link import Frame
from .turns import Turn

if TYPE_CHECKING:
    from .desk import Desk

WORK: "contextvars.ContextVar[Turn | None]" = contextvars.ContextVar("tieline_work", default=None)
"""The work that a wake-up begins: what Hermes does of it inherits this."""

HOOKS = (
    "pre_gateway_dispatch", "pre_llm_call", "post_llm_call", "pre_tool_call", "on_session_end", "on_session_reset",
)  # fmt: skip

_STOPS = ("/stop", "/new", "/reset")
_READING = ("peer_receive", "peer_sessions")
_ASK_S = 3.0
_FINAL_CHARS = 400_000


class Hooks:
    """Which turn each is about: Hermes fires the same ones for background reviews and subagents."""

    def __init__(self, desk: "Desk", born: str) -> None:
        self._desk = desk
        self._turns = desk.turns
        self._born = born
        self._numbers = count(1)

    def pre_gateway_dispatch(self, event: Any = None, **_: Any) -> None:
        """A person's `/stop` ends the turn, and not only for something else to be said."""
        host = self._desk.host
        if host is None or str(getattr(event, "text", "")).strip().split(" ")[0] not in _STOPS:
            return
        key = host.key_of(event.source)
        with self._turns.lock:
            turn = self._turns.running(lambda one: one.key == key)
            if turn is not None:
                turn.stop = True

    def pre_llm_call(self, turn_id: str = "", task_id: str = "", sender_id: str = "", **_: Any) -> None:
        key = self._key(turn_id, task_id)
        if key is None:
            return
        with self._turns.lock:
            turn = self._begun(key)
            if turn is None:
                turn = Turn(key, f"{self._born}-{next(self._numbers)}", own=True, state="started")
                self._turns.add(turn)
                self._desk.tell(turn, "turn_begun", person=str(sender_id or "") or None)
            turn.hermes, turn.task = turn_id, task_id

    def _begun(self, key: str) -> Turn | None:
        """The bridge's work that this is: what a wake-up has begun, or what Hermes goes on with after a restart."""
        work = WORK.get()
        if work is not None and work.hermes is None and work.state == "started" and work.key == key:
            return work
        return next((turn for turn in self._turns.left() if turn.key == key), None)

    def post_llm_call(self, turn_id: str = "", assistant_response: str = "", **_: Any) -> None:
        turn = self._of(turn_id)
        if turn is not None:
            turn.final = assistant_response

    def pre_tool_call(self, tool_name: str = "", turn_id: str = "", task_id: str = "", **more: Any) -> None:
        turn = self._of(turn_id) or self._of_task(task_id)
        if turn is None:
            return
        name = tool_name.removeprefix("mcp_tieline_")
        if name not in _READING:
            self._turns.used_tools(turn)
        self._desk.tell(turn, "tool", id=str(more.get("tool_call_id") or name)[:200], name=name[:200])

    def on_session_end(self, turn_id: str = "", interrupted: bool = False, **_: Any) -> None:
        turn = self._of(turn_id)
        if turn is None:
            return
        if not interrupted:
            self._desk.answered(turn, turn.final[:_FINAL_CHARS] if turn.final is not None else None)
        elif turn.own or self._desk.host is None or not self._desk.host.draining:
            self._desk.end(turn, outcome="interrupted", stopped=turn.stop, tools=turn.tools)
        # What a draining gateway interrupts, the next process goes on with.

    def on_session_reset(self, old_session_id: str = "", **_: Any) -> None:
        self._desk.reset(old_session_id)

    def call(self, tool: str, arguments: Frame, task_id: str) -> Frame:
        """A tool of the bridge, called in a turn."""
        turn = self._of_task(task_id)
        if turn is None:
            return _refused("only a session's own agent, in its turn, has this tool", "Do without it.")
        if tool == "peer_ask":
            arguments = {**arguments, "timeout_s": min(_seconds(arguments.get("timeout_s") or _ASK_S), _ASK_S)}
        answer = self._desk.link.call(turn.name, tool, arguments)
        if answer is None:
            remedy = (
                "Go on without it. What was sent may have arrived: look with peer_receive before you send it again."
            )
            return _refused("the bridge does not answer", remedy)
        value: Frame = answer["value"]
        return value

    def _key(self, turn_id: str, task_id: str) -> str | None:
        """The session of a main turn; None for a background review or a subagent."""
        from gateway.session_context import get_session_env

        if not turn_id or turn_id.split(":", maxsplit=1)[0] != task_id or self._desk.find() is None:
            return None
        return get_session_env("HERMES_SESSION_KEY") or None

    def _of(self, turn_id: str) -> Turn | None:
        return self._turns.running(lambda one: one.hermes == turn_id) if turn_id else None

    def _of_task(self, task_id: str) -> Turn | None:
        return self._turns.running(lambda one: one.task == task_id) if task_id else None


def _seconds(asked: Any) -> float:
    try:
        return float(asked)
    except (TypeError, ValueError):
        return _ASK_S


def _refused(reason: str, remedy: str) -> Frame:
    return {"error": {"code": "unavailable", "reason": reason, "rule": None, "remedy": remedy}}
