"""Mailboxes: reading, acknowledging and listing what a session was sent (DESIGN §5)."""

import asyncio
from collections.abc import Collection
from dataclasses import replace

from bridge import phrases
from bridge.caller import Caller
from bridge.errors import Code, Refused
from bridge.flow.causes import mark_begun, unknown_message
from bridge.flow.hints import Hints
from bridge.flow.ledger import Ledger
from bridge.flow.settlement import closing_of, settle
from bridge.flow.steering import Steering
from bridge.flow.unheard import Unheard
from bridge.flow.work import Work
from bridge.ids import MessageId, SessionId, TurnId, receiver
from bridge.message import Intent, Message, Origin, Outcome, State
from bridge.trace import StepKind
from bridge.turn import Turn
from bridge.views import Mail, Received

LAPSED = "whoever took it did not acknowledge it in time"


class Mailbox:
    def __init__(self, ledger: Ledger, hints: Hints, unheard: Unheard, steering: Steering) -> None:
        self._ledger = ledger
        self._hints = hints
        self._unheard = unheard
        self._steering = steering

    async def receive(self, caller: Caller, limit: int) -> Received:
        """The mail that the caller may read now, which counts as read from then on.

        In a turn that the bridge runs: the turn's own inputs first, then the other closings of the input that
        it acts for, then waiting messages without `wake`, and then the handoffs that it was told of. Those of which it
        was not keep their own turns. What was
        read settles with the turn's end, and is shown again (`redelivered`) where the turn does not end, or where
        it is not sure that the reader has seen it. An agent without a turn reads everything, and acknowledges by
        reading on.
        """
        limit = max(1, min(limit, 50))
        reader = holder(caller)
        looked = frozenset(self._unheard.shown_again(reader))

        async def body(work: Work) -> Received:
            nonlocal looked
            unheard = self._unheard.shown_again(reader)
            turn = await work.turn(caller.turn) if caller.turn else None
            if turn is not None:
                waiting = await _of_turn(work, turn, unheard, self._steering.told(turn))
            else:
                waiting = await _of_receiver(work, caller, unheard)
            looked = frozenset(one.id for one in waiting[:limit])
            given = []
            for message in waiting[:limit]:
                shown = mail(await read(work, caller, message))
                given.append(replace(shown, redelivered=shown.redelivered or message.read_at is not None))
            return Received(tuple(given), max(0, len(waiting) - limit))

        try:
            received = await self._ledger.do_as(caller, body)
        except BaseException:
            self._unheard.add(reader, looked)
            raise
        self._unheard.heard(reader, looked)
        return received

    async def ack(self, caller: Caller, message_ids: Collection[str]) -> list[str]:
        """Settles what the caller has read; what it has not leased is `unknown_message` or `stale_epoch`."""

        async def body(work: Work) -> list[str]:
            settled = []
            for ident in dict.fromkeys(message_ids):
                message = await work.mail(ident, caller.session)
                if message is None or message.recipient != caller.session:
                    raise unknown_message()
                if message.state is State.SETTLED:
                    continue
                if message.state is State.QUEUED and caller.turn is None:
                    message = await read(work, caller, message)
                if message.state is not State.LEASED or message.turn != holder(caller):
                    raise Refused(Code.STALE_EPOCH, f"{ident} is not leased to this reader")
                await settle(work, replace(message, read_at=message.read_at or work.now), Outcome.ACKED)
                settled.append(ident)
            turn = await work.turn(caller.turn) if caller.turn and settled else None
            if turn is not None:
                await mark_begun(work, turn)
            return settled

        return await self._ledger.do_as(caller, body)

    async def view(self, caller: Caller) -> list[Mail]:
        """What is unsettled and has come to the session, without reading it. Only a person is shown what a person keeps
        back from all agents."""
        every = [one for one in await self._ledger.store.inbox(caller.session) if not one.withheld]
        if caller.origin is not Origin.USER and (await self._ledger.regime()).paused:
            every = [one for one in every if one.from_person or one.state is not State.QUEUED]
        return [mail(message) for message in every]

    async def take(self, caller: Caller) -> list[Mail]:
        """Leases all that waits for a session whose agent the bridge does not run. What was taken before and
        neither acknowledged nor still within its lease is given again."""

        async def body(work: Work) -> list[Mail]:
            session = await work.session(caller.session)
            if session is not None and session.runs:
                raise Refused(
                    Code.INVALID_REQUEST,
                    f"{session.id} has an agent, which reads this mail itself",
                    remedy="Look at the inbox without taking from it.",
                )
            lapsed = [one for one in await work.taken(holder(caller)) if one.lapsed(work.now)]
            again = [one.to_queued(reason=LAPSED) for one in lapsed]
            waiting = await _waiting(work, caller.session)
            return [mail(await read(work, caller, message)) for message in (*again, *waiting)]

        return await self._ledger.do_as(caller, body)

    async def wait(self, caller: Caller, known: Collection[str], timeout_s: float) -> list[Mail]:
        """Mail whose id is not `known`, as soon as there is any; nothing after the time."""
        with self._hints.watch_mail(caller.session) as changed:
            try:
                async with asyncio.timeout(timeout_s):
                    while True:
                        fresh = [one for one in await self.view(caller) if one.message_id not in known]
                        if fresh:
                            return fresh
                        await changed.wait()
                        changed.clear()
            except TimeoutError:
                return []


