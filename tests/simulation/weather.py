"""The misfortunes of a run, each at its own time."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from tests.simulation.node import Node
from tests.simulation.scenario import Misfortune
from tests.simulation.world import World

_EVERY_S = 15.0


class Weather:
    def __init__(self, world: World, nodes: list[Node]) -> None:
        self._world = world
        self._nodes = nodes
        self._chance = world.scenario.chance("weather")

    async def rage(self, over: asyncio.Event) -> None:
        """Goes on until it is over, and what has begun by then has ended too."""
        strikes: dict[Misfortune, Callable[[Node], Coroutine[Any, Any, None]]] = {
            Misfortune.CRASH: self._crash,
            Misfortune.RESTART: self._restart,
            Misfortune.FREEZE: self._freeze,
            Misfortune.OUTAGE: self._outage,
            Misfortune.CLOCKS: self._clock,
            Misfortune.KILLS: self._kill,
        }
        possible = [strike for misfortune, strike in strikes.items() if self._world.suffers(misfortune)]
        async with asyncio.TaskGroup() as group:
            while possible and not await _within(over, self._chance.expovariate(1 / _EVERY_S)):
                group.create_task(self._chance.choice(possible)(self._chance.choice(self._nodes)))
            await over.wait()

    async def clear(self) -> None:
        """Everything is let heal: clocks are right, the store is in reach, all nodes are up."""
        self._world.heal()
        for node in self._nodes:
            node.clock.skew = 0.0
            node.thaw()
        async with asyncio.TaskGroup() as group:
            for node in self._nodes:
                group.create_task(node.boot())

    async def _crash(self, node: Node) -> None:
        """Now, or as it is about to answer."""
        life = node.life
        if life is not None and self._chance.random() < 0.5:
            life.doomed = True
            await _within(life.dying, _EVERY_S)
        await node.crash(self._chance.choice((0.1, 5, 90)) * self._chance.random())

    async def _restart(self, node: Node) -> None:
        if node.life is None or node.life.owner.frozen:
            return
        await node.leave()
        await asyncio.sleep(self._chance.random())
        await node.boot()

    async def _freeze(self, node: Node) -> None:
        node.freeze()
        await asyncio.sleep(self._chance.choice((1, 30, 61, 150)))
        node.thaw()

    async def _outage(self, node: Node) -> None:
        length_s = self._chance.choice((1, 10, 70)) * self._chance.random()
        self._world.note(f"the store is out of reach for {length_s:.1f} s")
        self._world.out_of_reach_until = self._world.loop.time() + length_s

    async def _clock(self, node: Node) -> None:
        by_s = self._chance.choice((-100, -5, 5, 100)) * self._chance.random()
        self._world.note(f"the clock of {node.name} jumps by {by_s:.1f} s")
        node.clock.skew += by_s

    async def _kill(self, node: Node) -> None:
        alive = [one for one in self._world.processes.values() if one.alive]
        if alive:
            at_work = [one for one in alive if one.run is not None]
            unlucky = self._chance.choice(at_work if at_work and self._chance.random() < 0.7 else alive)
            if self._chance.random() < 0.5:
                unlucky.crash("somebody has killed it")
            else:
                unlucky.lose_worker()


async def _within(event: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False
