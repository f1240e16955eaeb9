"""The mail of an agent in a person's terminal: what it is told of, and what becomes of what it has read (DESIGN §5)."""

from dataclasses import replace

from bridge.caller import Caller
from bridge.flow.settlement import close, pending, settle
from bridge.flow.work import Work
from bridge.ids import SessionId, receiver
from bridge.message import Message, Origin, Outcome, State
from bridge.quiet import kept_until
from bridge.request import Answer
from bridge.trace import StepKind
from bridge.turn import Process

_LEFT = "the agent that had read it has ended"


async def waiting(work: Work, ident: SessionId) -> list[Message]:
    """The mail of a session that its agent may be told of now."""
    session = await work.session(ident)
    if session is None or session.closed_at is not None:
        return []
    paused = (await work.regime()).paused
    return [
        one
        for one in await work.queue(ident)
        if not one.waits(work.now)
        and work.now < one.expires_at
        and (one.origin is Origin.USER or not (paused or session.rested))
        and kept_until(session, one, work.now) is None
    ]


async def woken(work: Work, caller: Caller) -> bool:
    """Whether there is mail that wakes it. It does so once."""
    found = [one for one in await waiting(work, caller.session) if one.wake and one.woken_at is None]
    for message in found:
        woken = replace(message, woken_at=work.now)
        work.put(woken)
        work.step(StepKind.WOKEN, woken)
    return bool(found)


async def stopped(work: Work, caller: Caller, *, again: bool) -> bool:
    """Whether mail keeps it from stopping. Else what it has read is settled: a request that it neither answered nor
    put off, nor has asked others about, was read without an answer (DESIGN §5)."""
    if not again and await woken(work, caller):
        return True
    for message in await work.taken(receiver(caller.session)):
        if message.state is State.LEASED and message.read_at is not None:
            await settle(work, message, Outcome.ACKED)
    for known in await work.store.open_requests_to(caller.session):
        request, asked = await work.request(known.id), await work.message(known.id)
        if request is None or asked is None or not request.open:
            continue
        read = asked.state is State.SETTLED and asked.read_at is not None
        if read and not await pending(work, request.id):
            await close(work, request, Answer.NO_REPLY)
    return False


async def prompted(work: Work, caller: Caller, seats: tuple[Process, ...]) -> None:
    session = await work.session(caller.session)
    if session is not None:
        joined = replace(session.joined, seats=seats) if session.joined is not None else None
        work.put(replace(session, joined=joined, prompted_at=work.now, last_seen=work.now))


async def left(work: Work, ident: SessionId, process: Process, thread: str | None) -> None:
    """What it had read and not dealt with waits for the next agent that joins as the session."""
    session = await work.session(ident)
    if session is None or session.joined is None or not session.inhabited:
        return
    if (session.joined.process, session.joined.thread) != (process, thread):
        return
    last = replace(session.joined, seats=(), left=True) if session.joined.host is not None else None
    work.put(replace(session, joined=last, last_seen=work.now))
    if session.closed_at is not None:
        return
    for message in await work.taken(receiver(ident)):
        if message.state is State.LEASED:
            work.put(replace(message.to_queued(reason=_LEFT), woken_at=None))
    for message in await work.queue(ident):
        if message.woken_at is not None:
            work.put(replace(message, woken_at=None))
