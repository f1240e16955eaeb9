"""The agents that persons have started in their terminals, and the sessions that they are (DESIGN §6).

Who an agent is, the kernel says: its process is registered with its birth, and what is below it speaks as its session.
The bridge runs no turns of it. Its hooks tell when its person has typed something and when it stops; they get a notice
where mail waits, and never a text. Where one process is the host of several, each is there from the first word of its
thread until its hooks tell the thread's end, and is woken for as long as its person may sit at a terminal.
"""

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from bridge.caller import Caller
from bridge.errors import Code, Refused
from bridge.flow.agents import Agents
from bridge.flow.hints import Hints
from bridge.flow.hosts import Gone, Hosts
from bridge.flow.ledger import Ledger
from bridge.flow.terminal_mail import left, prompted, stopped, waiting, woken
from bridge.flow.work import Work
from bridge.ids import MessageId, SessionId, profile_of
from bridge.notices import MAIL_BESIDE_WORK, MAIL_IN_TERMINAL
from bridge.session import Busy, Joined, Kind, Session, Source
from bridge.terminal import Happening, Joining, Told, candidates, same, takes
from bridge.token import digest_of
from bridge.turn import Process

WORKING_S = 600.0
"""An agent whose hooks have said nothing for so long is not at work any more: nobody hears of a turn that its person
has interrupted."""

_LOOK_S = 30.0


async def never(process: Process) -> None:
    """For whoever cannot watch processes."""
    await asyncio.Event().wait()


