"""The worker: it runs one agent, for a bridge that may be replaced by another while the agent works."""

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from adapters import process as processes
from adapters.process import apart, exited
from adapters.worker import left as listed
from adapters.worker.codec import Malformed, as_json, read
from adapters.worker.door import Door, stranger
from adapters.worker.execution import ADOPTED, FLUSH_S, Work
from adapters.worker.folder import Folder
from adapters.worker.journal import Journal
from adapters.worker.link import MAX_FRAME, Frame, Link
from adapters.worker.log import WorkerLog, told_on_stderr, warnings_in
from adapters.worker.owner import Owner
from adapters.worker.proof import Hello, own_hello
from adapters.worker.targets import refusal
from adapters.worker.terms import Claim, Header, Ready, Start, scope_of
from bridge.ids import SessionId, TurnId
from bridge.ports.runtime import Agent, Left, Prompt, Runtime, StartFailed
from bridge.question import Answer
from bridge.turn import Failure, FailureKind, Process

log = logging.getLogger(__name__)

RuntimeOf = Callable[[Mapping[str, Any], Callable[[SessionId, str], None]], Runtime]
"""The runtime that an order asks for, and gives each line on stderr to the function."""

Hide = Callable[[tuple[str, ...]], Callable[[str], str]]
"""Makes of secrets what takes them, and all that looks like one, out of a line."""


async def host(
    connection: socket.socket,
    runtime_of: RuntimeOf,
    hide: Hide,
    told_to_end: asyncio.Event,
    admits: Callable[[socket.socket], bool] = stranger,
) -> None:
    """A worker from its hello to its end, which comes at the latest once it is told to. Only whoever it `admits` may
    adopt it."""
    link = await Link.over(connection)
    await link.send({"hello": as_json(own_hello())})
    frame = await link.receive()
    if frame is None:
        return
    try:
        start = read(Start, frame.get("start"))
        folder = Folder(Path(start.folder))
        listener = folder.listen(start.name)
    except (Malformed, ValueError) as error:
        problem = Failure(FailureKind.CONFIG, f"No worker can be had: {error}")
        await link.send({"failed": as_json(problem)})
        return
    except OSError as error:
        detail = f"There is no room for a worker in {start.folder}: {error.strerror or error}."
        problem = Failure(FailureKind.CAPACITY, detail, retryable=True)
        await link.send({"failed": as_json(problem)})
        return
    lines = WorkerLog(Path(start.log), hide(start.hidden), told_on_stderr)
    try:
        with warnings_in(lines, start.launch.session):
            runtime = runtime_of(start.order, lines.line)
            await Host(start, folder, runtime, told_to_end, admits=admits).serve(link, listener)
    finally:
        folder.forget(start.name)
        lines.close(FLUSH_S)


