"""Seeds: whatever happens, the invariants hold. `python -m tests.simulation` runs more of them, and tells of one."""

import pytest

from tests.simulation.run import simulate
from tests.simulation.scenario import scenario

_SEEDS = 20
_AT_ONCE = 5


@pytest.mark.parametrize("first", range(1, _SEEDS + 1, _AT_ONCE))
def test_no_seed_breaks_an_invariant(first: int) -> None:
    for seed in range(first, first + _AT_ONCE):
        report = simulate(scenario(seed, sessions=30, messages=150, nodes=1))
        again = f"python -m tests.simulation --seeds 1 --first {seed}"
        assert report.broken is None, f"{again}\n{report.story}\n{report.broken}"
