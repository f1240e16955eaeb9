"""What goes on between the bridge and Hermes' sessions: work that waits for its session, and what is told of turns.

A turn is the bridge's work, begun by `started`, or its people's own, told by `turn_begun` (deploy/gateway-link.md).
"""

import asyncio
import logging
import time
from pathlib import Path
from typing import Any

from .hooks import WORK, Hooks
from .host import Host, Unsuitable, title_of
from .journal import Journal
from .link import Frame, Link
from .turns import Turn, Turns

log = logging.getLogger(__name__)

_LOOK_S = 0.05
_SNAPSHOT_S = 0.5
_RESUMED_S = 120.0
_UNRESUMED_S = 2.0
_CONTEXTS_KEPT = 1_000


class Desk:
    """`software` is what the gateway calls itself, and `advice` what would be better for it."""

    def __init__(self, home: Path, socket: Path, software: str, advice: tuple[str, ...] = ()) -> None:
        self._journal = Journal(home / "tieline" / "turns.json")
        self._token_file = home / "tieline" / "token"
        self.turns = Turns(self._journal)
        self.host: Host | None = None
        self._unfit: str | None = None
        self._known: dict[str, tuple[str, str]] = {}
        self._contexts: dict[str, str] = {}
        self._waiting: list[Turn] = []
        self._looking = False
        self._snapshot_at = 0.0
        self._showing: dict[str, asyncio.Task[str]] = {}
        self.hooks = Hooks(self, f"{time.time_ns():x}")
        self.link = Link(
            socket,
            self._token,
            lambda: {"software": software, "advice": advice, "unfit": self._unfit},
            opened=self._opened,
            heard=self._heard,
            ended=self._ended,
            idle=self._idle,
        )

    def unfit(self, why: str) -> None:
        """The plugin cannot work with this Hermes: it says so to the bridge, and does no more."""
        log.error("tieline: %s: it stays off", why)
        self._unfit = why

    def find(self) -> Host | None:
        if self.host is None and self._unfit is None:
            try:
                self.host = Host.found()
            except Unsuitable as wrong:
                self.unfit(f"this Hermes is not one that the plugin knows: {wrong}")
        return self.host

    def _token(self) -> str | None:
        """None while the gateway does not take messages, or is not paired."""
        if self.find() is None and (self._unfit is None or not Host.is_here()):
            return None
        try:
            return self._token_file.read_text().strip() or None
        except OSError:
            return None

    # What is told to the bridge

    def tell(self, turn: Turn, kind: str, **fields: Any) -> bool:
        return self.link.send(**turn.told(kind, **fields))

    def answered(self, turn: Turn, final: str | None) -> None:
        if final is None:
            self.end(turn, outcome="failed", kind="crash", detail="Hermes ended the turn without an answer")
        else:
            self.end(turn, outcome="completed", text=final)

    def end(self, turn: Turn, **how: Any) -> None:
        with self.turns.lock:
            if turn.state == "started":
                end = turn.told("turn_ended" if turn.own else "finished", **how)
                self.turns.over(turn, end)
                self.link.send(**end)

    def reset(self, context: str) -> None:
        key = self._contexts.get(context)
        if key is not None:
            self.link.send("reset", key=key)

    def _opened(self) -> None:
        self._known.clear()
        self._register()
        with self.turns.lock:
            for turn in self.turns.of_people():
                self.tell(turn, "turn_begun")
                if turn.end is not None:
                    self.link.send(**turn.end)
        self.link.send("ready")

    def _ended(self) -> None:
        """What has not begun is dropped with the link: the bridge gives it back."""
        with self.turns.lock:
            for turn in self._waiting:
                self.turns.remove(turn.name)
            self._waiting.clear()

    def _idle(self) -> None:
        now = time.monotonic()
        if now - self._snapshot_at >= _SNAPSHOT_S and self.find() is not None:
            self._snapshot_at = now
            self._register()
            self._lose()

    def _register(self) -> None:
        """Hermes tells of no new session or name: what it has is compared with what it had."""
        if self.host is None:
            return
        for entry in self.host.entries():
            key, now = entry.session_key, (title_of(entry), str(entry.session_id))
            if self._known.get(key) == now:
                continue
            # Hermes tells of a fresh context by the id of the old one, and after that is out of its entries.
            self._contexts[now[1]] = key
            while len(self._contexts) > _CONTEXTS_KEPT:
                del self._contexts[next(iter(self._contexts))]
            if self.link.send("session", key=key, title=now[0], alias=now[1]):
                self._known[key] = now

    def _lose(self) -> None:
        """What an earlier process had begun, Hermes goes on with by itself. Where it does not, the turn is lost."""
        for turn in self.turns.left():
            entry = self.host.entry(turn.key) if self.host is not None else None
            running = self.host is not None and turn.key in self.host.runner._running_agents
            resumed = entry is not None and (entry.resume_pending or running)
            waited = time.monotonic() - turn.since
            if waited > _RESUMED_S or (not resumed and waited > _UNRESUMED_S):
                self.end(turn, outcome="lost", detail="Hermes was restarted, and does not go on with the turn")

    # What the bridge tells

    def _heard(self, frame: Frame) -> None:
        with self.turns.lock:
            match frame["type"]:
                case "work":
                    self._work(frame)
                case "claim":
                    self._claimed(frame)
                case "withdraw" | "cancel":
                    self._cancelled(frame)
                case "ack":
                    self.turns.remove(frame["turn"])
                case "unregistered":
                    log.warning("tieline: the bridge does not take %s: %s", frame["key"], frame.get("reason"))
                case "post" if self.host is not None:
                    asyncio.run_coroutine_threadsafe(self._show(frame), self.host.loop)

    def _work(self, frame: Frame) -> None:
        known = self.turns.get(frame["turn"])
        if known is not None:
            self._tell_again(known, frame["epoch"])
            return
        turn = Turn(frame["key"], frame["turn"], frame["epoch"], frame["notice"])
        self.turns.add(turn)
        self._waiting.append(turn)
        self.tell(turn, "accepted")
        if not self._looking and self.host is not None:
            self._looking = True
            self.host.loop.call_soon_threadsafe(self._look)

    def _claimed(self, frame: Frame) -> None:
        turn = self.turns.get(frame["turn"])
        if turn is None or turn.own:
            self.link.send("unknown", turn=frame["turn"], epoch=frame["epoch"])
        else:
            self._tell_again(turn, frame["epoch"])

    def _tell_again(self, turn: Turn, epoch: int) -> None:
        """How it stands, under this epoch from now on, where that is not an older one."""
        if epoch < turn.epoch:
            return
        turn.epoch = epoch
        if turn.state == "accepted":
            self.tell(turn, "accepted")
            return
        self.tell(turn, "started", tools=turn.tools)
        if turn.end is not None:
            self.link.send(**{**turn.end, "epoch": epoch})

    def _cancelled(self, frame: Frame) -> None:
        turn = self.turns.get(frame["turn"])
        if turn is None or (not turn.own and frame["epoch"] < turn.epoch):
            return
        if turn.state == "accepted":
            self._waiting.remove(turn)
            self.turns.remove(turn.name)
            self.tell(turn, "withdrawn")
        elif frame["type"] == "cancel" and turn.state == "started" and self.host is not None:
            turn.stop = True
            self.host.loop.call_soon_threadsafe(self.host.interrupt, turn.key)

    # In the gateway's loop

    async def _show(self, frame: Frame) -> None:
        """What is new once, however often it is told: also while it is being shown."""
        assert self.host is not None
        ident, receipt = frame["id"], frame.get("receipt")
        known = self._journal.shown.get(ident)
        try:
            if receipt is not None:
                known = await self.host.show(frame["key"], frame["text"], receipt)
            elif known is None:
                showing = self._showing.get(ident)
                if showing is None:
                    showing = asyncio.ensure_future(self.host.show(frame["key"], frame["text"], None))
                    self._showing[ident] = showing
                    showing.add_done_callback(lambda _: self._showing.pop(ident))
                known = await showing
                self._journal.show(ident, known)
        except OSError as error:
            self.link.send("not_posted", id=ident, reason=str(error), later=True)
        except Exception as error:
            self.link.send("not_posted", id=ident, reason=f"{type(error).__name__}: {error}"[:900], later=False)
        else:
            self.link.send("posted", id=ident, receipt=known)

    def _look(self) -> None:
        assert self.host is not None
        with self.turns.lock:
            try:
                for turn in list(self._waiting):
                    runs = self.turns.running(lambda one, key=turn.key: one.key == key)  # type: ignore[misc]
                    if runs is None and not self.host.busy(turn.key):
                        self._begin(turn)
            except Exception:
                log.exception("tieline: work could not be begun")
            self._looking = bool(self._waiting)
        if self._looking:
            # Few things tell that a session is idle again, and whoever waits is one session at most times.
            self.host.loop.call_later(_LOOK_S, self._look)

    def _begin(self, turn: Turn) -> None:
        """From the look that found the session idle to its wake-up nothing else runs in the loop, so that no person can
        come between."""
        assert self.host is not None
        self._waiting.remove(turn)
        self.turns.begin(turn)
        if not self.tell(turn, "started"):
            self.turns.remove(turn.name)
            return
        turn.state = "started"
        before = WORK.set(turn)
        try:
            begun = self.host.wake(turn.key, turn.notice, lambda: self._done(turn))
        finally:
            WORK.reset(before)
        if not begun:
            self.end(turn, outcome="failed", kind="capacity", detail="Hermes could not begin the turn")

    def _done(self, turn: Turn) -> None:
        """Hermes is through with it, whether it told of a turn or not."""
        if turn.state == "started" and not (self.host is not None and self.host.draining):
            self.end(turn, outcome="failed", kind="crash", detail="Hermes has ended it without a turn")
