"""Agents that outlive their bridge, as coroutines behind the port of the runtime."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from bridge.ports.runtime import Agent, Context, Event, Execution, Launch, Listener, Prompt, Result
from bridge.question import Answer, Question
from bridge.turn import Failure, FailureKind, Process
from tests.fakes.runtime import FakeAgent, FakeRuntime

Put = tuple[Question, "asyncio.Future[Answer]"]


class FakeWorker(FakeAgent):
    """What its behaviour tells is on record until its turn's end is stored, whoever hears it."""

    runtime: "AdoptingRuntime"
    execution: Execution | None = None

    def __init__(
        self, runtime: "AdoptingRuntime", launch: Launch, process: Process, number: int, context: Context
    ) -> None:
        super().__init__(runtime, launch, process, number, context)
        self.runtime = runtime
        self.events: list[Event] = []
        self.questions: list[Put] = []
        self.result: Result | None = None
        self.forgotten = False
        self._work: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()

    @property
    def working(self) -> bool:
        return self._work is not None and not self._work.done()

    def tell(self, event: Event) -> None:
        self.events.append(event)
        self._changed.set()

    async def ask(self, question: Question) -> Answer:
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.questions.append((question, answer))
        self._changed.set()
        return await answer

    async def prompt(self, prompt: Prompt, listener: Listener) -> Result:
        assert not self.working, "two prompts at once"
        assert prompt.execution is not None
        self.execution, self.result, self.forgotten = prompt.execution, None, False
        self.events, self.questions = [], []
        self.runtime.began(self.session, prompt)
        self._work = asyncio.ensure_future(self._worked(prompt))
        failure = Failure(FailureKind.CRASH, "the worker has ended")
        return await self._followed(listener, 0) or Result("", "error", failure, unsure=True)

    async def rejoin(self, listener: Listener, after: int) -> Result | None:
        return await self._followed(listener, after)

    async def forget(self) -> None:
        self.forgotten = True

    async def cancel(self, grace_s: float) -> None:
        if self._work is not None:
            self._cancelled = True
            self._work.cancel()

    async def close(self) -> None:
        self.die()

    async def leave(self) -> None:
        if not self.working:
            self.die()

    def die(self) -> None:
        """Without a result, unless there is one already."""
        self.closed = True
        if self._work is not None:
            self._work.cancel()

    async def _worked(self, prompt: Prompt) -> None:
        self._cancelled = False
        try:
            done = await self.runtime.behaviours[self.session](self, prompt)
            self.result = done if isinstance(done, Result) else Result(done, "end_turn")
        except asyncio.CancelledError:
            if self._cancelled:
                self.result = Result("", "cancelled", cancelled=True)
        finally:
            self.runtime.ended(self.session)
            self._changed.set()

    async def _followed(self, listener: Listener, told: int) -> Result | None:
        asking: list[asyncio.Task[None]] = []
        try:
            while True:
                self._changed.clear()
                asking += [asyncio.ensure_future(_put(one, listener)) for one in self.questions[len(asking) :]]
                while told < len(self.events):
                    told += 1
                    await listener.happened(self.events[told - 1], told)
                if not self.working:
                    return self.result
                await self._changed.wait()
        finally:
            for task in asking:
                task.cancel()


async def _put(one: Put, listener: Listener) -> None:
    question, answer = one
    if not answer.done():
        given = await listener.asked(question)
        if not answer.done():
            answer.set_result(given)


@dataclass
class AdoptingRuntime(FakeRuntime):
    """`bridge.ports.runtime.Runtime` of one bridge after the other. `claims` are what they adopted, and after which
    event; `broken` is raised by each adoption, against the contract. Agents that are `unknown` are configured no
    more."""

    claims: list[tuple[Execution, int]] = field(default_factory=list)
    broken: Exception | None = None
    unknown: set[str] = field(default_factory=set)

    def knows(self, agent: str) -> bool:
        return agent not in self.unknown and super().knows(agent)

    def made(self, launch: Launch, process: Process, number: int, context: Context) -> FakeAgent:
        return FakeWorker(self, launch, process, number, context)

    async def start(self, launch: Launch, born: Callable[[Process], Awaitable[None]]) -> Agent:
        assert not any(one.session == launch.session and one.working for one in self.workers), "two at work at once"
        return await super().start(launch, born)

    @property
    def workers(self) -> list[FakeWorker]:
        return [one for one in self.agents if isinstance(one, FakeWorker)]

    async def adopt(self, launch: Launch, process: Process, execution: Execution, after: int) -> Agent | None:
        if self.broken is not None:
            raise self.broken
        worker = next((one for one in self.workers if one.process == process), None)
        known = worker.execution if worker is not None else None
        if worker is None or known is None or known.turn != execution.turn:
            return None
        assert execution.epoch > known.epoch, "it is held under a later epoch"
        if (launch.session, launch.agent, launch.cwd) != (worker.session, worker.name, worker.launch.cwd):
            worker.die()
            return None
        if not worker.working:
            worker.die()
        worker.execution = execution
        self.claims.append((execution, after))
        return worker

    async def end(self, process: Process) -> None:
        await super().end(process)
        for worker in self.workers:
            if worker.process == process:
                worker.die()
