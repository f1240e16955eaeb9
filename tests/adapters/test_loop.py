"""The loop of the bridge."""

import asyncio
import gc
from collections.abc import Iterator

import pytest

from adapters.loop import run_loop


@pytest.fixture(autouse=True)
def _thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_a_burst_of_mail_is_not_looked_through_by_the_collector_again_and_again() -> None:
    collections: list[str] = []

    async def burst() -> int:
        gc.collect()
        gc.callbacks.append(lambda phase, _: collections.append(phase))
        try:
            waiting = [[number] for number in range(5_000)]
            await asyncio.sleep(0)
            return len(waiting)
        finally:
            gc.callbacks.pop()

    assert run_loop(burst()) == 5_000
    assert collections == []
