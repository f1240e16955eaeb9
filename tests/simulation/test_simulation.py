"""Seeds: whatever happens, the invariants hold. These are for every day: `make seeds` runs as many as must hold before
a change is merged, and `python -m tests.simulation` replays one."""

import pytest

from tests.simulation.many import Sizes

pytestmark = pytest.mark.no_cover  # measured, it takes far longer, and what it runs other tests cover

SEEDS = 40
_AT_ONCE = 5


@pytest.mark.parametrize("first", range(1, SEEDS + 1, _AT_ONCE))
def test_no_seed_breaks_an_invariant(first: int) -> None:
    sizes = Sizes()
    for seed in range(first, first + _AT_ONCE):
        report = sizes.run(seed)
        assert report.broken is None, sizes.told(report)
        assert report.messages >= sizes.messages
