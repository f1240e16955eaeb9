"""A bridge that is killed at any moment under load keeps its promises (invariants 1, 2 and 5)."""

import sys
from pathlib import Path

import pytest

from tests.faults.kills import kill_often

KILLS = 15


@pytest.mark.timeout(180)
@pytest.mark.skipif(sys.platform != "linux", reason="waits for the end of processes that are not its own")
async def test_a_bridge_that_is_killed_again_and_again_loses_nothing_and_does_nothing_twice(tmp_path: Path) -> None:
    report = await kill_often(tmp_path, kills=KILLS, seed=1)
    assert report.wrong == []
    assert report.accepted >= KILLS / 2
    assert report.acted_on > 0
    assert set(report.answers) <= {"answered", "failed"}
