"""A bench for the runtime: the scripted agent as a real process, and what is heard of it."""

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from adapters.acp import AcpRuntime, AgentSpec, Orders, Times
from adapters.process import survivors
from adapters.worker.nursery import Nursery
from adapters.worker.runtime import Terms, WorkerRuntime
from bridge.ids import SessionId
from bridge.ports.runtime import Agent, Event, Launch, Prompt, Result, Runtime
from bridge.question import Answer, Asked, Option, Question
from bridge.turn import Process

ROOT = Path(__file__).parents[3]
NOW = 1_800_000_000.0
TOOL_SERVER = (sys.executable, str(Path(__file__).parent / "mail_server.py"))
E = TypeVar("E", bound=Event)


class FixedClock:
    def now(self) -> float:
        return NOW

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Ear:
    """A listener. `choose` answers questions for permission, `answer` all; without it they stay open until they are
    withdrawn."""

    def __init__(
        self, choose: Callable[[Sequence[Option]], str | None] | None = None, *, answer: Answer | None = None
    ) -> None:
        self.answer = answer
        self.events: list[Event] = []
        self.questions: list[Question] = []
        self.withdrawn = 0
        self._choose = choose
        self._news = asyncio.Condition()

    async def happened(self, event: Event, number: int = 0) -> None:
        async with self._news:
            self.events.append(event)
            self._news.notify_all()

    async def asked(self, question: Question) -> Answer:
        async with self._news:
            self.questions.append(question)
            self._news.notify_all()
        if self._choose:
            return Answer(Asked.ANSWERED, choice=self._choose(question.options))
        if self.answer is not None:
            return self.answer
        try:
            await asyncio.Event().wait()
        finally:
            self.withdrawn += 1
        raise AssertionError("nobody waits for ever")

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    async def hears(self, kind: type[Event]) -> None:
        async with self._news:
            await self._news.wait_for(lambda: any(isinstance(event, kind) for event in self.events))

    async def is_asked(self) -> None:
        async with self._news:
            await self._news.wait_for(lambda: bool(self.questions))


class Bench:
    """Its agents run in this process, or in workers that the `nursery` forks."""

    def __init__(self, folder: Path, nursery: Nursery | None = None) -> None:
        self.folder = folder
        self.nursery = nursery
        self.names = count(1)
        self.cwd = folder / "work"
        self.cwd.mkdir()
        self._stderr: list[str] = []
        self.started: list[Agent] = []
        self.born: list[Process] = []

    @property
    def now(self) -> float:
        """The time of the process in which agents run."""
        return NOW if self.nursery is None else time.time()

    @property
    def stderr(self) -> list[str]:
        """What agents have written there: all of it, once they are closed."""
        if self.nursery is None:
            return self._stderr
        log = self.folder / "logs" / "agents.log"
        return [line.split(": ", 1)[1] for line in log.read_text().splitlines()] if log.exists() else []

    def spec(
        self,
        *options: str,
        rules: Sequence[Mapping[str, str]] = (),
        module: str = "adapters.scripted",
        **more: Any,
    ) -> AgentSpec:
        persona = self.folder / "persona.json"
        persona.write_text(json.dumps({"rules": list(rules)}))
        chosen = ("--persona", str(persona), "--state", str(self.folder / "state"), "--record", str(self._record))
        more.setdefault("env", {})
        more["env"] = {"PYTHONPATH": str(ROOT), **more["env"]}
        return AgentSpec("desk", (sys.executable, "-P", "-m", module, *chosen, *options), **more)

    def runtime(
        self,
        spec: AgentSpec | None = None,
        *,
        tools: bool = False,
        base: Mapping[str, str] = os.environ,
        start_s: float = 20,
        stop_s: float = 5,
        grace_s: float = 1,
    ) -> Runtime:
        specs = {"desk": spec or self.spec()}
        server = TOOL_SERVER if tools else ()
        times = Times(start_s=start_s, stop_s=stop_s)
        if self.nursery is not None:
            return WorkerRuntime(
                Orders(specs, tool_server=server, base=base, times=times),
                self.nursery,
                self.folder / "run" / "workers",
                self.folder / "logs" / "agents.log",
                Terms(grace_s=grace_s, start_s=start_s, stop_s=stop_s),
                lambda: f"worker-{next(self.names)}",
            )
        return AcpRuntime(
            specs,
            tool_server=server,
            base=base,
            clock=FixedClock(),
            times=times,
            on_stderr=lambda _, line: self._stderr.append(line),
        )

    def launch(self, alias: str | None = None, agent: str = "desk", **more: Any) -> Launch:
        return Launch(SessionId("default/front-desk"), agent, str(self.cwd), alias, **more)

    async def start(self, runtime: Runtime | None = None, alias: str | None = None, **more: Any) -> Agent:
        agent = await (runtime or self.runtime()).start(self.launch(alias, **more), self._bear)
        self.started.append(agent)
        return agent

    async def _bear(self, process: Process) -> None:
        self.born.append(process)

    async def say(self, agent: Agent, words: str, ear: Ear | None = None) -> Result:
        return await agent.prompt(Prompt(words=words), ear or Ear())

    def received(self, method: str | None = None) -> list[dict[str, Any]]:
        """The frames that agents have received, the answers to their requests where no method is given."""
        whole, _, _ = self._record.read_text().rpartition("\n")  # the last line may be on its way still
        frames = [json.loads(line) for line in whole.splitlines()]
        return [frame for frame in frames if frame.get("method") == method]

    async def end(self) -> None:
        for agent in self.started:
            await agent.close()
            await gone(agent.process)

    @property
    def _record(self) -> Path:
        return self.folder / "received.jsonl"


async def until(holds: Callable[[], object]) -> None:
    """Waits for what another process does, of which nothing else tells."""
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def gone(process: Process) -> None:
    """Waits until nothing of a process and its group is left."""
    await until(lambda: not survivors(process))
