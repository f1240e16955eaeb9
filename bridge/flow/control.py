"""What people do to a session: stop, resume, begin anew, and decide about parked work (DESIGN §5, Stop)."""

import asyncio
import logging
from dataclasses import replace
from functools import partial

from bridge.audit import ActKind
from bridge.caller import Caller
from bridge.errors import Code, Refused
from bridge.flow.agents import Agents
from bridge.flow.current import Current
from bridge.flow.fallback import rested
from bridge.flow.ledger import Ledger
from bridge.flow.recovery import Recovery
from bridge.flow.settlement import close, decided, settle, show_status
from bridge.flow.showing import revise
from bridge.flow.turns import Turns
from bridge.flow.work import Work
from bridge.ids import ConversationId, MessageId, SessionId, TurnId
from bridge.lineage import caps_of
from bridge.message import Intent, Message, Origin, Outcome, State
from bridge.quiet import kept_until
from bridge.request import Answer

log = logging.getLogger(__name__)


class Control:
    def __init__(
        self,
        ledger: Ledger,
        turns: Turns,
        recovery: Recovery,
        agents: Agents,
        current: Current,
        tasks: asyncio.TaskGroup,
    ) -> None:
        self._current = current
        self._tasks = tasks
        self._ledger = ledger
        self._turns = turns
        self._recovery = recovery
        self._agents = agents

    async def stop(self, session: SessionId, *, everything: bool = False) -> tuple[bool, int]:
        """Ends the running turn, and rests the session for peers. With `everything`, what is queued is cancelled
        too; answers and notices stay, without wake. Returns whether a turn ran, and how many were cancelled."""

        async def body(work: Work) -> int:
            resting = await work.session(session)
            if resting is not None and not resting.rested:
                work.put(replace(resting, rested=True))
            return await _cancel_queued(work, session, "stopped by a person") if everything else 0

        cancelled = await self._ledger.do(body)
        return await self.halt(session), cancelled

    async def clear(self, session: SessionId) -> int:
        """Cancels what is queued, and lets the running turn go on; answers and notices stay, without wake. Returns how
        many were cancelled."""
        return await self._ledger.do(lambda work: _cancel_queued(work, session, "cleared by a person"))

    async def stop_turn(self, which: str) -> str:
        """Ends that turn, and no other: what is queued goes on. Returns what to tell the person who stopped it."""
        ident = TurnId(which)
        turn = await self._ledger.store.turn(ident)
        if turn is None or not turn.live:
            return _OVER
        stopped = await self._turns.stop(turn.session, only=ident)
        return "Stopped." if await self._recovery.stop(turn.session, only=ident) or stopped else _OVER

    async def halt(self, session: SessionId) -> bool:
        """Ends the running turn, whichever bridge runs it, and where another takes it over meanwhile."""
        stopped = await self._turns.stop(session)
        return await self._recovery.stop(session) or stopped

    async def resume(self, session: SessionId) -> bool:
        """As the function of this name does."""
        return await self._ledger.do(lambda work: resume(work, session))

    async def renew(self, session: SessionId) -> int:
        """Gives the session a fresh context, and the settings of now. Requests that were read before it close as
        `failed`; returns how many did."""

        async def body(work: Work) -> int:
            known = await work.session(session)
            if known is not None:
                caps = caps_of(work.limits) if known.parent is None else None
                fresh = replace(known, alias=None, rested=False, paused=None, answering=None, standbys=(), caps=caps)
                work.put(self._current.applied(fresh))
            failed = 0
            for request in await work.store.open_requests_to(session):
                message = await work.message(request.id)
                if message is not None and message.read_at is not None and message.state is not State.QUEUED:
                    if message.state is State.PARKED:
                        await settle(work, message, Outcome.FAILED, reason="the session's context was reset")
                    else:
                        await close(work, request, Answer.FAILED, reason="the session's context was reset")
                    failed += 1
            return failed

        with self._turns.held(session):
            await self.halt(session)
            await self._agents.retire(session)
            failed = await self._ledger.surely(body)
        self._ledger.wake.lane(session)
        return failed

    def begin_to_renew(self, session: SessionId) -> None:
        """The same, for whoever waits for no end of it."""

        async def renewing() -> None:
            try:
                await self.renew(session)
            except Exception:
                # A task of its own: its defect must not end the others.
                log.exception("%s: it could not be given a fresh context", session)

        self._tasks.create_task(renewing())

    async def retry(self, which: str) -> str:
        """A person wants a parked input to be run again: as it was parked then, and not a later time. `which` is its id
        and its epoch. Returns what to tell that person."""

        async def body(work: Work) -> str:
            message = await _parked(work, which)
            if message is None:
                return _DECIDED
            expires_at = work.now + work.limits.message_life_s
            work.put(replace(message.to_queued(), expires_at=expires_at, attempts=0, unread=0))
            await show_status(work, message, "queued again by a person")
            await decided(work, message, "run again")
            session = await work.session(message.recipient)
            if session is not None and session.rested:
                # It is a person's word, like the next message.
                work.put(replace(session, rested=False))
            work.then(lambda: work.wake.lane(message.recipient))
            if session is not None and session.paused is not None:
                return "It is run again after /resume: the session is paused."
            if session is not None and kept_until(session, message, work.now) is not None:
                return "It is run again when the quiet hours of the session are over."
            return "It is run again."

        return await self._ledger.do(body)

    async def discard(self, which: str) -> str:
        """A person gives a parked input up, as `retry` names it. Returns what to tell that person."""

        async def body(work: Work) -> str:
            message = await _parked(work, which)
            if message is None:
                return _DECIDED
            await settle(work, message, Outcome.CANCELLED, reason="discarded by a person")
            return "It is discarded."

        return await self._ledger.do(body)

    async def extend(self, by: Caller, which: str) -> str:
        """A person lets a conversation go on, once for each time that it has come to its budget. `which` is its id and
        that budget. Returns what to tell that person."""

        async def body(work: Work) -> str:
            ident, _, budget = which.partition(":")
            conversation = await work.conversation(ConversationId(ident))
            if conversation is None:
                raise Refused(Code.UNKNOWN_MESSAGE, "that conversation is not known")
            if f"{conversation.budget}" != budget:
                return _DECIDED
            more = work.limits.conversation_messages
            key = f"limit:{conversation.id}:{conversation.budget}"
            work.put(replace(conversation, budget=conversation.budget + more, told=False))
            work.act(ActKind.EXTENDED, by, conversation.id, budget=conversation.budget + more)
            await revise(work, key, f"This conversation may have {more} more messages.")
            return f"{more} more messages."

        return await self._ledger.do(body)


