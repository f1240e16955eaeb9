"""What goes on between the bridge and Hermes' sessions: work that waits, turns that run, and what is told of each.

A turn is the bridge's work, begun by `started`, or Hermes' own, told by `turn_begun`. Hermes' hooks come in the
threads of its agents, the bridge's frames in the link's, and a wake-up happens in the gateway's loop.
"""

import asyncio
import contextvars
import logging
import threading
import time
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from .host import Host, Unsuitable, title_of
from .journal import Journal
from .link import Frame, Link

log = logging.getLogger(__name__)

_LOOK_S = 0.05
_RESUMED_S = 120.0
_WORK: "contextvars.ContextVar[Turn | None]" = contextvars.ContextVar("tieline_work", default=None)


@dataclass(eq=False)
class Turn:
    """`name` is the bridge's, or Hermes' own where it is `own`. `task` is Hermes' task of it, once that is known."""

    key: str
    name: str
    epoch: int = 0
    notice: str = ""
    own: bool = False
    state: str = "accepted"
    task: str | None = None
    hermes: str | None = None
    tools: bool = False
    final: str | None = None
    stop: bool = False
    end: Frame | None = None
    since: float = field(default_factory=time.monotonic)

    def told(self, kind: str, **fields: Any) -> Frame:
        where = {"key": self.key} if self.own else {"epoch": self.epoch}
        return {"kind": kind, "turn": self.name, **where, **fields}


