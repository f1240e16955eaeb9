"""The runtime of one life of a node: what it starts lives on without it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from bridge.history import History
from bridge.launching import Definition
from bridge.ports.runtime import Agent, Context, Execution, Launch, Left, Listener, Prompt, Result, StartFailed
from bridge.turn import Failure, FailureKind, Process
from tests.simulation.agents import AgentProcess, Asked, Memory, Run
from tests.simulation.scenario import Misfortune
from tests.simulation.store import Cut
from tests.simulation.world import World

if TYPE_CHECKING:
    from tests.simulation.node import Life


class RuntimeOf:
    """`bridge.ports.runtime.Runtime`."""

    def __init__(self, world: World, life: "Life") -> None:
        self._world = world
        self._life = life
        self._chance = world.scenario.chance(f"runtime/{life.name}")

    def knows(self, agent: str) -> bool:
        return True

    def names(self) -> Sequence[str]:
        return ()

    def embeds(self, agent: str) -> bool:
        return agent == "embedding"

    def definition(self, agent: str) -> Definition | None:
        return Definition(agent, embed=self.embeds(agent))

    async def start(self, launch: Launch, born: Callable[[Process], Awaitable[None]]) -> Agent:
        world, chance = self._world, self._chance
        self._live()
        number = len(world.processes) + 1
        process = AgentProcess(world, self._life, launch, number, world.scenario.chance(f"agent/{number}"))
        world.processes[number] = process
        world.note(f"{process.owner.name} of {launch.session} is born")
        world.counted[f"started as {launch.agent}"] += 1
        try:
            await born(process.process)
            await asyncio.sleep(chance.choice((0.1, 0.5, 3)))
            self._live()
            if world.suffers(Misfortune.AGENTS) and chance.random() < 0.08:
                raise StartFailed(world.failure(chance.choice(list(FailureKind)), 20 * chance.random()))
        except BaseException:
            process.kill("it did not start")
            raise
        process.connected = not (world.suffers(Misfortune.AGENTS) and chance.random() < 0.03)
        context = Context.NEW
        if launch.alias is not None:
            lost = world.suffers(Misfortune.AGENTS) and chance.random() < 0.1
            context = Context.LOST if lost else Context.RESUMED
        alias = launch.alias if context is Context.RESUMED and launch.alias else f"context-{number}"
        process.memory = world.memories.setdefault(alias, Memory(replays=chance.random() < 0.7))
        return _Handle(self._life, process, alias, context, launch.seal)

    async def adopt(self, launch: Launch, process: Process, execution: Execution, after: int) -> Agent | None:
        world, chance = self._world, self._chance
        await asyncio.sleep(0.2 * chance.random())
        self._live()
        known = world.processes.get(process.pid)
        if known is None or known.process != process or known.life.node != self._life.node:
            return None
        damaged = world.suffers(Misfortune.RECORDS) and chance.random() < 0.2
        if damaged and (known.alive or chance.random() < 0.3):
            known.kill("nobody can tell what is on record of it")
            return None
        run = known.claim(self._life, execution)
        if run is None:
            return None
        if damaged:
            del run.told[chance.randint(0, len(run.told)) :]
            run.result = None
        if not known.alive:
            world.counted["left a result" if run.result is not None else "left no result"] += 1
        else:
            world.counted["adopted"] += 1
            world.note(f"{known.owner.name} of {known.session} is adopted by {self._life.name} after {after}")
        return _Handle(self._life, known, launch.alias or "", Context.RESUMED, launch.seal or known.launch.seal)

    async def end(self, process: Process) -> None:
        self._live()
        await asyncio.sleep(0.2 * self._chance.random())
        self._live()
        known = self._world.processes.get(process.pid)
        if known is not None and known.process == process:
            known.kill("a bridge has ended it")

    def _live(self) -> None:
        if self._life.cut:
            raise Cut


class _Handle:
    """`bridge.ports.runtime.Agent`: what a bridge holds of an agent's process."""

    def __init__(self, life: "Life", process: AgentProcess, alias: str, context: Context, seal: str) -> None:
        self._life = life
        self._process = process
        self._alias = alias
        self._context = context
        self._seal = seal
        self._tools = ExitStack()
        if process.connected:
            self._tools.enter_context(life.exchange.tools(process.token))

    @property
    def process(self) -> Process:
        return self._process.process

    @property
    def alias(self) -> str:
        return self._alias

    @property
    def context(self) -> Context:
        return self._context

    @property
    def history(self) -> History:
        return self._process.memory.told()

    @property
    def opening(self) -> Sequence[str]:
        return ()

    @property
    def alive(self) -> bool:
        return self._process.alive

    @property
    def seal(self) -> str:
        return self._seal

    @property
    def left(self) -> Sequence[Left]:
        return ()

    async def rejoin(self, listener: Listener, after: int) -> Result | None:
        run = self._process.record
        return await self._followed(run, listener, after) if run is not None else None

    async def forget(self) -> None:
        if not self._life.cut:
            self._process.forget()

    async def leave(self) -> None:
        if self._process.run is None or self._life.cut:
            await self.close()
        else:
            self._tools.close()
            self._process.abandon()

    async def prompt(self, prompt: Prompt, listener: Listener) -> Result:
        if not self._process.alive:
            return Result("", "failed", Failure(FailureKind.CRASH, "it has ended", retryable=True))
        result = await self._followed(self._process.begin(prompt), listener, 0)
        gone = Failure(FailureKind.CRASH, "its worker is gone")
        return Result("", "failed", gone, unsure=True) if result is None else result

    async def _followed(self, run: Run, listener: Listener, told: int) -> Result | None:
        while True:
            run.changed.clear()
            while told < len(run.told):
                told += 1
                match run.told[told - 1]:
                    case Asked() as asked:
                        await _put(asked, listener)
                    case event:
                        await listener.happened(event, told)
                run.heard = max(run.heard, told)
            if run.over:
                return run.result
            await run.changed.wait()

    async def cancel(self, grace_s: float) -> None:
        if not self._life.cut:
            await self._process.cancel(grace_s)

    async def close(self) -> None:
        if self._life.cut:
            raise Cut
        self._tools.close()
        self._process.kill("it was closed")


async def _put(asked: Asked, listener: Listener) -> None:
    """An agent that has been cancelled, or is gone, waits for no answer."""
    if asked.answer.done():
        return
    asking = asyncio.ensure_future(listener.asked(asked.question))
    try:
        await asyncio.wait({asking, asked.answer}, return_when=asyncio.FIRST_COMPLETED)
        if not asked.answer.done():
            asked.answer.set_result(asking.result())
    finally:
        asking.cancel()
