"""The worker: it runs one agent, for a bridge that may be replaced by another while the agent works."""

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from adapters.process import ancestors, apart, exited
from adapters.worker import left as listed
from adapters.worker.codec import Malformed, as_json, read
from adapters.worker.execution import ADOPTED, FLUSH_S, Work
from adapters.worker.folder import Folder
from adapters.worker.journal import Journal, Record
from adapters.worker.link import MAX_FRAME, Frame, Link
from adapters.worker.log import WorkerLog
from adapters.worker.proof import own_hello, peer_pid
from adapters.worker.targets import compressed, refusal
from adapters.worker.terms import Claim, Header, Ready, Start, scope_of
from bridge.ids import SessionId
from bridge.ports.runtime import Agent, Left, Prompt, Runtime, StartFailed
from bridge.question import Answer
from bridge.turn import Failure, FailureKind, Process

log = logging.getLogger(__name__)

RuntimeOf = Callable[[Mapping[str, Any], Callable[[SessionId, str], None]], Runtime]
"""The runtime that an order asks for, and gives each line on stderr to the function."""

_CLAIM_S = 5.0
_TOP = 1_000


Hide = Callable[[tuple[str, ...]], Callable[[str], str]]
"""Makes of secrets what takes them, and all that looks like one, out of a line."""


async def host(
    connection: socket.socket, runtime_of: RuntimeOf, hide: Hide, told_to_end: asyncio.Event | None = None
) -> None:
    """A worker from its hello to its end, which comes at the latest once it is told to."""
    link = await Link.over(connection)
    await link.send({"hello": as_json(own_hello())})
    frame = await link.receive()
    if frame is None:
        return
    try:
        start = read(Start, frame.get("start"))
        folder = Folder(Path(start.folder))
        listener = folder.listen(start.name)
    except (Malformed, ValueError, OSError) as error:
        problem = Failure(FailureKind.CONFIG, f"No worker can be had: {error}")
        await link.send({"failed": as_json(problem)})
        return
    lines = WorkerLog(Path(start.log), hide(start.hidden), log.warning)
    try:
        runtime = runtime_of(start.order, lines.line)
        await Host(start, folder, runtime, told_to_end or asyncio.Event()).serve(link, listener)
    finally:
        folder.forget(start.name)
        lines.close(FLUSH_S)


