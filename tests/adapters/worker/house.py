"""Workers and scripted agents as real processes, and bridges that come and go."""

import asyncio
import os
import signal
import socket
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from adapters.acp import AgentSpec
from adapters.process import ancestors, birth_of, children
from adapters.worker.codec import read
from adapters.worker.folder import Folder
from adapters.worker.journal import read as records_of
from adapters.worker.runtime import WorkerRuntime
from adapters.worker.terms import Header
from bridge.ids import TurnId
from bridge.ports.runtime import Agent, Event, Execution, Launch, Prompt, Result, ToolBegun
from bridge.turn import Process
from tests.adapters.acp.bench import Bench, Ear, until
from tests.adapters.nurseries import Lent


class Attentive(Ear):
    """Knows the numbers of what it was told."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers: list[int] = []

    async def happened(self, event: Event, number: int = 0) -> None:
        self.numbers.append(number)
        await super().happened(event, number)


@dataclass
class Job:
    """A turn at work."""

    turn: str
    agent: Agent
    launch: Launch
    ear: Attentive
    doing: "asyncio.Task[Result]"
    header: Header

    @property
    def worker(self) -> Process:
        return self.header.worker

    async def is_left(self) -> None:
        """Its bridge dies."""
        self.doing.cancel()
        await asyncio.gather(self.doing, return_exceptions=True)
        await self.agent.leave()


class House:
    def __init__(self, path: Path, requests: socket.socket) -> None:
        self.bench = Bench(path, Lent(requests))
        self.path = path
        self.gate = path / "gate"
        self.folder = Folder(path / "run" / "workers")
        self.processes: list[Process] = []

    def runtime(self, spec: AgentSpec | None = None, *, grace_s: float = 60, stop_s: float = 5) -> WorkerRuntime:
        """A bridge's. `spec` is that of its agents."""
        runtime = self.bench.runtime(spec, grace_s=grace_s, stop_s=stop_s)
        assert isinstance(runtime, WorkerRuntime)
        return runtime

    async def works(self, script: str, turn: str = "turn-1", runtime: WorkerRuntime | None = None) -> Job:
        """Begins a turn that uses a tool, and goes on with `script` once the gate is open."""
        agent = await self.bench.start(runtime or self.runtime())
        ear = Attentive()
        words = f"do: begin run ; wait-for {self.gate} ; {script}"
        prompt = Prompt(words=words, execution=Execution(TurnId(turn), 1))
        doing = asyncio.create_task(agent.prompt(prompt, ear))
        await ear.hears(ToolBegun)
        header = self.header(turn)
        self.processes += [agent.process, header.worker]
        return Job(turn, agent, self.bench.launch(agent.alias), ear, doing, header)

    def header(self, turn: str) -> Header:
        return read(Header, records_of(self.folder.journal(turn), turn).header)

    async def adopts(self, job: Job, epoch: int = 2, after: int = 0, **scope: Any) -> Agent | None:
        """As the next bridge does."""
        execution, launch = Execution(TurnId(job.turn), epoch), replace(job.launch, **scope)
        adopted = await self.runtime().adopt(launch, job.agent.process, execution, after)
        if adopted is not None:
            self.bench.started.append(adopted)
        return adopted

    def opens(self) -> None:
        self.gate.touch()

    async def kills(self, process: Process) -> None:
        assert birth_of(process.pid) == process.birth
        os.kill(process.pid, signal.SIGKILL)
        await self.gone(process)

    async def gone(self, *processes: Process) -> None:
        await until(lambda: all(birth_of(one.pid) != one.birth for one in processes))

    def below(self, process: Process) -> list[Process]:
        return children(process.pid)

    def worker_of(self, agent: Agent) -> Process:
        """To be ended with the house, as the agent is."""
        _, worker = ancestors(agent.process.pid, 1)
        self.processes += [worker, agent.process]
        return worker

    async def end(self) -> None:
        self.opens()
        for process in self.processes:
            if birth_of(process.pid) == process.birth:
                os.kill(process.pid, signal.SIGKILL)
        await self.gone(*self.processes)
        await self.bench.end()
