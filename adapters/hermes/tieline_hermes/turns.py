"""The turns of Hermes' sessions that the bridge knows of, or is to know of."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .journal import Journal
from .link import Frame

_ENDED_KEPT = 100
"""So many turns of people that are over are told of once there is a bridge again."""


@dataclass(eq=False)
class Turn:
    """`name` is the bridge's, or Hermes' own where it is `own`. `task` and `hermes` are Hermes' ids of its task and of
    itself, once these are known; it is `left` where an earlier process had begun it. `state` is accepted, started or
    over."""

    key: str
    name: str
    epoch: int = 0
    notice: str = ""
    own: bool = False
    state: str = "accepted"
    left: bool = False
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


class Turns:
    """`lock` guards them: hooks come in the threads of Hermes' agents, frames in the link's, and a wake-up happens in
    the gateway's loop."""

    def __init__(self, journal: Journal) -> None:
        self.lock = threading.RLock()
        self._journal = journal
        self._turns: dict[str, Turn] = {}
        for name, kept in journal.turns.items():
            state = "over" if kept.get("end") else "started"
            turn = Turn(kept["key"], name, kept["epoch"], state=state, left=True)
            turn.tools, turn.end = bool(kept.get("tools")), kept.get("end")
            self._turns[name] = turn

    def get(self, name: str) -> Turn | None:
        return self._turns.get(name)

    def add(self, turn: Turn) -> None:
        self._turns[turn.name] = turn
        ended = [one.name for one in self._turns.values() if one.own and one.state == "over"]
        for name in ended[:-_ENDED_KEPT]:
            del self._turns[name]

    def remove(self, name: str) -> None:
        self._turns.pop(name, None)
        self._journal.drop(name)

    def begin(self, turn: Turn) -> None:
        """From here on it outlives this process."""
        self._journal.put(turn.name, key=turn.key, epoch=turn.epoch)

    def used_tools(self, turn: Turn) -> None:
        if not turn.tools:
            turn.tools = True
            if not turn.own:
                self._journal.put(turn.name, tools=True)

    def over(self, turn: Turn, end: Frame) -> None:
        turn.state, turn.end = "over", end
        if not turn.own:
            self._journal.put(turn.name, end=end)

    def running(self, held: Callable[[Turn], object] = lambda turn: True) -> Turn | None:
        """The first that runs of those for which that holds."""
        with self.lock:
            return next((turn for turn in self._turns.values() if turn.state == "started" and held(turn)), None)

    def left(self) -> list[Turn]:
        """What an earlier process had begun, and Hermes has not gone on with."""
        with self.lock:
            return [one for one in self._turns.values() if one.left and one.hermes is None and one.state == "started"]

    def of_people(self) -> Iterator[Turn]:
        yield from [turn for turn in self._turns.values() if turn.own]