class Host:
    def __init__(self, start: Start, folder: Folder, runtime: Runtime, over: asyncio.Event) -> None:
        self._launch = start.launch
        self._name = start.name
        self._grace_s = start.grace_s
        self._folder = folder
        self._runtime = runtime
        self._owner: Link | None = None
        self._agent: Agent | None = None
        self._process: Process | None = None
        self._work: Work | None = None
        self._left: tuple[Left, ...] = ()
        self._last: str | None = None
        self._known = asyncio.Event()
        self._over = over
        self._hard = False
        self._grace: asyncio.TimerHandle | None = None
        self._telling = asyncio.Lock()

    async def serve(self, link: Link, listener: socket.socket) -> None:
        """Until its owner ends it, or is gone for too long."""
        self._owner = link
        async with asyncio.TaskGroup() as self._tasks:
            server = await asyncio.start_unix_server(self._visit, sock=listener, limit=MAX_FRAME)
            hearing = self._tasks.create_task(self._hear(link))
            starting = self._tasks.create_task(self._start())
            await self._over.wait()
            server.close()
            starting.cancel()
            await asyncio.wait([starting])
            await self._end()
            hearing.cancel()
            for task in self._running():
                task.cancel()

    def _running(self) -> list[asyncio.Task[Any]]:
        me = asyncio.current_task()
        return [task for task in asyncio.all_tasks() if task is not me]

    async def _start(self) -> None:
        try:
            agent = await self._runtime.start(self._launch, self._born)
        except StartFailed as failed:
            await self._say({"failed": as_json(failed.failure)})
            self._over.set()
            return
        self._agent = agent
        self._left = tuple(listed.still_running(self._folder, self._launch.session))
        await self._say({"started": as_json(self._ready(agent))})
        await exited(agent.process)
        await self._say({"gone": True})
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
        await self._say({"born": as_json(process)})
        await self._known.wait()

    # Its owner
    async def _hear(self, link: Link) -> None:
        while (frame := await link.receive()) is not None and link is self._owner:
            try:
                await self._obey(frame)
            except Malformed as error:
                log.warning("the bridge sent what is no order: %s", error)
        if link is self._owner:
            self._owner = None
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
            case "answer" if self._work is not None:
                await self._work.answer(read(int, frame.get("question")), read(Answer, frame.get("answer")))
            case "cancel" if self._agent is not None:
                self._tasks.create_task(self._agent.cancel(read(float, frame.get("grace_s"))))
            case "close":
                self._over.set()
            case "kill":
                self._hard = True
                self._over.set()
            case other:
                log.info("an order without effect: %.40r", other)

    async def _prompt(self, prompt: Prompt) -> None:
        """Takes on a prompt once. The same one again is told what has become of it."""
        agent, execution = self._agent, prompt.execution
        if agent is None or execution is None:
            raise Malformed("a prompt before its agent, or of no turn")
        if self._work is not None and self._work.header.execution.turn == execution.turn:
            await self._tell_since(self._work, self._work.received)
            return
        if self._work is not None or execution.turn == self._last:
            problem = Failure(FailureKind.CRASH, "The worker has another turn, or has ended this one.")
            await self._say({"refused": as_json(problem)})
            return
        scope = scope_of(self._launch, agent.alias)
        me = own_hello()
        header = Header(execution, scope, self._name, Process(me.pid, me.birth), self._ready(agent))
        try:
            self._folder.make()
            journal = Journal(self._folder.journal(execution.turn), execution.turn, as_json(header))
        except (OSError, ValueError) as error:
            detail = f"The turn cannot be recorded, so it was not begun: {error}"
            await self._say({"refused": as_json(Failure(FailureKind.CAPACITY, detail, retryable=True))})
            return
        self._last = execution.turn
        work = self._work = Work(header, journal, self._tell)
        self._tasks.create_task(work.run(agent, prompt))

    def _forget_settled(self) -> None:
        work = self._work
        if work is not None and work.settled:
            work.journal.close()
            work.journal.path.unlink(missing_ok=True)
            self._work = None
            if self._agent is not None and not self._agent.alive:
                self._over.set()

    async def _say(self, frame: Mapping[str, Any]) -> None:
        if self._owner is not None:
            await self._owner.send(frame)

    async def _tell(self, record: Record) -> None:
        if (moved := compressed(record)) is not None:
            log.info("its agent goes on as %s", moved.alias)
        async with self._telling:
            await self._say(_told(record))

    async def _tell_since(self, work: Work, number: int) -> None:
        """Tells what is on record after that number. What is written meanwhile may be told twice: numbers tell."""
        async with self._telling:
            for record in work.journal.since(number) or ():
                if record.number > 0:
                    await self._say(_told(record))

    # Another owner
    async def _visit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = Link(reader, writer)
        pid = peer_pid(writer.get_extra_info("socket"))
        try:
            if pid is None or any(one.pid == os.getpid() for one in ancestors(pid, _TOP)):
                return  # what the agent has started adopts nobody
            await link.send({"hello": as_json(own_hello())})
            async with asyncio.timeout(_CLAIM_S):
                frame = await link.receive()
            if frame is not None and await self._adopted(read(Claim, frame.get("adopt")), link):
                self._tasks.create_task(self._hear(link))
                link = None  # type: ignore[assignment]
        except (Malformed, TimeoutError) as error:
            log.warning("somebody wanted to adopt this worker: %s", error)
        finally:
            if link is not None:
                link.close()

    async def _adopted(self, claim: Claim, link: Link) -> bool:
        work, agent = self._work, self._agent
        why: str | None = "it is at no work"
        if work is not None and agent is not None and not self._over.is_set():
            records = work.journal.since(0)
            why = "its journal is damaged"
            if records is not None:
                why = refusal(claim, work.header, work.epoch, records)
        if why is not None or work is None or agent is None:
            await link.send({"refused": why})
            return False
        try:
            work.journal.add(ADOPTED, as_json(claim.execution), firmly=True)
        except OSError as error:
            await link.send({"refused": f"its journal takes no more: {error.strerror}"})
            return False
        before, self._owner, work.epoch = self._owner, link, claim.execution.epoch
        if before is not None:
            await before.send({"superseded": work.epoch})
            before.close()
        if self._grace is not None:
            self._grace.cancel()
            self._grace = None
        await link.send({"adopted": as_json(self._ready(agent))})
        work.receive(claim.after)
        await self._tell_since(work, claim.after)
        return True

    # The end
    async def _end(self) -> None:
        """What fails here takes nothing back of what was told."""
        if self._work is not None:
            self._work.dropped = True
        agent, process = self._agent, self._process
        apart_from_it = apart(os.getpid(), process.pid) if process is not None else []
        if agent is not None:
            closing = asyncio.create_task(agent.close())
            await asyncio.sleep(0)
            if self._hard:
                closing.cancel()
            with suppress(asyncio.CancelledError):
                try:
                    await closing
                except Exception:
                    log.exception("its agent could not be closed")
        listed.note(self._folder, self._launch.session, apart_from_it)
        await self._say({"closed": True})


def _told(record: Record) -> Frame:
    return {"tell": record.number, "kind": record.kind, "digest": record.digest, "body": record.body}
