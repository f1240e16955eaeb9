"""A store that can be out of reach for a while, and one whose commits can be held up."""

import asyncio
from collections.abc import Callable

from adapters.memory.store import MemoryStore
from bridge.errors import Code, Refused
from bridge.ids import MessageId, SessionId
from bridge.message import Message
from bridge.ports.store import Change
from bridge.session import Session


class FragileStore(MemoryStore):
    """While `down`, nothing can be written, nor a session or a message be read. With a `gate`, a commit returns only
    once it opens, though it is stored at once. Of a change that `forgets` says yes to, an error is told once it is
    stored."""

    def __init__(self) -> None:
        super().__init__()
        self.down = False
        self.refused = 0
        self.gate: asyncio.Event | None = None
        self.forgets: Callable[[Change], bool] = lambda change: False

    async def commit(self, change: Change) -> None:
        self._reachable()
        await super().commit(change)
        if self.gate is not None:
            await self.gate.wait()
        if self.forgets(change):
            raise Refused(Code.UNAVAILABLE, "nobody knows whether it was stored")

    async def remove(self, before: float, keys_before: float, limit: int) -> tuple[int, bool]:
        self._reachable()
        return await super().remove(before, keys_before, limit)

    async def message(self, message: MessageId) -> Message | None:
        self._reachable()
        return await super().message(message)

    async def session(self, session: SessionId) -> Session | None:
        self._reachable()
        return await super().session(session)

    def _reachable(self) -> None:
        if self.down:
            self.refused += 1
            raise Refused(Code.UNAVAILABLE, "the store is out of reach")
