"""A store that fails at one chosen moment, and knows what it has stored."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, cast

from adapters.memory.store import MemoryStore
from bridge.errors import Code, Refused
from bridge.message import Message
from bridge.ports.store import Change, Store
from bridge.post import Post
from bridge.request import Request
from bridge.turn import Turn

SAID = ("database is locked", "database or disk is full", "disk I/O error")
"""How SQLite tells of BUSY, FULL and IOERR."""


@dataclass(slots=True)
class Fault:
    """The call with this number, counted from one, fails, and so do those behind it, `lasts` in all: `before` and
    `after` say of commits whether the change is stored; `read` is of reads. Of kind `moment`, commits go well, and
    `happens` is what happens just before. `met` counts those that were met by it."""

    kind: str
    number: int
    lasts: int = 1
    met: int = 0
    happens: Callable[[], None] = lambda: None

    def strikes(self) -> bool:
        self.number -= 1
        struck = -self.lasts < self.number <= 0
        self.met += struck
        return struck

    def refusal(self) -> Refused:
        what = "read" if self.kind == "read" else "written"
        said = SAID[self.met % len(SAID)]
        return Refused(Code.UNAVAILABLE, f"the database cannot be {what}: {said}")


class FailingStore:
    """The store in memory behind a fault. It keeps the newest version of each entity that it has stored. A `slow` one
    lets the others run before and after each call, as a disk would."""

    def __init__(self, *, slow: bool = False) -> None:
        self._store = MemoryStore()
        self._slow = slow
        self.fault: Fault | None = None
        self.stored: dict[tuple[type, str], Message | Request | Turn | Post] = {}

    async def commit(self, change: Change) -> None:
        fault = self.fault
        struck = fault is not None and fault.kind != "read" and not change.empty and fault.strikes()
        if fault is not None and struck:
            fault.happens()
            if fault.kind == "before":
                raise fault.refusal()
        await self._pause()
        await self._store.commit(change)
        for entity in change.puts:
            if isinstance(entity, Message | Request | Turn | Post):
                self.stored[type(entity), entity.id] = entity
        await self._pause()
        if fault is not None and struck and fault.kind == "after":
            raise fault.refusal()

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        method = getattr(self._store, name)

        async def read(*arguments: object) -> Any:
            if self.fault is not None and self.fault.kind == "read" and self.fault.strikes():
                raise self.fault.refusal()
            await self._pause()
            found = await method(*arguments)
            await self._pause()
            return found

        return read

    async def _pause(self) -> None:
        if self._slow:
            await asyncio.sleep(0)


def as_store(store: FailingStore) -> Store:
    return cast(Store, store)
