from pathlib import Path

from tests.faults.stops import stop_past_lease


async def test_a_bridge_that_was_stopped_past_its_lease_writes_nothing_of_its_turn_when_it_goes_on(
    tmp_path: Path,
) -> None:
    outcomes = await stop_past_lease(tmp_path, runs=6, seed=1)
    assert outcomes["fenced"] >= 3, outcomes