async def read(work: Work, caller: Caller, message: Message) -> Message:
    """Leases a message to its reader where it is not yet, and marks it as read."""
    turn = await work.turn(caller.turn) if caller.turn else None
    if turn is not None:
        work.put(replace(turn, peer_read=turn.peer_read or not message.from_person))
    if message.state is State.QUEUED:
        until = work.now + work.limits.lease_s if turn is None and not await _joined(work, caller) else None
        message = message.to_leased(holder(caller), until=until)
        work.step(StepKind.LEASED, message, epoch=message.epoch)
    message = replace(message, read_at=work.now)
    work.put(message)
    work.step(StepKind.READ, message)
    return message


async def _joined(work: Work, caller: Caller) -> bool:
    """Whether an agent in a terminal reads: what it has read is its own for as long as its process lives."""
    session = await work.session(caller.session)
    return session is not None and session.inhabited


def holder(caller: Caller) -> TurnId:
    """Who holds the lease of what a caller reads: its turn, or the session itself outside of turns."""
    return caller.turn or receiver(caller.session)


def mail(message: Message) -> Mail:
    return Mail(
        message_id=message.id,
        sender=message.sender,
        intent=message.intent,
        text=phrases.with_attachments(message.text, message.attachments),
        origin=message.origin.value,
        conversation_id=message.conversation,
        in_reply_to=message.in_reply_to,
        depth=message.depth,
        accepted_at=message.accepted_at,
        state=message.state,
        late=message.late,
        redelivered=message.redelivered,
    )


async def _of_turn(
    work: Work, turn: Turn, unheard: Collection[MessageId], told: Collection[MessageId]
) -> list[Message]:
    leased = [one for one in await work.taken(turn.id) if one.state is State.LEASED and one.intent is not Intent.INPUT]
    given = [one for one in leased if one.id in unheard or (one.id in turn.inputs and one.read_at is None)]
    closings, waiting, steered = [], [], []
    for message in await _waiting(work, turn.session):
        if message.intent is Intent.INPUT:
            continue
        request = await closing_of(work, message)
        if request is not None and request.parent is not None and request.parent == turn.acts_for:
            closings.append(message)
        elif not message.wake:
            waiting.append(message)
        elif message.id in told:
            steered.append(message)
    return [*given, *closings, *waiting, *steered]


async def _waiting(work: Work, session: SessionId) -> list[Message]:
    """What is queued and may be read now: while all traffic between agents is paused, what people wrote."""
    paused = (await work.regime()).paused
    queue = await work.queue(session)
    return [one for one in queue if not one.waits(work.now) and (one.from_person or not paused)]


async def _of_receiver(work: Work, caller: Caller, unheard: Collection[MessageId]) -> list[Message]:
    """What was read before is acknowledged by reading on (DESIGN §5, Settling)."""
    session = await work.session(caller.session)
    if session is not None and session.runs:
        return []
    taken = [one for one in await work.taken(holder(caller)) if one.state is State.LEASED and one.read_at is not None]
    for message in taken:
        if message.id not in unheard:
            await settle(work, message, Outcome.ACKED)
    waiting = await _waiting(work, caller.session)
    return [*(one for one in taken if one.id in unheard), *waiting]