class Host:
    """`admits` tells who may ask for it, `journal` makes that of a turn, and `me` is what it says to be."""

    def __init__(
        self,
        start: Start,
        folder: Folder,
        runtime: Runtime,
        over: asyncio.Event,
        *,
        admits: Callable[[socket.socket], bool] = stranger,
        journal: Callable[[Path, str, Mapping[str, Any]], Journal] = Journal,
        me: Callable[[], Hello] = own_hello,
        ends: Callable[[Process], Awaitable[None]] = exited,
    ) -> None:
        self._launch = start.launch
        self._name = start.name
        self._grace_s = start.grace_s
        self._folder = folder
        self._runtime = runtime
        self._over = over
        self._door = Door(admits, self._adopted)
        self._journal = journal
        self._me = me
        self._ends = ends
        self._agent: Agent | None = None
        self._process: Process | None = None
        self._work: Work | None = None
        self._starting: asyncio.Task[None] | None = None
        self._left: tuple[Left, ...] = ()
        self._taken_on: set[TurnId] = set()
        self._known = asyncio.Event()
        self._hard = asyncio.Event()
        self._grace: asyncio.TimerHandle | None = None

    async def serve(self, link: Link, listener: socket.socket) -> None:
        """Until its owner ends it, or is gone for too long. Whatever fails, its agent ends before it does."""
        self._owner = Owner(link, self._over.set)
        living = asyncio.create_task(self._live(link, listener))
        told = asyncio.create_task(self._over.wait())
        try:
            await asyncio.wait([living, told], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._over.set()
            await self._end()
            living.cancel()
            (failed,) = await asyncio.gather(living, return_exceptions=True)
            if isinstance(failed, Exception):
                log.error("a worker ended by a defect", exc_info=failed)

    async def _live(self, link: Link, listener: socket.socket) -> None:
        async with asyncio.TaskGroup() as self._tasks:
            server = await asyncio.start_unix_server(self._let_in, sock=listener, limit=MAX_FRAME)
            self._tasks.create_task(self._hear(link))
            self._starting = self._tasks.create_task(self._start())
            await self._over.wait()
            server.close()

    async def _start(self) -> None:
        try:
            agent = await self._runtime.start(self._launch, self._born)
        except StartFailed as failed:
            await self._owner.say({"failed": as_json(failed.failure)})
            self._over.set()
            return
        self._agent = agent
        self._left = tuple(listed.still_running(self._folder, self._launch.session))
        await self._owner.say({"started": as_json(self._ready(agent))})
        await self._ends(agent.process)
        await self._owner.say({"gone": True})
        if self._work is None:
            self._over.set()

    def _ready(self, agent: Agent) -> Ready:
        return Ready(
            agent.process,
            agent.alias,
            agent.context,
            self._launch.seal,
            agent.history,
            self._left,
            tuple(agent.opening),
            agent.alive,
        )

    async def _born(self, process: Process) -> None:
        self._process = process
        await self._owner.say({"born": as_json(process)})
        await self._known.wait()

    # Its owner
    async def _hear(self, link: Link) -> None:
        while (frame := await link.receive()) is not None and link is self._owner.link:
            try:
                await self._obey(frame)
            except Malformed as error:
                log.warning("the bridge sent what is no order: %s", error)
        if link is self._owner.link:
            self._owner.link = None
            self._orphaned()

    def _orphaned(self) -> None:
        """Only a turn whose end nobody has stored is worth going on."""
        if self._work is None or self._work.settled:
            self._over.set()
        elif self._grace is None:
            self._grace = asyncio.get_running_loop().call_later(self._grace_s, self._over.set)

    async def _obey(self, frame: Frame) -> None:
        match frame.get("do"):
            case "known":
                self._known.set()
            case "prompt":
                await self._prompt(read(Prompt, frame.get("prompt")))
            case "received" if self._work is not None and frame.get("turn") == self._work.header.execution.turn:
                self._work.receive(read(int, frame.get("number")))
                self._forget_settled()
            case "answer" if self._work is not None and frame.get("turn") == self._work.header.execution.turn:
                await self._work.answer(read(int, frame.get("question")), read(Answer, frame.get("answer")))
            case "cancel" if self._agent is not None:
                self._tasks.create_task(self._agent.cancel(read(float, frame.get("grace_s"))))
            case "close":
                self._over.set()
            case "kill":
                self._hard.set()
                self._over.set()
            case other:
                log.info("an order without effect: %.40r", other)

    async def _prompt(self, prompt: Prompt) -> None:
        """Takes on a prompt once. The same one again is told what has become of it."""
        agent, execution = self._agent, prompt.execution
        if agent is None or execution is None:
            raise Malformed("a prompt before its agent, or of no turn")
        if self._work is not None and self._work.header.execution.turn == execution.turn:
            self._owner.begins(self._work.received)
            self._tasks.create_task(self._owner.tell_rest(self._work))
            return
        if self._work is not None or execution.turn in self._taken_on:
            await self._refuse(FailureKind.CRASH, "The worker has another turn, or has ended this one.")
            return
        scope = scope_of(self._launch, agent.alias)
        me = self._me()
        header = Header(execution, scope, self._name, Process(me.pid, me.birth), self._ready(agent))
        try:
            self._folder.make()
            journal = self._journal(self._folder.journal(execution.turn), execution.turn, as_json(header))
        except (OSError, ValueError) as error:
            await self._refuse(FailureKind.CAPACITY, f"The turn cannot be recorded, so it was not begun: {error}")
            return
        self._taken_on.add(execution.turn)
        self._owner.begins()
        work = self._work = Work(header, journal, self._owner.tell)
        self._tasks.create_task(work.run(agent, prompt))

    async def _refuse(self, kind: FailureKind, why: str) -> None:
        problem = Failure(kind, why, retryable=kind is FailureKind.CAPACITY)
        await self._owner.say({"refused": as_json(problem)})

    def _forget_settled(self) -> None:
        work = self._work
        if work is not None and work.settled:
            self._work = None
            work.journal.remove()
            if self._agent is not None and not self._agent.alive:
                self._over.set()

    # Another owner
    def _let_in(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._tasks.create_task(self._door.visit(reader, writer))

    async def _adopted(self, claim: Claim, link: Link) -> bool:
        """Nothing changes for the present owner until the claim is found right and is on record."""
        work, agent = self._work, self._agent
        if work is None or agent is None or self._over.is_set():
            await link.send({"refused": "it is at no work"})
            return False
        records = work.journal.since(-1) if work.whole else None
        why = refusal(claim, work.header, records) if records is not None else "its journal is damaged"
        try:
            if why is None:
                work.journal.add(ADOPTED, as_json(claim.execution), firmly=True)
        except OSError as error:
            why = f"its journal takes no more: {error.strerror}"
        if why is not None:
            await link.send({"refused": why})
            return False
        work.receive(claim.after)
        self._owner.becomes(link, claim.execution.epoch, claim.after)
        if self._grace is not None:
            self._grace.cancel()
            self._grace = None
        await link.send({"adopted": as_json(self._ready(agent))})
        self._tasks.create_task(self._hear(link))
        self._tasks.create_task(self._owner.tell_rest(work))
        return True

    # The end
    async def _end(self) -> None:
        """What fails here takes nothing back of what was told."""
        if self._work is not None:
            self._work.dropped = True
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait([self._starting])
        agent, process = self._agent, self._process
        apart_from_it = apart(os.getpid(), process.pid) if process is not None else []
        if agent is not None:
            await self._close(agent)
        if process is not None:
            await processes.end(process, 0)
        listed.note(self._folder, self._launch.session, apart_from_it)
        try:
            async with asyncio.timeout(FLUSH_S):
                await self._owner.say({"closed": True})
        except TimeoutError:
            log.warning("its bridge takes nothing any more")

    async def _close(self, agent: Agent) -> None:
        closing, killed = asyncio.create_task(agent.close()), asyncio.create_task(self._hard.wait())
        await asyncio.wait([closing, killed], return_when=asyncio.FIRST_COMPLETED)
        killed.cancel()
        closing.cancel()
        (failed,) = await asyncio.gather(closing, return_exceptions=True)
        if isinstance(failed, Exception):
            log.error("its agent could not be closed", exc_info=failed)
