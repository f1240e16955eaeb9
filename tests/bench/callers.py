"""Callers of the store's port, each with its next change as soon as the one before is durable."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

from bridge.message import Message
from bridge.ports.store import Change, Store
from tests.bench.mail import Mail

Life = tuple[Message, Message, Message]


@dataclass(frozen=True, slots=True)
class Run:
    """`seconds` is how long all of it took, and `taken` how long each caller waited for each of its messages."""

    seconds: float
    taken: list[float]

    @property
    def rate(self) -> float:
        return len(self.taken) / self.seconds


async def accepts(store: Store, mail: Mail, callers: int, each: int) -> Run:
    """`callers` at once, with `each` messages."""
    return await _accepts(store, [[mail.message(n) for _ in range(each)] for n in range(callers)])


async def _accepts(store: Store, messages: Sequence[Sequence[Message]]) -> Run:
    taken: list[float] = []

    async def caller(messages: Sequence[Message]) -> None:
        for message in messages:
            began = time.perf_counter()
            await store.commit(Change(puts=(message,)))
            taken.append(time.perf_counter() - began)

    began = time.perf_counter()
    await asyncio.gather(*[caller(mine) for mine in messages])
    return Run(time.perf_counter() - began, taken)


async def cycles(store: Store, mail: Mail, callers: int, each: int) -> Run:
    """From each accept until its message was acknowledged. The caller's commit wakes the recipient's lane, which
    waits for it, leases the message by a second commit and acknowledges it by a third."""
    taken: list[float] = []

    async def lane(lives: Sequence[Life]) -> None:
        accepted, acknowledged = asyncio.Event(), asyncio.Event()

        async def recipient() -> None:
            for _, leased, acked in lives:
                await accepted.wait()
                accepted.clear()
                await store.commit(Change(puts=(leased,)))
                await store.commit(Change(puts=(acked,)))
                acknowledged.set()

        waiting = asyncio.create_task(recipient())
        for queued, _, _ in lives:
            began = time.perf_counter()
            await store.commit(Change(puts=(queued,)))
            accepted.set()
            await acknowledged.wait()
            acknowledged.clear()
            taken.append(time.perf_counter() - began)
        await waiting

    every = [[mail.life(n) for _ in range(each)] for n in range(callers)]
    began = time.perf_counter()
    await asyncio.gather(*[lane(mine) for mine in every])
    return Run(time.perf_counter() - began, taken)


async def lags(seconds: float, tick_s: float = 0.001) -> list[float]:
    """By how much the loop was late, tick by tick."""
    late: list[float] = []
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while (began := loop.time()) < end:
        await asyncio.sleep(tick_s)
        late.append(max(0.0, loop.time() - began - tick_s))
    return late


async def lags_under(store: Store, mail: Mail, callers: int, each: int) -> list[float]:
    """The same while `callers` accept without a pause."""
    messages = [[mail.message(n) for _ in range(each)] for n in range(callers)]
    sending = asyncio.create_task(_accepts(store, messages))
    late: list[float] = []
    while not sending.done():
        late += await lags(0.02)
    await sending
    return late
