"""Two bridges over one store, each with a clock of its own, and an agent that works for as long as it is let."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from adapters.memory.store import MemoryStore
from bridge.errors import Refused
from bridge.limits import Limits
from bridge.ports.runtime import Prompt
from bridge.turn import Turn
from bridge.views import Receipt
from tests.fakes.clock import ManualClock
from tests.fakes.runtime import FakeAgent, FakeRuntime
from tests.flow.stage import Stage, Tools, ident, session, stage

LEASE_S = Limits().lease_s


@dataclass
class Worker:
    """An agent that works until it is told to go on, and then does `then`."""

    on: Stage
    then: Callable[[Tools], Awaitable[object]] | None = None
    began: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    outcome: "asyncio.Future[object]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    agent: FakeAgent | None = None

    async def __call__(self, agent: FakeAgent, prompt: Prompt) -> str:
        self.agent = agent
        tools = self.on.tools(agent)
        await tools.receive()
        self.began.set()
        await self.go_on.wait()
        if self.then is not None:
            try:
                self.outcome.set_result(await self.then(tools))
            except Refused as refused:
                self.outcome.set_result(refused)
        return "what I found"


async def at_work(on: Stage) -> tuple[Worker, Receipt]:
    """The agent of `career` in the midst of a task, and what was sent to it."""
    worker = Worker(on)
    on.agent("career", worker)
    sent = await on.send("career", "a long task")
    await worker.began.wait()
    return worker, sent


@asynccontextmanager
async def two_bridges(*, held: bool = False) -> AsyncIterator[tuple[Stage, Stage]]:
    store = MemoryStore()
    sessions = [session("desk"), session("career")]
    first = FakeRuntime(held={ident("career"): asyncio.Event()} if held else {})
    async with (
        stage(*sessions, store=store, node="first", clock=ManualClock(), runtime=first) as one,
        stage(*sessions, store=store, node="second", clock=ManualClock()) as other,
    ):
        yield one, other


async def live(on: Stage) -> Turn:
    turn = await on.store.live_turn(ident("career"))
    assert turn is not None
    return turn
