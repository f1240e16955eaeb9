"""The one writer: what callers hand over while a transaction is being synced is the next transaction.

So the sync is the window in which changes gather, and no timer is needed.
"""

import asyncio
import logging
from collections import deque
from functools import partial

from adapters.sqlite.database import Database
from adapters.sqlite.plan import Plan, store_plans
from bridge.errors import Code, Refused

_log = logging.getLogger(__name__)

BATCH = 256


class Writer:
    """Must be made where a loop runs; `close` it before its database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: deque[tuple[Plan, asyncio.Future[None]]] = deque()
        self._something = asyncio.Event()
        self._closed = False
        self._trouble: str | None = None
        self._task = asyncio.create_task(self._run(), name="sqlite-writer")

    async def write(self, plan: Plan) -> None:
        """Returns once the plan is on disk. Raises what is wrong with it, or `Refused(unavailable)`."""
        if self._closed:
            raise Refused(Code.UNAVAILABLE, "the store is closed")
        done = asyncio.get_running_loop().create_future()
        self._waiting.append((plan, done))
        self._something.set()
        await done

    async def close(self) -> None:
        """Stores what was handed over before, and takes no more."""
        self._closed = True
        self._something.set()
        await self._task

    async def _run(self) -> None:
        while self._waiting or not self._closed:
            await self._something.wait()
            self._something.clear()
            while self._waiting:
                batch = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
                await self._store(batch)
                # Whoever was answered may have more at once: it joins those that wait, and misses nothing by a hair.
                await asyncio.sleep(0)

    async def _store(self, batch: list[tuple[Plan, asyncio.Future[None]]]) -> None:
        try:
            wrong = await self._database.run(partial(store_plans, plans=[plan for plan, _ in batch]))
        except Exception as error:  # noqa: BLE001
            if self._trouble != (trouble := repr(error)):
                # Once, not at each attempt: what is wrong with a disk lasts, and callers try again and again.
                _log.exception("Nothing of a batch of %d changes was stored", len(batch))
                self._trouble = trouble
            wrong = [_unavailable(error) for _ in batch]
        else:
            if self._trouble is not None:
                _log.warning("The database can be written again")
                self._trouble = None
        for (_, done), fault in zip(batch, wrong, strict=True):
            if done.done():
                continue  # Its caller was cancelled, and knows that it does not know.
            if fault is None:
                done.set_result(None)
            else:
                done.set_exception(fault)


def _unavailable(error: Exception) -> Refused:
    refused = Refused(Code.UNAVAILABLE, f"the database cannot be written: {error}")
    refused.__cause__ = error
    return refused
