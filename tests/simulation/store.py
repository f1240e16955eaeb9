"""The one store of all nodes, which notes and judges every change, and the way of one node to it, which can fail."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, cast

from adapters.memory.store import MemoryStore
from bridge.errors import Code, Refused
from bridge.message import Message
from bridge.ports.store import Change, Store
from bridge.post import Post
from bridge.request import Request
from bridge.session import Session
from bridge.turn import Turn
from tests.simulation.archive import Before
from tests.simulation.journal import brief
from tests.simulation.scenario import Misfortune
from tests.simulation.world import World

Watcher = Callable[[Change, Before], None]


class WatchedStore(MemoryStore):
    """Everything that is stored is put on record, and judged."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world
        self._watchers: list[Watcher] = []

    def watch(self, watcher: Watcher) -> None:
        """It is called after each change with what was on record before."""
        self._watchers.append(watcher)

    async def commit(self, change: Change) -> None:
        await super().commit(change)
        before = self._world.archive.enter(change.puts)
        for line in _told(change, before):
            self._world.note(line)
        for watcher in self._watchers:
            watcher(change, before)


def _told(change: Change, before: Before) -> Iterable[str]:
    for one in change.puts:
        match one:
            case Message():
                was = before[Message, one.id]
                moved = was is None or (was.state, was.read_at) != (one.state, one.read_at)
                if moved:
                    route = f"{brief(one.sender)} > {brief(one.recipient)}"
                    yield f"message {brief(one.id)} {one.intent} {route} {one.outcome or one.state} {one.reason or ''}"
            case Request():
                yield f"request {brief(one.id)} {one.state} for {brief(one.parent)} {one.reason or ''}"
            case Turn():
                inputs = " ".join(map(brief, one.inputs))
                yield f"turn {brief(one.id)} of {one.session} over {inputs} {one.state} tools={one.tools_begun}"
            case Post():
                yield f"post {one.key} at {one.place} {one.state} attempts={one.attempts}"
            case Session() if before[Session, one.id] is not None:
                yield f"session {one.id} rested={one.rested} paused={one.paused}"
            case _:
                pass


_FAST_S = 0.01


class Cut(BaseException):
    """Whoever asks is dead: nothing of it reaches anybody any more. No boundary of the core may hold it up."""


class Lifeline:
    """`bridge.ports.store.Store` as one life of a node has it: with the waits of a disk, failures, and an end."""

    def __init__(self, world: World, name: str) -> None:
        self._world = world
        self._chance = world.scenario.chance(f"store/{name}")
        self._latency_s = world.scenario.latency_s
        self.cut = False

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        method, loop = getattr(self._world.store, name), self._world.loop
        writes = name == "commit"

        async def call(*args: object) -> Any:
            if (wait_s := self._wait_s(writes)) is not None:
                await loop.sleep(wait_s)
            self._reach()
            result = await method(*args)
            if writes:
                await self._after()
            elif self._latency_s > _FAST_S and self._chance.random() < 0.15:
                # What was read may be old when it is heard of.
                await loop.sleep(self._latency_s * self._chance.random())
            return result

        setattr(self, name, call)
        return call

    def as_store(self) -> Store:
        return cast(Store, self)

    def _wait_s(self, writes: bool) -> float | None:
        """How long it takes the call to get there; None where it is there at once."""
        if self.cut:
            raise Cut
        draw = self._chance.random()
        if draw > 0.998 and self._world.suffers(Misfortune.SLOW_STORE):
            return 20 * self._chance.random()
        if writes:
            return self._latency_s * draw
        if draw < 0.15:
            return self._latency_s * draw if self._latency_s > _FAST_S else 0
        return None

    def _reach(self) -> None:
        if self.cut:
            raise Cut
        world = self._world
        away = world.out_of_reach_until > world.loop.time()
        if away or (Misfortune.REFUSALS in world.misfortunes and self._chance.random() < 0.003):
            raise Refused(Code.UNAVAILABLE, "the store is out of reach")

    async def _after(self) -> None:
        """A change that is stored, and whose caller may not hear of it."""
        if self._chance.random() < 0.3:
            await self._world.loop.sleep(0.002)
        if self.cut:
            raise Cut
        if self._world.suffers(Misfortune.AMBIGUOUS) and self._chance.random() < 0.01:
            raise Refused(Code.UNAVAILABLE, "nobody knows whether it was stored")
