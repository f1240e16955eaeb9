"""What was acknowledged survives a power cut, whatever of the rest the disk has kept (invariant 1)."""

from pathlib import Path
from random import Random

import pytest

from tests.faults.cuts import moments, recorded, survive
from tests.faults.disk import Deleted, Synced


async def test_no_power_cut_loses_what_was_acknowledged_or_leaves_a_change_in_half(tmp_path: Path) -> None:
    log, random = await recorded(tmp_path, messages=40, size=5_000), Random(1)
    await survive(log, moments(log, 20, random), random, tmp_path / "after")


async def test_after_a_power_cut_while_the_database_is_made_it_is_made_anew(tmp_path: Path) -> None:
    log = await recorded(tmp_path, messages=1, size=200)
    made = next(number for number, op in enumerate(log) if op == Deleted("tieline.db-journal"))
    await survive(log, range(made + 3), Random(3), tmp_path / "after")


async def test_a_disk_that_does_not_sync_is_found_out(tmp_path: Path) -> None:
    log, random = await recorded(tmp_path, messages=4, size=200), Random(1)
    lying = [op for op in log if op != Synced("tieline.db-wal")]
    with pytest.raises(AssertionError, match="a power cut before operation"):
        await survive(lying, range(len(lying) - 20, len(lying), 5), random, tmp_path / "after")
