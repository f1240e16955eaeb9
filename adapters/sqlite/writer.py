"""The one writer: what callers hand over while a transaction is being synced is the next transaction.

So the sync is the window in which changes gather, and no timer is needed.
"""

import asyncio
import logging
import sqlite3
from collections import deque
from collections.abc import Sequence
from functools import partial

from adapters.sqlite.database import Database
from adapters.sqlite.group import Group
from adapters.sqlite.plan import Plan
from bridge.errors import Code, Refused

_log = logging.getLogger(__name__)

BATCH = 128
"""Where more wait, their callers and the disk work at the same time."""

SLICE = 8
"""How many callers go on before the loop looks after others."""

ROUNDS = 4
"""For how many rounds of the loop a batch waits for those that were just answered."""

_Waiting = tuple[Plan, "asyncio.Future[None]"]
_Batch = Sequence[_Waiting]


class Writer:
    """Must be made where a loop runs; `close` it before its database.

    A batch goes to the database's thread and comes back without a task and without a future of its own: a lone change
    waits for two rounds of the loop less.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[_Waiting] = deque()
        self._idle = asyncio.Event()
        self._idle.set()
        self._closed = False
        self._trouble: str | None = None

    def write(self, plan: Plan) -> "asyncio.Future[None]":
        """Done once the plan is on disk. Raises, or fails with, `Refused(unavailable)`, and fails with what is wrong
        with the plan."""
        if self._closed:
            raise Refused(Code.UNAVAILABLE, "the store is closed")
        done = self._loop.create_future()
        self._waiting.append((plan, done))
        if self._idle.is_set():
            self._idle.clear()
            self._loop.call_soon(self._begin)
        return done

    async def close(self) -> None:
        """Stores what was handed over before, and takes no more."""
        self._closed = True
        await self._idle.wait()

    def _begin(self) -> None:
        if not self._waiting:
            self._idle.set()
            return
        batch = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
        group = Group.of([plan for plan, _ in batch])
        try:
            self._database.post(lambda connection: self._store(connection, group, batch))
        except sqlite3.Error as error:
            self._loop.call_soon(self._answer, batch, error)

    def _store(self, connection: sqlite3.Connection, group: Group, batch: _Batch) -> None:
        """In the thread of the database."""
        outcome: list[Exception | None] | Exception
        try:
            outcome = group.store(connection)
        except Exception as error:  # noqa: BLE001
            outcome = error
        self._loop.call_soon_threadsafe(self._answer, batch, outcome)

    def _answer(self, batch: _Batch, outcome: list[Exception | None] | Exception) -> None:
        if full := len(self._waiting) >= BATCH:
            self._begin()
        wrong = self._judged(outcome, len(batch))
        self._tell(list(zip(batch, wrong, strict=True)), 0, begun=full)

    def _tell(self, every: "Sequence[tuple[_Waiting, Exception | None]]", told: int, *, begun: bool) -> None:
        """A few callers at a time: what comes in meanwhile has to wait for a few of them only."""
        for (_, done), fault in every[told : told + SLICE]:
            if done.done():
                continue  # Its caller was cancelled, and knows that it does not know.
            if fault is None:
                done.set_result(None)
            else:
                done.set_exception(fault)
        told += SLICE
        if told < len(every):
            self._loop.call_soon(partial(self._tell, every, told, begun=begun))
        elif not begun:
            self._loop.call_soon(self._begin_after, len(every), ROUNDS)

    def _begin_after(self, answered: int, rounds: int) -> None:
        """Begins once as many as were answered have handed over what they have next. Those who do not, or whom
        somebody else has to wake first, are not waited for long."""
        if rounds > 1 and len(self._waiting) < answered:
            self._loop.call_soon(self._begin_after, answered, rounds - 1)
        else:
            self._begin()

    def _judged(self, outcome: list[Exception | None] | Exception, size: int) -> Sequence[Exception | None]:
        """What is wrong with each change. What lasts is logged when it begins and when it is over, not at each
        attempt: callers try again and again."""
        if isinstance(outcome, Exception):
            if self._trouble != (trouble := repr(outcome)):
                _log.error("Nothing of a batch of %d changes was stored", size, exc_info=outcome)
                self._trouble = trouble
            return [_unavailable(outcome) for _ in range(size)]
        if self._trouble is not None:
            _log.warning("The database can be written again")
            self._trouble = None
        return outcome


def _unavailable(error: Exception) -> Refused:
    refused = Refused(Code.UNAVAILABLE, f"the database cannot be written: {error}")
    refused.__cause__ = error
    return refused
