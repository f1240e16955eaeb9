"""Units of work over the store: read, plan with plain code, commit as a whole, then wake whom it concerns."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar
from weakref import WeakValueDictionary

from tenacity import AsyncRetrying, retry_if_exception

from bridge.backoff import FullJitter
from bridge.caller import Caller
from bridge.errors import Code, Conflict, Refused
from bridge.flow.means import Means
from bridge.flow.work import Work
from bridge.ids import SessionId
from bridge.session import Session
from bridge.turn import Turn

T = TypeVar("T")

_SHOWN = frozenset({Session, Turn})
"""What lists of sessions tell of."""


@dataclass(eq=False)
class Ledger(Means):
    """Commits pieces of work, each as a whole and on what it was planned on, or not at all."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._retrying = AsyncRetrying(
            retry=retry_if_exception(_unavailable),
            wait=FullJitter(self.randomness, cap_s=5),
            sleep=self.clock.sleep,
        )
        self._acting: WeakValueDictionary[SessionId, asyncio.Lock] = WeakValueDictionary()

    async def surely(self, body: Callable[[Work], Awaitable[T]]) -> T:
        """Like `do`, for what must be stored whatever it takes: goes on while the store is unavailable."""
        try:
            return await self.do(body)
        except Refused as refused:
            if refused.code is not Code.UNAVAILABLE:
                raise
        return await self._retrying(self.do, body)

    async def do_as(self, caller: Caller, body: Callable[[Work], Awaitable[T]]) -> T:
        """Like `do`, one after the other for one session: of many calls at once all but one would conflict each time.

        Raises `stale_epoch` where the turn that calls is over, or another node has taken it over.
        """

        async def fenced(work: Work) -> T:
            if caller.turn is not None:
                turn = await work.held(caller.turn, caller.epoch)
                if turn is None:
                    raise Refused(Code.STALE_EPOCH, "the turn that calls is over")
                # Put even where nothing changes, so that its end is planned on all that was done in it.
                work.put(turn)
            return await body(work)

        async with self._acting.setdefault(caller.session, asyncio.Lock()):
            return await self.do(fenced)

    async def do(self, body: Callable[[Work], Awaitable[T]]) -> T:
        """Runs `body` until its change is committed on the state that it was planned on. Nothing is committed where it
        changes nothing.

        `body` must be free of effects but on its `Work`. What it raises ends it, and stores nothing.
        """
        while True:
            work = Work(self)
            with work.over:
                result = await body(work)
                change = work.change()
                if not change.empty:
                    try:
                        await self.store.commit(change)
                    except Conflict:
                        self.forget_regime()
                        continue
                for wake in work.wakes:
                    wake()
                if any(type(put) in _SHOWN for put in change.puts):
                    self.wake.sessions()
                return result


def _unavailable(error: BaseException) -> bool:
    return isinstance(error, Refused) and error.code is Code.UNAVAILABLE