class Desk:
    def __init__(self, home: Path, socket: Path, software: str) -> None:
        self._journal = Journal(home / "tieline" / "turns.json")
        self._token_file = home / "tieline" / "token"
        self._lock = threading.RLock()
        self._host: Host | None = None
        self._known: dict[str, tuple[str, str]] = {}
        self._turns: dict[str, Turn] = {}
        self._waiting: list[Turn] = []
        self._pumping = False
        self._numbers = count(1)
        self._born = f"{time.time_ns():x}"
        self._looked = 0.0
        self._broken = False
        for name, kept in self._journal.turns.items():
            turn = Turn(kept["key"], name, kept["epoch"], state="over" if kept.get("end") else "started")
            turn.tools, turn.end = bool(kept.get("tools")), kept.get("end")
            turn.hermes = "earlier"
            self._turns[name] = turn
        self.link = Link(
            socket, self._token, software, opened=self._opened, heard=self._heard, ended=self._ended, idle=self._idle
        )

    def _token(self) -> str | None:
        """None while the gateway does not take messages, or is not paired."""
        if self._find() is None:
            return None
        try:
            return self._token_file.read_text().strip() or None
        except OSError:
            return None

    def _find(self) -> Host | None:
        if self._host is None and not self._broken:
            try:
                self._host = Host.found()
            except Unsuitable as wrong:
                self._broken = True
                log.error("tieline: this Hermes is not one that the plugin knows, so it stays off: %s", wrong)
        return self._host

    # The link

    def _opened(self) -> None:
        self._known.clear()
        self._register()
        with self._lock:
            own = [turn for turn in self._turns.values() if turn.own]
            for turn in own:
                self._tell(turn, "turn_begun")
                if turn.end is not None:
                    self.link.send(**turn.end)
        self.link.send("ready")

    def _ended(self) -> None:
        """What has not begun is dropped with the link: the bridge gives it back."""
        with self._lock:
            for turn in self._waiting:
                self._turns.pop(turn.name, None)
            self._waiting.clear()

    def _idle(self) -> None:
        now = time.monotonic()
        if now - self._looked >= 0.5 and self._find() is not None:
            self._looked = now
            self._register()
            self._lose()

    def _register(self) -> None:
        host = self._host
        if host is None:
            return
        found = {one.session_key: (title_of(one), str(one.session_id)) for one in host.entries()}
        for key, (title, alias) in found.items():
            if self._known.get(key) != (title, alias) and self.link.send("session", key=key, title=title, alias=alias):
                self._known[key] = title, alias

    def _tell(self, turn: Turn, kind: str, **fields: Any) -> bool:
        return self.link.send(**turn.told(kind, **fields))

    def _heard(self, frame: Frame) -> None:
        with self._lock:
            match frame["type"]:
                case "work":
                    self._work(frame)
                case "claim":
                    self._claimed(frame)
                case "withdraw" | "cancel":
                    self._cancelled(frame)
                case "ack":
                    self._turns.pop(frame["turn"], None)
                    self._journal.drop(frame["turn"])
                case "post" if self._host is not None:
                    asyncio.run_coroutine_threadsafe(self._show(frame), self._host.loop)

    def _work(self, frame: Frame) -> None:
        known = self._turns.get(frame["turn"])
        if known is not None:
            if frame["epoch"] >= known.epoch:
                known.epoch = frame["epoch"]
                self._tell_again(known)
            return
        turn = Turn(frame["key"], frame["turn"], frame["epoch"], frame["notice"])
        self._turns[turn.name] = turn
        self._waiting.append(turn)
        self._tell(turn, "accepted")
        self._pump()

    def _claimed(self, frame: Frame) -> None:
        turn = self._turns.get(frame["turn"])
        if turn is None or turn.own:
            self.link.send("unknown", turn=frame["turn"], epoch=frame["epoch"])
        elif frame["epoch"] >= turn.epoch:
            turn.epoch = frame["epoch"]
            self._tell_again(turn)

    def _tell_again(self, turn: Turn) -> None:
        if turn.state == "accepted":
            self._tell(turn, "accepted")
            return
        self._tell(turn, "started", tools=turn.tools)
        if turn.end is not None:
            self.link.send(**{**turn.end, "epoch": turn.epoch})

    def _cancelled(self, frame: Frame) -> None:
        turn = self._turns.get(frame["turn"])
        if turn is None or (not turn.own and frame["epoch"] < turn.epoch):
            return
        if turn.state == "accepted":
            self._waiting.remove(turn)
            del self._turns[turn.name]
            self._tell(turn, "withdrawn")
        elif frame["type"] == "cancel" and turn.state == "started" and self._host is not None:
            turn.stop = True
            self._host.loop.call_soon_threadsafe(self._host.interrupt, turn.key)

    async def _show(self, frame: Frame) -> None:
        assert self._host is not None
        ident, receipt = frame["id"], frame.get("receipt")
        known = self._journal.shown.get(ident)
        try:
            if known is None or receipt is not None:
                known = await self._host.show(frame["key"], frame["text"], receipt)
                self._journal.show(ident, known)
        except OSError as error:
            self.link.send("not_posted", id=ident, reason=str(error), later=True)
        except Exception as error:
            self.link.send("not_posted", id=ident, reason=f"{type(error).__name__}: {error}"[:900], later=False)
        else:
            self.link.send("posted", id=ident, receipt=known)

    # Waking, in the gateway's loop

    def _pump(self) -> None:
        if not self._pumping and self._host is not None:
            self._pumping = True
            self._host.loop.call_soon_threadsafe(self._look)

    def _look(self) -> None:
        assert self._host is not None
        with self._lock:
            try:
                for turn in list(self._waiting):
                    if not self._has_turn(turn.key) and not self._host.busy(turn.key):
                        self._begin(turn)
            except Exception:
                log.exception("tieline: work could not be begun")
            if self._waiting:
                # Few things tell that a session is idle again, and whoever waits is one session at most times.
                self._host.loop.call_later(_LOOK_S, self._look)
            else:
                self._pumping = False

    def _has_turn(self, key: str) -> bool:
        return any(turn.key == key and turn.state == "started" for turn in self._turns.values())

    def _begin(self, turn: Turn) -> None:
        """From the look that found the session idle to its wake-up nothing else runs in the loop, so that no person can
        come between."""
        assert self._host is not None
        self._waiting.remove(turn)
        self._journal.put(turn.name, key=turn.key, epoch=turn.epoch)
        if not self._tell(turn, "started"):
            self._turns.pop(turn.name, None)
            self._journal.drop(turn.name)
            return
        turn.state = "started"
        before = _WORK.set(turn)
        try:
            begun = self._host.wake(turn.key, turn.notice, lambda: self._done(turn))
        finally:
            _WORK.reset(before)
        if not begun:
            self._end(turn, outcome="failed", kind="capacity", detail="Hermes could not begin the turn")

    def _done(self, turn: Turn) -> None:
        """Hermes is through with it, whether it told of a turn or not."""
        if turn.state == "started" and not (self._host is not None and self._host.draining):
            self._end(turn, outcome="failed", kind="crash", detail="Hermes has ended it without a turn")

    def _lose(self) -> None:
        """What an earlier process had begun, Hermes goes on with by itself. Where it does not, the turn is lost."""
        host = self._host
        with self._lock:
            left = [turn for turn in self._turns.values() if turn.hermes == "earlier" and turn.state == "started"]
        for turn in left:
            entry = host.entry(turn.key) if host is not None else None
            running = host is not None and turn.key in host.runner._running_agents
            resumed = entry is not None and (entry.resume_pending or running)
            waited = time.monotonic() - turn.since
            if waited > _RESUMED_S or (not resumed and waited > 2):
                self._end(turn, outcome="lost", detail="Hermes was restarted, and does not go on with the turn")

    # Hermes' hooks, in the threads of its agents

    def pre_gateway_dispatch(self, event: Any = None, **_: Any) -> None:
        """A person's `/stop` ends the turn, and not only for something else to be said."""
        if str(getattr(event, "text", "")).strip().split(" ")[0] in ("/stop", "/new", "/reset") and self._host:
            key = self._host.key_of(event.source)
            with self._lock:
                for turn in self._turns.values():
                    if turn.key == key and turn.state == "started":
                        turn.stop = True

    def pre_llm_call(self, turn_id: str = "", task_id: str = "", sender_id: str = "", **_: Any) -> None:
        key = self._key(turn_id, task_id)
        if key is None:
            return
        with self._lock:
            work = _WORK.get()
            if work is None or work.hermes is not None or work.state != "started" or work.key != key:
                earlier = (one for one in self._turns.values() if one.key == key and one.hermes == "earlier")
                work = next((one for one in earlier if one.state == "started"), None)
            if work is None:
                work = Turn(key, f"{self._born}-{next(self._numbers)}", own=True, state="started")
                self._turns[work.name] = work
                self._tell(work, "turn_begun", person=str(sender_id or "") or None)
            work.hermes, work.task = turn_id, task_id

    def post_llm_call(self, turn_id: str = "", assistant_response: str = "", **_: Any) -> None:
        turn = self._by_hermes(turn_id)
        if turn is not None:
            turn.final = assistant_response

    def pre_tool_call(self, tool_name: str = "", turn_id: str = "", task_id: str = "", **more: Any) -> None:
        turn = self._by_hermes(turn_id) or self._by_task(task_id)
        if turn is None or turn.state != "started":
            return
        name = tool_name.removeprefix("mcp_tieline_")
        if name not in ("peer_receive", "peer_sessions") and not turn.tools:
            turn.tools = True
            if not turn.own:
                self._journal.put(turn.name, tools=True)
        self._tell(turn, "tool", id=str(more.get("tool_call_id") or name)[:200], name=name[:200])

    def on_session_end(self, turn_id: str = "", interrupted: bool = False, **_: Any) -> None:
        turn = self._by_hermes(turn_id)
        if turn is None or turn.state != "started":
            return
        if interrupted and self._host is not None and self._host.draining and not turn.own:
            return  # The next process goes on with it.
        if interrupted:
            self._end(turn, outcome="interrupted", stopped=turn.stop, tools=turn.tools)
        elif turn.final is None:
            self._end(turn, outcome="failed", kind="crash", detail="Hermes ended the turn without an answer")
        else:
            self._end(turn, outcome="completed", text=turn.final[:400_000])

    def on_session_reset(self, old_session_id: str = "", **_: Any) -> None:
        key = next((key for key, (_, alias) in self._known.items() if alias == old_session_id), None)
        if key is not None:
            self.link.send("reset", key=key)

    def _end(self, turn: Turn, **how: Any) -> None:
        with self._lock:
            if turn.state != "started":
                return
            turn.state = "over"
            turn.end = turn.told("turn_ended" if turn.own else "finished", **how)
            if not turn.own:
                self._journal.put(turn.name, end=turn.end)
            self.link.send(**turn.end)

    def _key(self, turn_id: str, task_id: str) -> str | None:
        """The session of a main turn; None for a background review or a subagent."""
        from gateway.session_context import get_session_env

        if not turn_id or turn_id.split(":", maxsplit=1)[0] != task_id or self._find() is None:
            return None
        return get_session_env("HERMES_SESSION_KEY") or None

    def _by_hermes(self, turn_id: str) -> Turn | None:
        with self._lock:
            return next((one for one in self._turns.values() if turn_id and one.hermes == turn_id), None)

    def _by_task(self, task_id: str) -> Turn | None:
        with self._lock:
            live = (one for one in self._turns.values() if one.state == "started")
            return next((one for one in live if task_id and one.task == task_id), None)

    # The tools

    def call(self, tool: str, arguments: Frame, task_id: str) -> Frame:
        turn = self._by_task(task_id)
        if turn is None:
            return {
                "error": {"code": "unavailable", "reason": "only a session's own agent, in its turn, has this tool"}
            }
        if tool == "peer_ask":
            arguments = {**arguments, "timeout_s": min(float(arguments.get("timeout_s") or 3), 3)}
        answer = self.link.call(turn.name, tool, arguments)
        if answer is None:
            remedy = (
                "Go on without it. What was sent may have arrived: look with peer_receive before you send it again."
            )
            return {"error": {"code": "unavailable", "reason": "the bridge does not answer", "remedy": remedy}}
        value: Frame = answer["value"]
        return value


def _refused(reason: str, remedy: str) -> Frame:
    return {"error": {"code": "unavailable", "reason": reason, "rule": None, "remedy": remedy}}