@dataclass(slots=True)
class _Present:
    """`worked_at` is when a hook told last that it works, None while it is idle. `told` is the mail that its agent was
    told of beside its work. `hinted`: a hook between tool calls has been heard. `over`: its conversation
    has ended, though its process lives, or its person's terminal has: nobody wakes it. `watches` end with it."""

    process: Process
    host: Process | None = None
    thread: str | None = None
    watches: "list[asyncio.Task[None]]" = field(default_factory=list)
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
        self._hosts = Hosts(gone, self._beside)

    async def restore(self) -> None:
        """Knows again who was there under the bridge before this one."""
        for session in await self._ledger.store.sessions():
            joined = session.joined
            if joined is None or profile_of(session.id) != self._profile:
                continue
            if joined.host is not None:
                self._hosts.trust(joined.host)
            if session.inhabited:
                present = self._register(session.id, joined.process, joined.host, joined.thread)
                if joined.seats:
                    self._seated(session.id, present, joined.seats)

    def close(self) -> None:
        for task in self._watching:
            task.cancel()

    # Who is there

    async def join(self, pids: Sequence[int], joining: Joining) -> tuple[SessionId | None, str]:
        """The session that an agent is from now on until its process ends, or its thread does, and a capability token
        for it; a tool server below a host is of no session yet. `pids` and what is raised are as with `appears`."""
        if joining.host is not None and joining.thread is None:
            self._admit(pids, joining)
            token = self._random()
            self._hosts.serve(digest_of(token), joining)
            return None, token
        ident = await self.appears(pids, joining)
        return ident, self._new_token(ident, self._present[ident])

    async def appears(self, pids: Sequence[int], joining: Joining) -> SessionId:
        """The session that an agent is from now on. `pids` are the process that asks for it and its ancestors. Raises
        `Refused` for what comes of another agent."""
        return self._admit(pids, joining) or await self._session_for(joining)

    def _admit(self, pids: Sequence[int], joining: Joining) -> SessionId | None:
        """The session that it is already."""
        if self._agents.session_of(pids) is not None:
            raise Refused(
                Code.NOT_PERMITTED,
                "this agent is run by the bridge, which has given it its tools",
                remedy="Nothing is to be done: it has the tools of the server that the bridge started for it.",
            )
        above, host = self._nearest(pids), self._hosts.above(pids)
        if above is not None and self._present[above].process != joining.agent:
            raise _started_by(str(above))
        if above is None and host is not None and host[0] != joining.host:
            raise _started_by("another agent")
        if joining.host is not None:
            self._hosts.trust(joining.host)
        return above

    async def _session_for(self, joining: Joining) -> SessionId:
        known = self._of_thread(joining.agent, joining.thread) if joining.thread is not None else None
        if known is not None:
            return known
        ident = await self._ledger.do(lambda work: self._joined(work, joining))
        self._register(ident, joining.agent, joining.host, joining.thread)
        return ident

    async def thread_session(self, token: str, thread: str) -> SessionId | None:
        """Whom a call of a tool server's token speaks for, which is of that `thread`, as its host tells: it joins,
        where it has not yet. None for any other token."""
        server = self._hosts.server(digest_of(token))
        if server is None or server.joining.host is None:
            return None
        joining = replace(server.joining, agent=server.joining.host, thread=thread)
        server.session = await self._session_for(joining)
        return server.session

    def _random(self) -> str:
        return f"{self._ledger.randomness.getrandbits(256):064x}"

    def _new_token(self, session: SessionId, present: _Present) -> str:
        token = self._random()
        present.tokens.add(digest_of(token))
        self._tokens[digest_of(token)] = session
        return token

    async def _joined(self, work: Work, joining: Joining) -> SessionId:
        every = {one.id: one for one in await work.store.sessions() if profile_of(one.id) == self._profile}
        mine = (one for one in every.values() if one.inhabited and same(one.joined, joining))
        for ident in ([one.id for one in mine][:1]) or candidates(self._profile, joining, every.values()):
            known = every.get(ident) or await work.session(ident)
            if known is not None and not takes(known, joining):
                continue
            new = Session(
                ident, ident.partition("/")[2], Kind.TERMINAL, Source.RUNTIME, created_at=work.now, cwd=joining.cwd
            )
            joined = Joined(joining.agent, joining.client[:80], joining.host, joining.thread)
            work.put(replace(known or new, joined=joined, prompted_at=None, last_seen=work.now))
            return ident
        raise AssertionError("there is always one more")

    def session_of(self, pids: Sequence[int], thread: str | None = None) -> SessionId | None:
        """The session of the nearest agent among a process and its ancestors. Below a host of several it is the one of
        that `thread`; what tells none may be of the only one that there is. Raises `Refused` where nobody can tell."""
        nearest, host = self._nearest(pids), self._hosts.above(pids)
        if nearest is not None or host is None:
            return nearest
        found = [one for one, of in self._present.items() if of.host == host[0] and thread in (None, of.thread)]
        if len(found) == 1:
            return found[0]
        reason = "several agents share the process that has started this, and nobody can tell which of them it was"
        if not found:
            reason = "the agent that has started this has not joined, or is a helper of another"
        raise Refused(Code.NOT_PERMITTED, reason, remedy="Use the agent's own tools.")

    def hosts(self, process: Process) -> bool:
        """Whether it has been seen, below a person's terminal, to be the host of an agent."""
        return self._hosts.trusted(process)

    def below_host(self, pids: Sequence[int]) -> int | None:
        """Of a process and its ancestors the one that a host has started."""
        above = self._hosts.above(pids)
        return above[1] if above is not None else None

    def _nearest(self, pids: Sequence[int]) -> SessionId | None:
        known = {present.process.pid: one for one, present in self._present.items() if present.host is None}
        return next((known[pid] for pid in pids if pid in known), None)

    def _of_thread(self, host: Process, thread: str) -> SessionId | None:
        return next((one for one, of in self._present.items() if (of.host, of.thread) == (host, thread)), None)

    def session_of_token(self, token: str) -> SessionId | None:
        server = self._hosts.server(digest_of(token))
        return server.session if server is not None else self._tokens.get(digest_of(token))

    def ended(self, token: str) -> asyncio.Event | None:
        """Set once the token ends with its agent. None where there is no such token."""
        server = self._hosts.server(digest_of(token))
        if server is not None:
            return server.gone
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
        present = self._present.get(session)
        return present is not None and not present.over

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

    def _register(
        self, session: SessionId, process: Process, host: Process | None, thread: str | None = None
    ) -> _Present:
        known = self._present.get(session)
        if known is not None and (known.process, known.thread) == (process, thread):
            return known
        present = self._present[session] = _Present(process, host, thread)
        present.watches.append(self._beside(self._watch(session, present)))
        return present

    def _beside(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        watch = self._tasks.create_task(work)
        self._watching.add(watch)
        watch.add_done_callback(self._watching.discard)
        return watch

    async def _watch(self, session: SessionId, present: _Present) -> None:
        await self._gone(present.process)
        await self._leave(session, present)

    async def _leave(self, session: SessionId, present: _Present) -> None:
        if self._present.get(session) is present:
            del self._present[session]
            self._hosts.forget(session)
            present.gone.set()
            for digest in present.tokens:
                self._tokens.pop(digest, None)
        await self._ledger.surely(partial(left, ident=session, process=present.process, thread=present.thread))
        self._hints.mail(session)
        for watch in present.watches:
            if watch is not asyncio.current_task():
                watch.cancel()

    def _seated(self, session: SessionId, present: _Present, seats: Sequence[Process]) -> None:
        """From now on its person may sit at any of these, until all of them have ended."""
        for watch in present.watches[1:]:
            watch.cancel()
        present.watches[1:] = [self._beside(self._sat(session, present, seats))]

    async def _sat(self, session: SessionId, present: _Present, seats: Sequence[Process]) -> None:
        for seat in seats:
            await self._gone(seat)
        present.over = True
        self._hints.mail(session)

    # What its hooks tell

    async def happened(self, caller: Caller, happening: Happening, seats: Sequence[Process] | None = None) -> Told:
        """`seats` are the programs in terminals at which its person may have typed, where that can be told."""
        present = self._present.get(caller.session)
        if present is None or not caller.bound:
            return Told(ended=True)
        if present.host is not None and happening is Happening.ENDED:
            await self._leave(caller.session, present)
            return Told(ended=True)
        now = self._ledger.clock.now()
        if present.host is None or happening in (Happening.STARTED, Happening.PROMPTED):
            present.over = happening is Happening.ENDED
        if present.host is not None and happening is Happening.PROMPTED and seats is not None:
            self._seated(caller.session, present, seats)
        match happening:
            case Happening.PROMPTED:
                if not self._works(present):
                    # What a person adds to a turn that runs takes nothing off what that has read.
                    await self._ledger.do_as(caller, partial(prompted, caller=caller, seats=tuple(seats or ())))
                present.worked_at = now
                return await self._hint(caller, present)
            case Happening.WOKEN:
                present.worked_at = now
            case Happening.TOOL:
                present.worked_at, present.hinted = now, True
                return await self._hint(caller, present)
            case Happening.STOPPED | Happening.STOPPED_AGAIN:
                again = happening is Happening.STOPPED_AGAIN or present.over
                kept = await self._ledger.do_as(caller, partial(stopped, caller=caller, again=again))
                present.worked_at = now if kept else None
                self._hints.mail(caller.session)
                return Told(MAIL_IN_TERMINAL if kept else None, ended=present.over)
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
                if not self._works(present) and await self._ledger.do_as(caller, partial(woken, caller=caller)):
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
                come = {one.id for one in await waiting(work, caller.session)}
            fresh = come - present.told
            present.told = come
            return Told(MAIL_BESIDE_WORK if fresh else None)
        return Told()


def _started_by(who: str) -> Refused:
    return Refused(
        Code.NOT_PERMITTED,
        f"this agent was started by {who}, and is no session of its own",
        remedy="Start it in a terminal of yours.",
    )
