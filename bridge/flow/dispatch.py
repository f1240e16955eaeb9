"""Dispatch: a lane for each session, which exists only while there is work (DESIGN §5)."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial

from bridge.flow.beginning import start_turn
from bridge.flow.causes import first_place
from bridge.flow.collecting import run_at_head
from bridge.flow.fallback import turned_back
from bridge.flow.ledger import Ledger
from bridge.flow.recovery import Recovery
from bridge.flow.settlement import closing_of
from bridge.flow.turns import Run, Turns
from bridge.flow.work import Work
from bridge.ids import MessageId, Place, SessionId, TurnId
from bridge.message import Intent, Message
from bridge.quiet import kept_until
from bridge.session import Busy, Session
from bridge.turn import Turn

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Lane:
    task: "asyncio.Task[None] | None" = None
    hinted: bool = False


class Dispatch:
    """Begins turns from when it is opened until it is closed."""

    def __init__(self, ledger: Ledger, turns: Turns, recovery: Recovery, tasks: asyncio.TaskGroup) -> None:
        self._ledger = ledger
        self._turns = turns
        self._recovery = recovery
        self._tasks = tasks
        self._lanes: dict[SessionId, _Lane] = {}
        self._going = False

    def open(self) -> None:
        self._going = True

    def hint(self, session: SessionId) -> None:
        """The session may have work. Between a lane's last look at the store and its end nothing is awaited,
        so a hint either makes it look again or begins a new lane."""
        lane = self._lanes.get(session)
        if lane is not None:
            lane.hinted = True
        elif self._going:
            self._enter(session, self._next)

    async def hand_over(self, work: Work, session: SessionId) -> None:
        """Has the session's lane look at what the change puts into its queue. An idle lane's next turn begins in that
        same change, which saves a commit before its agent is at work."""
        ident = work.over.enter_context(self._reserved(session))
        if ident is None:
            work.then(lambda: work.wake.lane(session))
        else:
            await begin(work, session, ident, self._turns)

    async def close(self, grace_s: float) -> None:
        """Begins no further turn. Those that run have `grace_s` to end; what is left, the next bridge goes on with."""
        self._going = False
        tasks = [lane.task for lane in self._lanes.values() if lane.task is not None]
        if tasks and grace_s > 0:
            await asyncio.wait(tasks, timeout=grace_s)
        self._turns.leave()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @contextmanager
    def _reserved(self, session: SessionId) -> Iterator[TurnId | None]:
        """The lane of an idle session, held for the turn of that id until the end of the change that may begin it.
        Whatever came of the change, the lane goes on with that turn, or with what there is else. None where it is not
        idle, or may not begin."""
        if session in self._lanes or not self._going or not self._turns.may_begin(session):
            yield None
            return
        ident, over, opened = TurnId(self._ledger.ids.new()), asyncio.Event(), ExitStack()
        run = opened.enter_context(self._turns.opening(session))

        async def first(session: SessionId) -> bool:
            with opened:
                await over.wait()
                return await self._one(run, session, ident)

        self._enter(session, first)
        try:
            yield ident
        finally:
            over.set()

    def _enter(self, session: SessionId, first: Callable[[SessionId], Awaitable[bool]]) -> None:
        lane = self._lanes[session] = _Lane()
        lane.task = self._tasks.create_task(self._run(session, lane, first))

    async def _run(self, session: SessionId, lane: _Lane, one: Callable[[SessionId], Awaitable[bool]]) -> None:
        try:
            while self._going:
                lane.hinted = False
                if not await one(session) and not lane.hinted:
                    break
                one = self._next
        except Exception:
            # The lane is a task of its own: its defect must not end the other lanes. The due-time scan
            # begins it again, and a restart recovers the turn.
            log.exception("%s: its lane ended by a defect", session)
        finally:
            del self._lanes[session]

    async def _next(self, session: SessionId) -> bool:
        if not self._turns.may_begin(session):
            return False
        with self._turns.opening(session) as run:
            return await self._one(run, session, TurnId(self._ledger.ids.new()))

    async def _one(self, run: Run, session: SessionId, ident: TurnId) -> bool:
        """Runs one turn to its end; one that was taken over it goes on with, or decides about. False where none may, or
        has to, begin now."""
        found = self._recovery.take_undecided(session)
        if found is not None:
            if found.agent is None:
                await self._turns.decide(run, found.turn)
            else:
                await self._turns.go_on(run, found.turn, found.agent)
            return True
        turn = await self._ledger.surely(lambda work: self._begun(work, session, ident))
        if turn is not None:
            await self._turns.run(run, turn)
        return turn is not None

    async def _begun(self, work: Work, session: SessionId, ident: TurnId) -> Turn | None:
        """The turn of that id: one that was stored already, unless it is over, or else a new one."""
        stored = await work.turn(ident)
        if stored is not None:
            return stored if stored.live else None
        return await begin(work, session, ident, self._turns)


async def begin(work: Work, session_id: SessionId, ident: TurnId, turns: Turns) -> Turn | None:
    """Leases the next input of a session, or what it collects, to a new turn. None where it may not, or has nothing
    to, run now."""
    session = await work.session(session_id)
    if session is None or not session.runs or session.closed_at is not None or session.paused is not None:
        return None
    if not turns.present(session) or await work.store.live_turn(session_id) is not None:
        return None
    ready = await _ready(work, session)
    if not ready or ready[0].waits(work.now):
        # What has to wait at the head rests the lane: nothing overtakes it but a person's word, which sorts first.
        return None
    message = ready[0]
    collects = session.habits.busy is Busy.COLLECT and not turns.embeds(session)
    inputs = await run_at_head(work, ready) if collects else [message]
    acts_for, place = await _bearing(work, message)
    if len(inputs) > 1 and message.intent is not Intent.INPUT:
        acts_for = None  # Of several requests its final text answers none.
    turn = Turn(
        id=ident,
        session=session_id,
        inputs=tuple(one.id for one in inputs),
        acts_for=acts_for,
        conversation=message.conversation,
        started_at=work.now,
        node=work.means.node,
        leased_until=work.now + work.limits.lease_s,
        place=place or await first_place(work, session_id),
    )
    await start_turn(work, await turned_back(work, session, turn), turn, inputs)
    return turn


async def _ready(work: Work, session: Session) -> list[Message]:
    """What may come to a turn, in its order. What the quiet hours keep is put off until they are over, and holds up
    nothing behind it."""
    ready = []
    paused = (await work.regime()).paused
    for message in await work.queue(session.id):
        if not _runs(message, session, work.now, paused):
            continue
        until = kept_until(session, message, work.now)
        if until is None:
            ready.append(message)
        elif message.due_at < until:
            work.put(replace(message, due_at=until))
            work.then(partial(work.wake.at, until))
    return ready


def _runs(message: Message, session: Session, now: float, paused: bool) -> bool:
    """A person's stop, of the session or of all traffic between agents, lets through what people say."""
    return message.wake and now < message.expires_at and (message.from_person or not (session.rested or paused))


async def _bearing(work: Work, message: Message) -> tuple[MessageId | None, Place | None]:
    """What a turn over this input acts for, and where it is shown. The closing of a request acts for the
    input on whose behalf that request was made, at the place where it was made."""
    request = await closing_of(work, message)
    if request is not None:
        return request.parent, request.place
    return message.id, message.place if message.intent is Intent.INPUT else None
