"""Waits before another attempt: they grow, end at a cap, and fall anywhere below it."""

import random

import pytest

from bridge.backoff import FullJitter


class Chance(random.Random):
    def __init__(self, value: float) -> None:
        super().__init__()
        self._value = value

    def random(self) -> float:
        return self._value


@pytest.mark.parametrize(("attempts", "ceiling"), [(0, 2.0), (1, 2.0), (2, 4.0), (5, 32.0), (6, 60.0), (5_000, 60.0)])
def test_the_ceiling_doubles_up_to_its_cap(attempts: int, ceiling: float) -> None:
    assert FullJitter(Chance(1.0), cap_s=60).after(attempts) == ceiling
    assert FullJitter(Chance(0.25), cap_s=60).after(attempts) == ceiling / 4
    assert FullJitter(Chance(0.0), cap_s=60).after(attempts) == 0
