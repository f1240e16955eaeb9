"""A node: one bridge after the other under the same name. It can be killed, drained, stopped and gone on with."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from bridge.errors import Refused
from bridge.flow.exchange import Exchange
from bridge.flow.outbox import Outbox
from bridge.ids import NodeId
from bridge.ports.chat import Chat
from bridge.ports.runtime import Runtime
from policy.decide import Rules
from tests.simulation.loop import Owner
from tests.simulation.rooms import RoomsOf
from tests.simulation.runtime import RuntimeOf
from tests.simulation.scenario import SCHEME, Misfortune
from tests.simulation.store import Cut, Lifeline
from tests.simulation.wakes import UnsureWake
from tests.simulation.world import Disconnected, World

T = TypeVar("T")
Patch = Callable[[Exchange], None]


class NodeClock:
    """`bridge.ports.clock.Clock` of one node, off by `skew` seconds."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.skew = 0.0

    def now(self) -> float:
        return self._world.now() + self.skew

    async def sleep(self, seconds: float) -> None:
        await self._world.loop.sleep(seconds)


class Life:
    """One bridge from its start to its end."""

    def __init__(self, world: World, node: NodeId, name: str, clock: NodeClock, patch: Patch) -> None:
        self._world = world
        self._chance = world.scenario.chance(name)
        self._lifeline = Lifeline(world, name)
        self._rooms = RoomsOf(world)
        self._leaving = asyncio.Event()
        self._calls: dict[asyncio.Task[Any], None] = {}
        self.name = name
        self.node = node
        self.owner = Owner(name)
        self.accepting = asyncio.Event()
        self.doomed = False
        self.dying = asyncio.Event()
        self.cut = False
        runtime: Runtime = RuntimeOf(world, self)
        self.exchange = Exchange(
            profile="default",
            version="simulated",
            pid=1,
            store=self._lifeline.as_store(),
            store_name="memory",
            policy=Rules(world.scenario.rules()),
            runtime=runtime,
            chats={SCHEME: self._rooms},
            clock=clock,
            randomness=self._chance,
            limits=world.scenario.limits,
            tools={},
            node=node,
            confirm_in_chat=False,
        )
        ledger = self.exchange._ledger
        ledger.wake = UnsureWake(ledger.wake, world, world.scenario.chance(f"wakes/{name}"))
        self.exchange._outbox.run = self._posts  # type: ignore[method-assign]
        patch(self.exchange)
        self.task = world.loop.create_task(self._live(), context=self.owner.context)

    async def _posts(self, chat: Chat) -> None:
        """One bridge at a time posts in the rooms, as one polls a token; its death, and nothing else, makes room."""
        async with self._world.token:
            await Outbox.run(self.exchange._outbox, chat)

    async def _live(self) -> None:
        async with self.exchange:
            await self.exchange.start([one.declared() for one in self._world.scenario.members])
            await self.exchange.begin()
            self.accepting.set()
            await self._leaving.wait()
            await self.exchange.drain()

    async def call(self, do: Callable[[Exchange], Awaitable[T]], *, breaks: bool = True) -> T:
        """A request over a connection, carried out by the bridge even where its caller is gone. `breaks` says that
        what comes back may get lost on its way; else that takes the bridge's death."""
        if self.cut or not self.accepting.is_set():
            raise Disconnected
        task = self._world.loop.create_task(_awaited(do, self.exchange), context=self.owner.context.copy())
        self._calls[task] = None
        task.add_done_callback(self._calls.pop)
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            task.add_done_callback(_unheard)
            if self._chance.random() < 0.5:
                task.cancel()
            raise
        if task.cancelled() or isinstance(task.exception(), Cut):
            raise Disconnected
        if not breaks and self.doomed:
            self.dying.set()
            while not self.cut:
                await self._world.loop.sleep(0.05)
            raise Disconnected
        if breaks and self._world.suffers(Misfortune.BROKEN_CALLS) and self._chance.random() < 0.03:
            raise Disconnected
        done: T = task.result()
        return done

    async def leave(self) -> None:
        """Drains, closes its connections, and returns once it has ended."""
        self._leaving.set()
        await asyncio.wait([self.task])
        for call in self._calls:
            call.cancel()
        if self.owner.tasks:
            await asyncio.wait(list(self.owner.tasks.values()), timeout=60)

    async def kill(self) -> None:
        """Nothing of it reaches anybody from now on."""
        self.cut = self._lifeline.cut = self._rooms.cut = True
        self._world.loop.thaw(self.owner)
        for round_ in range(200):
            if round_ % 50 == 0:
                self.owner.kill()
            await asyncio.sleep(0)
            if not self.owner.tasks:
                break
        else:
            left = list(self.owner.tasks.values())[:3]
            self._world.broke("tasks", f"{self.name} was killed, and of it there are still {left}")
        for process in self._world.processes.values():
            if process.life is self and process.alive:
                process.abandon()


def _unheard(task: asyncio.Task[Any]) -> None:
    """Nobody is there any more to be told of its error."""
    if not task.cancelled():
        task.exception()


async def _awaited(do: Callable[[Exchange], Awaitable[T]], exchange: Exchange) -> T:
    return await do(exchange)


class Node:
    def __init__(self, world: World, number: int, patch: Patch = lambda exchange: None) -> None:
        self._world = world
        self._patch = patch
        self._lives = 0
        self.name = f"node-{number}"
        self.clock = NodeClock(world)
        self.life: Life | None = None

    async def boot(self) -> None:
        """Starts a bridge, again and again until one accepts, as a supervisor does."""
        while self.life is None:
            self._lives += 1
            life = self.life = Life(
                self._world, NodeId(self.name), f"{self.name}.{self._lives}", self.clock, self._patch
            )
            self._world.note(f"{life.name} starts")
            accepting = self._world.loop.create_task(life.accepting.wait())
            await asyncio.wait([accepting, life.task], return_when=asyncio.FIRST_COMPLETED)
            accepting.cancel()
            if life.cut:
                return
            if life.task.done():
                self._ended(life)
                self.life = None
                await asyncio.sleep(5)

    async def crash(self, down_s: float) -> None:
        await self.kill()
        await asyncio.sleep(down_s)
        await self.boot()

    async def kill(self) -> None:
        life, self.life = self.life, None
        if life is not None:
            self._world.note(f"{life.name} is killed")
            await life.kill()

    async def leave(self) -> None:
        life, self.life = self.life, None
        if life is not None:
            self._world.note(f"{life.name} drains")
            await life.leave()
            self._ended(life)

    def freeze(self) -> None:
        if self.life is not None:
            self._world.note(f"{self.life.name} is frozen")
            self._world.loop.freeze(self.life.owner)

    def thaw(self) -> None:
        if self.life is not None and self.life.owner.frozen:
            self._world.note(f"{self.life.name} goes on")
            self._world.loop.thaw(self.life.owner)

    def _ended(self, life: Life) -> None:
        """A bridge may end because its store cannot be reached; what else ends it is a defect."""
        error = None if life.task.cancelled() else life.task.exception()
        life.cut = True
        if error is not None and not _all_refused(error):
            self._world.broke("defect", f"{life.name} ended by {error!r}")
        elif left := [task for task in life.owner.tasks.values() if not task.done()]:
            self._world.broke("tasks", f"{life.name} has left {left[:3]}")


def _all_refused(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return all(_all_refused(one) for one in error.exceptions)
    return isinstance(error, Refused)
