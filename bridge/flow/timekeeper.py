"""The timekeeper: expires what has outlived its life, and backs up every wake-up by the due times in the store."""

import asyncio

from bridge.flow.ledger import Ledger, Work
from bridge.flow.settlement import close, settle
from bridge.message import Outcome, State
from bridge.request import Answer

_SCAN_S = 30.0
_BATCH = 100


class Timekeeper:
    """One task for all sessions, asleep until the next due time and for 30 s at most."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._next = float("inf")
        self._earlier = asyncio.Event()

    def at(self, time: float) -> None:
        if time < self._next:
            self._next = time
            self._earlier.set()

    async def run(self) -> None:
        while True:
            self._earlier.clear()
            self._next = await self._ledger.surely(self._scan)
            wait = max(0.0, self._next - self._ledger.clock.now())
            await self._sleep(wait)

    async def _sleep(self, seconds: float) -> None:
        async with asyncio.TaskGroup() as group:
            sleeping = group.create_task(self._ledger.clock.sleep(seconds))
            earlier = group.create_task(self._earlier.wait())
            await asyncio.wait([sleeping, earlier], return_when=asyncio.FIRST_COMPLETED)
            sleeping.cancel()
            earlier.cancel()

    async def _scan(self, work: Work) -> float:
        """Does what is due, and returns when to look again."""
        ended = await work.store.ended_lives(work.now, _BATCH)
        for message in ended:
            if message.state is State.PARKED:
                await settle(work, message, Outcome.FAILED, reason=f"{message.reason}; nobody decided in time")
            else:
                await settle(work, message, Outcome.EXPIRED)
        forgotten = await work.store.forgotten(work.now, work.now - work.limits.lease_s, _BATCH)
        for message in forgotten:
            # The lease of whoever took it has lapsed long ago, and so its life may end.
            lapsed = message.to_queued(due_at=work.now)
            await settle(work, lapsed, Outcome.EXPIRED, reason="it was taken and never acknowledged")
        overdue = await work.store.overdue_requests(work.now, _BATCH)
        for request in overdue:
            newest = await work.request(request.id)
            if newest is not None and newest.open:
                await close(work, newest, Answer.EXPIRED)
        for session in await work.store.due_sessions(work.now):
            work.then(lambda session=session: work.wake.lane(session))  # type: ignore[misc]
        work.then(work.wake.outbox)
        if _BATCH in (len(ended), len(forgotten), len(overdue)):
            return work.now
        due = await work.store.next_due(work.now)
        return min(due if due is not None else float("inf"), work.now + _SCAN_S)
