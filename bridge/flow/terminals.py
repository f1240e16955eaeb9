"""The agents that persons have started in their terminals, and the sessions that they are (DESIGN §6).

Who an agent is, the kernel says: its process is registered with its birth, and what is below it speaks as its session.
The bridge runs no turns of it. Its hooks tell when its person has typed something and when it stops; they get a notice
where mail waits, and never a text.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial

from bridge.caller import Caller
from bridge.errors import Code, Refused
from bridge.flow.agents import Agents
from bridge.flow.hints import Hints
from bridge.flow.ledger import Ledger
from bridge.flow.settlement import close, pending, settle
from bridge.flow.work import Work
from bridge.ids import MessageId, SessionId, profile_of, receiver
from bridge.message import Message, Origin, Outcome, State
from bridge.notices import MAIL_BESIDE_WORK, MAIL_IN_TERMINAL
from bridge.quiet import kept_until
from bridge.request import Answer
from bridge.session import Busy, Joined, Kind, Session, Source
from bridge.terminal import Happening, Joining, Told, candidates, takes
from bridge.token import digest_of
from bridge.trace import StepKind
from bridge.turn import Process

Gone = Callable[[Process], Awaitable[None]]
"""Returns once a process has ended."""

WORKING_S = 600.0
"""An agent whose hooks have said nothing for so long is not at work any more: nobody hears of a turn that its person
has interrupted."""

_LOOK_S = 30.0
_LEFT = "the agent that had read it has ended"


async def never(process: Process) -> None:
    """For whoever cannot watch processes."""
    await asyncio.Event().wait()


@dataclass(slots=True)
class _Present:
    """`worked_at` is when a hook told last that it works, None while it is idle. `told` is the mail that its agent was
    told of beside its work. `hinted`: a hook between tool calls has been heard. `over`: its conversation
    has ended, though its process lives."""

    process: Process
    worked_at: float | None = None
    told: set[MessageId] = field(default_factory=set)
    tokens: set[str] = field(default_factory=set)
    hinted: bool = False
    waits: bool = False
    over: bool = False
    gone: asyncio.Event = field(default_factory=asyncio.Event)


class Terminals:
    def __init__(
        self, ledger: Ledger, hints: Hints, agents: Agents, tasks: asyncio.TaskGroup, profile: str, gone: Gone
    ) -> None:
        self._ledger = ledger
        self._hints = hints
        self._agents = agents
        self._tasks = tasks
        self._profile = profile
        self._gone = gone
        self._present: dict[SessionId, _Present] = {}
        self._tokens: dict[str, SessionId] = {}
        self._watching: set[asyncio.Task[None]] = set()

    async def restore(self) -> None:
        """Knows again who was there under the bridge before this one."""
        for session in await self._ledger.store.sessions():
            if session.joined is not None and profile_of(session.id) == self._profile:
                self._register(session.id, session.joined.process)

    def close(self) -> None:
        for task in self._watching:
            task.cancel()

    # Who is there

    async def join(self, pids: Sequence[int], joining: Joining) -> tuple[SessionId, str]:
        """The session that an agent is from now on until its process ends, and a capability token for it. `pids` are
        the process that asks for it and its ancestors. Raises `Refused` for what comes of another agent."""
        if self._agents.session_of(pids) is not None:
            raise Refused(
                Code.NOT_PERMITTED,
                "this agent is run by the bridge, which has given it its tools",
                remedy="Nothing is to be done: it has the tools of the server that the bridge started for it.",
            )
        above = self.session_of(pids)
        if above is not None and self._present[above].process != joining.agent:
            raise Refused(
                Code.NOT_PERMITTED,
                f"this agent was started by {above}, and is no session of its own",
                remedy="Start it in a terminal of yours.",
            )
        ident = above if above is not None else await self._ledger.do(lambda work: self._joined(work, joining))
        present = self._register(ident, joining.agent)
        return ident, self._new_token(ident, present)

    def _new_token(self, session: SessionId, present: _Present) -> str:
        token = f"{self._ledger.randomness.getrandbits(256):064x}"
        present.tokens.add(digest_of(token))
        self._tokens[digest_of(token)] = session
        return token

    async def _joined(self, work: Work, joining: Joining) -> SessionId:
        every = {one.id: one for one in await work.store.sessions() if profile_of(one.id) == self._profile}
        mine = (one for one in every.values() if one.joined and one.joined.process == joining.agent)
        for ident in ([one.id for one in mine][:1]) or candidates(self._profile, joining, every.values()):
            known = every.get(ident) or await work.session(ident)
            if known is not None and not takes(known, joining):
                continue
            new = Session(
                ident, ident.partition("/")[2], Kind.TERMINAL, Source.RUNTIME, created_at=work.now, cwd=joining.cwd
            )
            joined = Joined(joining.agent, joining.client[:80])
            work.put(replace(known or new, joined=joined, prompted_at=None, last_seen=work.now))
            return ident
        raise AssertionError("there is always one more")

    def session_of(self, pids: Sequence[int]) -> SessionId | None:
        """The session of the nearest agent among a process and its ancestors."""
        known = {present.process.pid: session for session, present in self._present.items()}
        return next((known[pid] for pid in pids if pid in known), None)

    def session_of_token(self, token: str) -> SessionId | None:
        return self._tokens.get(digest_of(token))

    def ended(self, token: str) -> asyncio.Event | None:
        """Set once the token ends with its agent. None where there is no such token."""
        session = self.session_of_token(token)
        return self._present[session].gone if session is not None else None

    def process(self, session: SessionId) -> Process | None:
        """Of the agent that is the session now."""
        present = self._present.get(session)
        return present.process if present is not None else None

    def token(self, caller: Caller) -> str:
        """A further capability for the session of an agent, for what it leaves to wait for its mail."""
        present = self._present.get(caller.session)
        if present is None or not caller.bound:
            raise Refused(Code.NOT_PERMITTED, "only an agent in a terminal gets a token for its session")
        return self._new_token(caller.session, present)

    def live(self, session: SessionId) -> bool:
        return session in self._present

    def listens(self, session: SessionId) -> bool:
        """Whether somebody would wake its agent now, where it is idle."""
        present = self._present.get(session)
        return present is not None and present.waits

    def activity(self, session: SessionId) -> str:
        present = self._present.get(session)
        return "thinking" if present is not None and self._works(present) else "idle"

    def busy(self, session: Session) -> Busy:
        """What becomes of mail while it works: its hooks tell of it between tool calls, where they do at all."""
        present = self._present.get(session.id)
        if present is not None and present.hinted:
            return Busy.STEER
        return Busy.QUEUE

    def _register(self, session: SessionId, process: Process) -> _Present:
        known = self._present.get(session)
        if known is not None and known.process == process:
            return known
        present = self._present[session] = _Present(process)
        watch = self._tasks.create_task(self._watch(session, process))
        self._watching.add(watch)
        watch.add_done_callback(self._watching.discard)
        return present

    async def _watch(self, session: SessionId, process: Process) -> None:
        await self._gone(process)
        present = self._present.get(session)
        if present is not None and present.process == process:
            del self._present[session]
            present.gone.set()
            for digest in present.tokens:
                self._tokens.pop(digest, None)
        await self._ledger.surely(partial(_left, ident=session, process=process))
        self._hints.mail(session)

    # What its hooks tell

    async def happened(self, caller: Caller, happening: Happening) -> Told:
        present = self._present.get(caller.session)
        if present is None or not caller.bound:
            return Told(ended=True)
        now = self._ledger.clock.now()
        present.over = happening is Happening.ENDED
        match happening:
            case Happening.PROMPTED:
                if not self._works(present):
                    # What a person adds to a turn that runs takes nothing off what that has read.
                    await self._ledger.do_as(caller, partial(_prompted, caller=caller))
                present.worked_at = now
                return await self._hint(caller, present)
            case Happening.WOKEN:
                present.worked_at = now
            case Happening.TOOL:
                present.worked_at, present.hinted = now, True
                return await self._hint(caller, present)
            case Happening.STOPPED | Happening.STOPPED_AGAIN:
                again = happening is Happening.STOPPED_AGAIN
                kept = await self._ledger.do_as(caller, partial(_stopped, caller=caller, again=again))
                present.worked_at = now if kept else None
                self._hints.mail(caller.session)
                return Told(MAIL_IN_TERMINAL if kept else None)
            case Happening.STARTED | Happening.IDLE | Happening.ENDED:
                present.worked_at = None
                self._hints.mail(caller.session)
        return Told()

    async def wait(self, caller: Caller) -> Told:
        """Waits until mail with `wake` has come to an idle agent, which whoever waits then wakes. Raises `busy` where
        somebody waits already."""
        present = self._present.get(caller.session)
        if present is None or not caller.bound:
            return Told(ended=True)
        with self._waiting(present), self._hints.watch_mail(caller.session) as changed:
            while self._present.get(caller.session) is present and not present.over:
                changed.clear()
                if not self._works(present) and await self._ledger.do_as(caller, partial(_woken, caller=caller)):
                    present.worked_at = self._ledger.clock.now()
                    return Told(MAIL_IN_TERMINAL)
                await self._changed(changed)
        return Told(ended=True)

    async def _changed(self, changed: asyncio.Event) -> None:
        """Something has, or what was put off may be due by now."""
        waits = [asyncio.ensure_future(one) for one in (changed.wait(), self._ledger.clock.sleep(_LOOK_S))]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waits:
                one.cancel()

    @contextmanager
    def _waiting(self, present: _Present) -> Iterator[None]:
        if present.waits:
            raise Refused(Code.BUSY, "somebody waits for its mail already")
        present.waits = True
        try:
            yield
        finally:
            present.waits = False

    def _works(self, present: _Present) -> bool:
        return present.worked_at is not None and self._ledger.clock.now() < present.worked_at + WORKING_S

    async def _hint(self, caller: Caller, present: _Present) -> Told:
        """Once of each message, whether it wakes or not: its agent is at work anyway."""
        with suppress(Refused):
            work = Work(self._ledger)
            with work.over:
                come = {one.id for one in await _waiting(work, caller.session)}
            fresh = come - present.told
            present.told = come
            return Told(MAIL_BESIDE_WORK if fresh else None)
        return Told()


async def _waiting(work: Work, ident: SessionId) -> list[Message]:
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


async def _woken(work: Work, caller: Caller) -> bool:
    """Whether there is mail that wakes it. It does so once."""
    found = [one for one in await _waiting(work, caller.session) if one.wake and one.woken_at is None]
    for message in found:
        woken = replace(message, woken_at=work.now)
        work.put(woken)
        work.step(StepKind.WOKEN, woken)
    return bool(found)


async def _stopped(work: Work, caller: Caller, *, again: bool) -> bool:
    """Whether mail keeps it from stopping. Else what it has read is settled: a request that it neither answered nor
    put off, nor has asked others about, was read without an answer (DESIGN §5)."""
    if not again and await _woken(work, caller):
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


async def _prompted(work: Work, caller: Caller) -> None:
    session = await work.session(caller.session)
    if session is not None:
        work.put(replace(session, prompted_at=work.now, last_seen=work.now))


async def _left(work: Work, ident: SessionId, process: Process) -> None:
    """What it had read and not dealt with waits for the next agent that joins as the session."""
    session = await work.session(ident)
    if session is None or session.joined is None or session.joined.process != process:
        return
    work.put(replace(session, joined=None, last_seen=work.now))
    if session.closed_at is not None:
        return
    for message in await work.taken(receiver(ident)):
        if message.state is State.LEASED:
            work.put(replace(message.to_queued(reason=_LEFT), woken_at=None))
    for message in await work.queue(ident):
        if message.woken_at is not None:
            work.put(replace(message, woken_at=None))
