"""Callers of the store's port, each with its next message as soon as the one before is durable. All changes are made
beforehand, as the rows of the ceilings are."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from bridge.ports.store import Change, Store
from tests.bench.mail import Mail

Life = tuple[Change, Change]
_Made = TypeVar("_Made")


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
    return await _accepts(store, _changes(mail, callers, each))


def _changes(mail: Mail, callers: int, each: int) -> list[tuple[Change, ...]]:
    return _in_turn(callers, each, lambda n: Change(puts=(mail.message(n),)))


def _in_turn(callers: int, each: int, make: Callable[[int], _Made]) -> list[tuple[_Made, ...]]:
    """For each caller what it sends. Made in the order in which all of it is sent, so that ids grow as they do where
    each is made when it is needed, and as those of the ceilings do."""
    rounds = [[make(n) for n in range(callers)] for _ in range(each)]
    return list(zip(*rounds, strict=True))


async def _accepts(store: Store, changes: Sequence[Sequence[Change]]) -> Run:
    taken: list[float] = []

    async def caller(changes: Sequence[Change]) -> None:
        for change in changes:
            began = time.perf_counter()
            await store.commit(change)
            taken.append(time.perf_counter() - began)

    began = time.perf_counter()
    await asyncio.gather(*[caller(mine) for mine in changes])
    return Run(time.perf_counter() - began, taken)


async def lags_under(
    store: Store, mail: Mail, callers: int, each: int, taken: Callable[[], list[float]]
) -> list[float]:
    """What `taken` tells of the time in which `callers` accept without a pause."""
    changes = _changes(mail, callers, each)
    await asyncio.sleep(0.02)
    taken()
    await _accepts(store, changes)
    return taken()


async def cycles(store: Store, mail: Mail, callers: int, each: int) -> Run:
    """Each message wakes the lane of its recipient, which acknowledges it by a second commit; its caller sends the next
    one then. The lane waits, so that the message is accepted as leased to the lane's next turn already, as the bridge
    does it. `taken` is from accept to acknowledgement."""
    taken: list[float] = []

    async def caller(lives: Sequence[Life], lane: _Lane) -> None:
        for leased, acked in lives:
            began = time.perf_counter()
            await store.commit(leased)
            await lane.wake(acked)
            taken.append(time.perf_counter() - began)

    every = _in_turn(callers, each, lambda n: _life(mail, n))
    lanes = [_Lane() for _ in every]
    waiting = [asyncio.create_task(lane.run(store)) for lane in lanes]
    await asyncio.sleep(0)
    began = time.perf_counter()
    await asyncio.gather(*[caller(*mine) for mine in zip(every, lanes, strict=True)])
    seconds = time.perf_counter() - began
    for lane_task in waiting:
        lane_task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    return Run(seconds, taken)


def _life(mail: Mail, lane: int) -> Life:
    leased, acked = mail.life(lane)
    return Change(puts=(leased,)), Change(puts=(acked,))


class _Lane:
    """Acknowledges one message after the other."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._next: asyncio.Future[Change] = self._loop.create_future()
        self._done: asyncio.Future[None] = self._loop.create_future()

    def wake(self, acked: Change) -> "asyncio.Future[None]":
        self._done = self._loop.create_future()
        self._next.set_result(acked)
        return self._done

    async def run(self, store: Store) -> None:
        while True:
            acked = await self._next
            self._next = self._loop.create_future()
            await store.commit(acked)
            self._done.set_result(None)
