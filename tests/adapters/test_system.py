"""The machine's own clock and randomness do what the ports say."""

import time

from adapters.system import SystemClock, system_randomness
from bridge.ids import Ids
from bridge.ports.clock import Clock, Randomness


async def test_the_clock_tells_the_seconds_since_1970() -> None:
    clock: Clock = SystemClock()
    before = time.time()
    await clock.sleep(0)
    assert before <= clock.now() <= time.time()


def test_ids_of_this_machine_differ() -> None:
    randomness: Randomness = system_randomness()
    ids = Ids(SystemClock(), randomness)
    assert len({ids.new() for _ in range(1_000)}) == 1_000
    assert 0 <= randomness.random() < 1
