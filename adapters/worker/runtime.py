"""Agents in workers, behind the port of the runtime."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from adapters import process as processes
from adapters.process import birth_of
from adapters.worker import left as listed
from adapters.worker.codec import Malformed, as_json, read
from adapters.worker.execution import FLUSH_S
from adapters.worker.folder import BadName, Folder
from adapters.worker.journal import Found, header_of
from adapters.worker.journal import read as records_of
from adapters.worker.link import Link
from adapters.worker.nursery import NoWorker, Nursery
from adapters.worker.proof import Hello, Unproven, lives, owns, peer_pid
from adapters.worker.remains import Remains, retell
from adapters.worker.remote import RemoteAgent
from adapters.worker.starting import Starting, ended, of
from adapters.worker.targets import held_under, moved_to, refusal
from adapters.worker.terms import Claim, Header, Ready, Start, scope_of
from bridge.ids import TurnId
from bridge.launching import Definition
from bridge.ports.runtime import Agent, Execution, Launch, Listener, Result, StartFailed
from bridge.turn import Failure, FailureKind, Process

log = logging.getLogger(__name__)

_HELLO_S = 30.0
_ADOPT_S = 5.0
"""A worker that is there answers in a moment; a bridge that begins accepts nothing until it has."""
_MARGIN_S = 5.0


class Orders(Protocol):
    """What agents there are, and how a worker is told to start one."""

    def knows(self, agent: str) -> bool: ...

    def names(self) -> Sequence[str]: ...

    def embeds(self, agent: str) -> bool: ...

    def definition(self, agent: str) -> Definition | None: ...

    def prepare(self, launch: Launch) -> tuple[Launch, Mapping[str, Any], tuple[str, ...]]:
        """What is to be launched, the order for it as JSON, and what must be in no log. Blocks for a moment. Raises
        `StartFailed`."""
        ...


@dataclass(frozen=True, slots=True)
class Terms:
    """In seconds: how long a turn goes on without a bridge, and how long an agent may take to be ready and to end."""

    grace_s: float = 10
    start_s: float = 60
    stop_s: float = 10


class WorkerRuntime:
    """`bridge.ports.runtime.Runtime`. `name` makes names for workers that nobody else has."""

    def __init__(
        self, orders: Orders, nursery: Nursery, folder: Path, log_file: Path, terms: Terms, name: Callable[[], str]
    ) -> None:
        self._orders = orders
        self._nursery = nursery
        self._folder = Folder(folder)
        self._log_file = log_file
        self._terms = terms
        self._name = name
        self._undecided: set[TurnId] = set()
        self._earlier = self._folder.sockets()

    async def preload(self) -> None:
        """Has the first worker at hand."""
        with suppress(NoWorker):
            await self._nursery.open()

    async def close(self) -> None:
        await self._nursery.close()

    def knows(self, agent: str) -> bool:
        return self._orders.knows(agent)

    def names(self) -> Sequence[str]:
        return self._orders.names()

    def embeds(self, agent: str) -> bool:
        return self._orders.embeds(agent)

    def definition(self, agent: str) -> Definition | None:
        return self._orders.definition(agent)

    async def start(self, launch: Launch, born: Callable[[Process], Awaitable[None]]) -> Agent:
        launch, order, secrets = await asyncio.to_thread(self._orders.prepare, launch)
        try:
            connection, worker = await self._nursery.worker()
        except NoWorker as error:
            raise StartFailed(Failure(FailureKind.CAPACITY, f"{error}.", retryable=True)) from None
        link = await Link.over(connection)
        name = self._name()
        start = Start(
            name=name,
            folder=str(self._folder.path),
            launch=launch,
            order=order,
            grace_s=self._terms.grace_s,
            log=str(self._log_file),
            hidden=secrets,
        )
        starting = Starting(link, worker)
        try:
            async with asyncio.timeout(self._terms.start_s + _HELLO_S):
                ready = await starting.ready(start, born)
        except TimeoutError:
            await self._killed(starting, name)
            detail = "The process that runs the agent did not answer."
            raise StartFailed(Failure(FailureKind.TIMEOUT, detail, retryable=True)) from None
        except BaseException:
            await self._killed(starting, name)
            raise
        return self._agent(link, ready, worker, launch, name)

    async def adopt(self, launch: Launch, process: Process, execution: Execution, after: int) -> Agent | None:
        found, header = await self._recorded(execution.turn)
        if header is None or header.ready.process != process:
            return None
        claim = Claim(execution, scope_of(launch, launch.alias), after)
        worker = header.worker
        if birth_of(worker.pid) == worker.birth:
            return await self._adopted(claim, header, launch)
        why = refusal(claim, header, found.records)
        if why is not None:
            log.warning("what is on record of turn %s is not used: %s", execution.turn, why)
            return None
        await processes.end(process, self._terms.stop_s)
        if found.damage is not None:
            log.warning("what is on record of turn %s is damaged: %s", execution.turn, found.damage)
        self._undecided.add(execution.turn)
        last = replace(header.ready, alias=moved_to(found.records) or header.ready.alias)
        return Remains(last, found, lambda: self.forget(execution.turn))

    async def end(self, process: Process) -> None:
        for turn in self._folder.journals():
            header = await self._header(turn)
            if header is not None and header.ready.process == process:
                await processes.end(header.worker, self._terms.stop_s)
        await processes.end(process, self._terms.stop_s)

    async def tidy(self) -> None:
        """Removes what workers have left of turns that are over. To be called once every turn is taken over."""
        at_work = set()
        for turn in self._folder.journals():
            if turn in self._undecided:
                continue
            header = await self._header(turn)
            if header is None or birth_of(header.worker.pid) != header.worker.birth:
                self.forget(TurnId(turn))
            else:
                at_work.add(header.name)
        for name in self._earlier:
            if name not in at_work:
                self._folder.forget(name)

    async def _killed(self, starting: Starting, name: str) -> None:
        await starting.kill()
        self._folder.forget(name)

    # What is on record, for agents at work
    async def taken(self, execution: Execution) -> bool:
        found, header = await self._recorded(execution.turn)
        return header is not None and held_under(header, found.records) > execution.epoch

    async def retold(self, execution: Execution, after: int, listener: Listener) -> Result | None:
        found, header = await self._recorded(execution.turn)
        self._undecided.add(execution.turn)
        if header is None:
            return None
        try:
            return await retell(found.records, after, listener)
        except Malformed:
            return None

    def forget(self, turn: TurnId) -> None:
        self._undecided.discard(turn)
        with suppress(OSError, BadName):
            self._folder.journal(turn).unlink(missing_ok=True)

    async def _header(self, turn: str) -> Header | None:
        try:
            found = await asyncio.to_thread(header_of, self._folder.journal(turn), turn)
            return read(Header, found) if found is not None else None
        except (BadName, Malformed):
            return None

    async def _recorded(self, turn: TurnId) -> tuple[Found, Header | None]:
        """Read in a thread: a long journal takes seconds."""
        try:
            found = await asyncio.to_thread(records_of, self._folder.journal(turn), turn)
            return found, read(Header, found.header) if found.header is not None else None
        except (BadName, Malformed):
            return Found(()), None

    async def _adopted(self, claim: Claim, header: Header, launch: Launch) -> Agent | None:
        """The agent of a worker that lives. None where it is not who the journal says, or refuses."""
        try:
            connection = self._folder.connect(header.name)
        except (OSError, BadName) as error:
            log.warning("the worker of turn %s cannot be reached: %s", claim.execution.turn, error)
            return None
        told = peer_pid(connection)
        link = await Link.over(connection)
        try:
            async with asyncio.timeout(_ADOPT_S):
                worker = lives(read(Hello, of(await link.receive(), "hello")))
                if worker != header.worker or worker.pid != told:
                    raise Unproven(f"pid {worker.pid} answers for pid {header.worker.pid}")
                owns(worker, header.ready.process)
                await link.send({"adopt": as_json(claim)})
                ready = read(Ready, of(await link.receive(), "adopted"))
        except (Unproven, Malformed, TimeoutError) as error:
            log.warning("the worker of turn %s is not adopted: %s", claim.execution.turn, str(error) or "no answer")
            link.close()
            return None
        return self._agent(link, ready, worker, launch, header.name, claim.execution)

    def _agent(
        self,
        link: Link,
        ready: Ready,
        worker: Process,
        launch: Launch,
        name: str,
        running: Execution | None = None,
    ) -> RemoteAgent:
        async def kill() -> None:
            # Below both: one of them may be ending in this moment, and what it has left is below neither then.
            for root in (worker, ready.process):
                if birth_of(root.pid) == root.birth:
                    apart = await asyncio.to_thread(processes.apart, root.pid, ready.process.pid)
                    listed.note(self._folder, launch.session, apart)
            await ended(worker, ready.process)
            self._folder.forget(name)

        return RemoteAgent(
            link,
            ready,
            kill=kill,
            recorder=self,
            end_s=self._terms.stop_s + FLUSH_S + _MARGIN_S,
            name=self._name,
            running=running,
        )
