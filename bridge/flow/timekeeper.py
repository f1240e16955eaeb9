"""The timekeeper: expires what has outlived its life, and backs up every wake-up by the due times in the store."""

import asyncio

from bridge.flow.approvals import expire
from bridge.flow.ledger import Ledger
from bridge.flow.mailbox import LAPSED
from bridge.flow.proposals import Proposals
from bridge.flow.recovery import Recovery
from bridge.flow.settlement import close, settle
from bridge.flow.work import Work
from bridge.message import Outcome, State
from bridge.request import Answer
from bridge.trace import StepKind

_BATCH = 100


class Timekeeper:
    """One task for all sessions, asleep until the next due time and for half a lease at most: what others lease
    is known only by looking."""

    def __init__(self, ledger: Ledger, recovery: Recovery, proposals: Proposals) -> None:
        self._ledger = ledger
        self._proposals = proposals
        self._recovery = recovery
        self._next = float("inf")
        self._earlier = asyncio.Event()

    def at(self, time: float) -> None:
        # After the machine has slept, the sleep until the next due time may end far too late.
        if time < self._next or time <= self._ledger.clock.now():
            self._next = time
            self._earlier.set()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as reclaiming:
            while True:
                self._earlier.clear()
                self._next = await self._ledger.surely(self._scan)
                for turn in await self._ledger.surely(lambda work: work.store.lapsed_turns(work.now)):
                    reclaiming.create_task(self._recovery.reclaim(turn))
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
            elif message.state is State.HELD:
                await expire(work, message)
            else:
                await settle(work, message, Outcome.EXPIRED)
        lapsed = await work.store.lapsed_leases(work.now, _BATCH)
        for message in lapsed:
            again = message.to_queued(reason=LAPSED)
            if work.now >= message.expires_at:
                await settle(work, again, Outcome.EXPIRED, reason=LAPSED)
            else:
                work.put(again)
                work.step(StepKind.TURN, again, requeued=True, reason=LAPSED)
                work.then(lambda session=again.recipient: work.wake.lane(session))  # type: ignore[misc]
        overdue = await work.store.overdue_requests(work.now, _BATCH)
        for request in overdue:
            newest = await work.request(request.id)
            if newest is not None and newest.open:
                await close(work, newest, Answer.EXPIRED)
        undecided = await work.store.ended_approvals(work.now, _BATCH)
        for approval in undecided:
            await self._proposals.expire(work, approval)
        for session in await work.store.due_sessions(work.now):
            work.then(lambda session=session: work.wake.lane(session))  # type: ignore[misc]
        work.then(work.wake.outbox)
        if _BATCH in (len(ended), len(lapsed), len(overdue), len(undecided)):
            return work.now
        due = await work.store.next_due(work.now)
        return min(due if due is not None else float("inf"), work.now + work.limits.lease_s / 2)
