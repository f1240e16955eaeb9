"""Agents as coroutines, behind the port of the runtime."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from bridge.history import History, digest
from bridge.ids import SessionId
from bridge.launching import Definition
from bridge.ports.runtime import Agent, Context, Execution, Launch, Left, Listener, Prompt, Result, StartFailed
from bridge.turn import Failure, FailureKind, Process

Behaviour = Callable[["FakeAgent", Prompt], Awaitable[str | Result]]


class FakeAgent:
    """One running agent. `name` is the agent's, `listener` that of the running prompt, and `token` what its
    tools would present."""

    def __init__(self, runtime: "FakeRuntime", launch: Launch, process: Process, number: int, context: Context) -> None:
        self._runtime = runtime
        self._prompt: asyncio.Task[str | Result] | None = None
        self._cancelled = False
        self._history = runtime.histories.get(launch.session) if context is Context.RESUMED else None
        self._process = process
        self._context = context
        fresh = f"context-{number}" if context is Context.NEW else f"context-{number}-instead"
        self._alias = launch.alias if context is Context.RESUMED and launch.alias else fresh
        self.launch = launch
        self.session = launch.session
        self.name = launch.agent
        self.token = launch.secrets["TIELINE_TOKEN"]
        self.listener: Listener | None = None
        self.is_alive = True
        self.closed = False

    @property
    def process(self) -> Process:
        return self._process

    @property
    def alias(self) -> str:
        return self._alias

    @property
    def context(self) -> Context:
        return self._context

    @property
    def history(self) -> History:
        return self._history or History()

    @property
    def opening(self) -> Sequence[str]:
        return ()

    @property
    def alive(self) -> bool:
        return self.is_alive and not self.closed

    async def prompt(self, prompt: Prompt, listener: Listener) -> Result:
        assert self._prompt is None, "two prompts at once"
        if prompt.mode is not None and prompt.mode not in self._runtime.modes:
            return Result("", "error", Failure(FailureKind.CONFIG, f"no mode {prompt.mode}"))
        self.listener = listener
        self._history = History((*self.history.prompts, digest(prompt.parts)))
        self._runtime.began(self.session, prompt)
        behaviour = self._runtime.behaviours[self.session]
        self._cancelled = False
        self._prompt = asyncio.ensure_future(_run(behaviour, self, prompt))
        try:
            done = await self._prompt
        except asyncio.CancelledError:
            if self.closed:
                return Result("", "failed", Failure(FailureKind.CRASH, "the agent was ended"))
            if not self._cancelled:
                raise
            return Result("", "cancelled", cancelled=True)
        finally:
            self._prompt.cancel()
            self._prompt = None
            self._runtime.ended(self.session)
        return done if isinstance(done, Result) else Result(done, "end_turn")

    @property
    def seal(self) -> str:
        return self.launch.seal

    @property
    def left(self) -> Sequence[Left]:
        return self._runtime.left

    async def rejoin(self, listener: Listener, after: int) -> Result | None:
        return None

    async def forget(self) -> None: ...

    async def leave(self) -> None:
        await self.close()

    async def cancel(self, grace_s: float) -> None:
        if self._prompt is not None:
            self._cancelled = True
            self._prompt.cancel()

    async def close(self) -> None:
        self.closed = True
        if self._prompt is not None:
            self._prompt.cancel()
        if self._runtime.closing is not None:
            await self._runtime.closing.wait()


async def _run(behaviour: Behaviour, agent: FakeAgent, prompt: Prompt) -> str | Result:
    return await behaviour(agent, prompt)


async def _silent(agent: FakeAgent, prompt: Prompt) -> str:
    return ""


@dataclass
class FakeRuntime:
    """`bridge.ports.runtime.Runtime`. Give each session its behaviour, or those without one that of
    their agent; `failing` sessions do not start,
    `forgotten` ones have lost their context, `histories` are what others replay, `defects` are raised against the
    contract, and the start of a session in `held` waits for its event, and so does the end of every agent for
    `closing`. Every agent offers the `modes`."""

    behaviours: dict[str, Behaviour] = field(default_factory=dict)
    of_agents: dict[str, Behaviour] = field(default_factory=dict)
    failing: dict[str, Failure] = field(default_factory=dict)
    forgotten: set[str] = field(default_factory=set)
    histories: dict[str, History] = field(default_factory=dict)
    defects: dict[str, Exception] = field(default_factory=dict)
    held: dict[str, asyncio.Event] = field(default_factory=dict)
    closing: asyncio.Event | None = None
    definitions: dict[str, Definition] = field(default_factory=dict)
    left: Sequence[Left] = ()
    modes: set[str] = field(default_factory=set)
    configured: Sequence[str] = ("fake", "helper")
    launches: list[Launch] = field(default_factory=list)
    born: list[Process] = field(default_factory=list)
    embedding: set[str] = field(default_factory=set)
    prompts: list[tuple[SessionId, Prompt]] = field(default_factory=list)
    running: dict[str, int] = field(default_factory=dict)
    most_at_once: dict[str, int] = field(default_factory=dict)
    most_in_all: int = 0
    agents: list[FakeAgent] = field(default_factory=list)
    ended_processes: list[Process] = field(default_factory=list)

    def knows(self, agent: str) -> bool:
        return agent != "missing"

    def names(self) -> Sequence[str]:
        return self.configured

    def embeds(self, agent: str) -> bool:
        return agent in self.embedding

    def definition(self, agent: str) -> Definition | None:
        if not self.knows(agent):
            return None
        return self.definitions.get(agent, Definition(agent, embed=self.embeds(agent)))

    async def start(self, launch: Launch, born: Callable[[Process], Awaitable[None]]) -> Agent:
        self.launches.append(launch)
        process = Process(100_000 + len(self.launches), f"birth-{len(self.launches)}")
        self.born.append(process)
        await born(process)
        if launch.session in self.held:
            await self.held[launch.session].wait()
        if launch.session in self.defects:
            raise self.defects[launch.session]
        if launch.session in self.failing:
            raise StartFailed(self.failing[launch.session])
        context = Context.NEW
        if launch.alias is not None:
            context = Context.LOST if launch.session in self.forgotten else Context.RESUMED
        agent = self.made(launch, process, len(self.agents) + 1, context)
        self.behaviours.setdefault(launch.session, self.of_agents.get(launch.agent, _silent))
        self.agents.append(agent)
        return agent

    def made(self, launch: Launch, process: Process, number: int, context: Context) -> FakeAgent:
        return FakeAgent(self, launch, process, number, context)

    async def adopt(self, launch: Launch, process: Process, execution: Execution, after: int) -> Agent | None:
        return None

    async def end(self, process: Process) -> None:
        self.ended_processes.append(process)

    def began(self, session: SessionId, prompt: Prompt) -> None:
        self.prompts.append((session, prompt))
        self.running[session] = self.running.get(session, 0) + 1
        self.most_at_once[session] = max(self.most_at_once.get(session, 0), self.running[session])
        self.most_in_all = max(self.most_in_all, sum(self.running.values()))

    def ended(self, session: SessionId) -> None:
        self.running[session] -= 1