async def _cancel_queued(work: Work, session: SessionId, reason: str) -> int:
    cancelled = 0
    for message in await work.queue(session):
        if message.intent is Intent.REPLY or message.origin is Origin.SYSTEM:
            work.put(replace(message, wake=False))
        else:
            await settle(work, message, Outcome.CANCELLED, reason=reason)
            cancelled += 1
    return cancelled


_OVER = "This turn is over."
_DECIDED = "This has been decided already."


async def _parked(work: Work, which: str) -> Message | None:
    """The message, if it is parked since that epoch. What was decided once may be parked again, and its button pressed
    again, by a person or by whoever was not told that it was stored: that decides nothing about the other time."""
    ident, _, epoch = which.partition(":")
    message = await work.message(MessageId(ident))
    if message is None or message.state is not State.PARKED or f"{message.epoch}" != epoch:
        return None
    return message


async def resume(work: Work, session: SessionId) -> bool:
    """Lets a stopped or paused session take work again, and at once what waits to be tried again. False where nothing
    of this held it back."""
    resting = await work.session(session)
    if resting is None:
        return False
    held_back = await hasten(work, session) or resting.rested or resting.paused is not None
    going_on = rested(replace(resting, rested=False, paused=None))
    if going_on != resting:
        work.put(going_on)
    work.then(lambda: work.wake.lane(session))
    return held_back


async def holds_back(work: Work, session: SessionId) -> str | None:
    """What `resume` would lift, in words; None where it would change nothing."""
    known = await work.session(session)
    if known is None:
        return None
    if known.paused is not None:
        return f"paused: {known.paused}"
    if known.rested:
        return "stopped"
    return "waiting to try again what failed" if await _to_try_again(work, session) else None


async def hasten(work: Work, session: SessionId) -> bool:
    """Makes due now what a session has to try again later. Returns whether there was any. Quiet hours last on, and no
    longer is what they keep put off."""
    waiting = await _to_try_again(work, session)
    for message in waiting:
        work.put(replace(message, due_at=message.queued_at))
    known = await work.session(session)
    for message in await work.queue(session):
        until = kept_until(known, message, work.now) if known is not None else None
        if until is not None and until < message.due_at:
            work.put(replace(message, due_at=until))
            work.then(partial(work.wake.at, until))
    return bool(waiting)


async def _to_try_again(work: Work, session: SessionId) -> list[Message]:
    known = await work.session(session)
    return [
        message
        for message in await work.queue(session)
        if message.waits(work.now) and (known is None or kept_until(known, message, work.now) is None)
    ]
