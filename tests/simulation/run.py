"""One run from one seed: a crowd in bad weather, then everything heals, then every life ends."""

import asyncio
import gc
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bridge.flow.exchange import Exchange
from bridge.message import Message
from bridge.turn import Turn
from tests.simulation.journal import Broken
from tests.simulation.judge import Judge
from tests.simulation.loop import Stuck, VirtualLoop, acting
from tests.simulation.node import Node
from tests.simulation.people import People, parked
from tests.simulation.rooms import Rooms
from tests.simulation.scenario import Scenario
from tests.simulation.store import Cut, WatchedStore
from tests.simulation.verdict import Finding, forgotten, stands_still, untrue
from tests.simulation.weather import Weather
from tests.simulation.world import World

_CROWD_S = 240.0
_HEALS_WITHIN_S = 900.0
_LOOKS_EVERY_S = 15.0
_LIVES = 4


@dataclass(frozen=True, slots=True)
class Report:
    seed: int
    digest: str
    messages: int
    turns: int
    lasted_s: float
    counted: Counter[str]
    broken: Broken | None
    story: str


def simulate(scenario: Scenario, patch: Callable[[Exchange], None] = lambda exchange: None) -> Report:
    """`patch` is applied to every bridge as it starts: the place for a planted fault."""
    loop = VirtualLoop()  # type: ignore[abstract]
    world = World(scenario, loop)
    world.store = WatchedStore(world)
    world.rooms = Rooms(world)
    Judge(world)
    with _defects(world), _uncollected():
        try:
            loop.run(_guarded(world, patch))
        except Stuck as stuck:
            world.broke("liveness", str(stuck))
    for message, defect in loop.defects:
        if not isinstance(defect, Cut):
            world.broke("defect", f"{message}: {defect!r}")
    broken = world.broken
    return Report(
        seed=scenario.seed,
        digest=world.journal.digest(),
        messages=len(world.archive.every(Message)),
        turns=len(world.archive.every(Turn)),
        lasted_s=loop.time(),
        counted=world.counted,
        broken=broken,
        story=world.journal.story(broken.about if broken else (), last=40),
    )


async def _guarded(world: World, patch: Callable[[Exchange], None]) -> None:
    """Ends with the run, or as soon as something is broken."""
    run = world.loop.create_task(_run(world, patch))
    world.ends_with(run)
    await asyncio.wait([run])
    if not run.cancelled() and (error := run.exception()) is not None:
        raise error


async def _run(world: World, patch: Callable[[Exchange], None]) -> None:
    nodes = [Node(world, number, patch) for number in range(1, world.scenario.nodes + 1)]
    people, weather, over = People(world, nodes), Weather(world, nodes), asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for node in nodes:
            group.create_task(node.boot())
    async with asyncio.TaskGroup() as group:
        group.create_task(people.crowd(_CROWD_S, over))
        await weather.rage(over)
        world.note("everything heals")
        await weather.clear()
    await _heal(world, people)
    _find(world, stands_still(world))
    _find(world, forgotten(world))
    for _ in range(_LIVES):
        # The end of a life is told, and what tells of it has a life of its own.
        world.note("every life ends")
        for node in nodes:
            node.clock.skew += world.scenario.limits.retention_s
        await _heal(world, people)
        if next(untrue(world), None) is None:
            break
    _find(world, untrue(world))
    for node in nodes:
        await node.leave()


async def _heal(world: World, people: People) -> None:
    """People set right what has gone wrong, until nothing is left of it or it has taken too long."""
    until = world.loop.time() + _HEALS_WITHIN_S
    await asyncio.sleep(3 * _LOOKS_EVERY_S)
    while world.loop.time() < until:
        for member in world.scenario.members:
            session = await world.store.session(member.id)
            waits = session is not None and any(one.rests_until is not None for one in session.standbys)
            if session is not None and (session.rested or session.paused is not None or waits):
                await people.set_right(member)
        for message in parked(world):
            await people.decide(message)
        if next(stands_still(world), None) is None:
            return
        await asyncio.sleep(_LOOKS_EVERY_S)


def _find(world: World, findings: Iterator[Finding]) -> None:
    for invariant, what, about in findings:
        world.broke(invariant, what, *about)


@contextmanager
def _uncollected() -> Iterator[None]:
    """A run makes many objects and few cycles of them: to look for these all the time takes a tenth of it."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


@contextmanager
def _defects(world: World) -> Iterator[None]:
    """What the core logs as an error is a defect, but for its last words."""

    class Defects(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            owner = acting()
            if owner is None or not owner.killed:
                world.broke(
                    "defect", f"{record.getMessage()} {record.exc_info[1]!r}" if record.exc_info else record.msg
                )

    logger, handler = logging.getLogger("bridge"), Defects(logging.ERROR)
    level, propagates, disabled = logger.level, logger.propagate, logger.manager.disable
    logger.addHandler(handler)
    logger.setLevel(logging.ERROR)
    logger.propagate = False
    logging.disable(logging.NOTSET)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagates
        logging.disable(disabled)
