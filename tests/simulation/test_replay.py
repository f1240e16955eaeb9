"""A seed is a whole run: the same one again, to the last line, in this process and in another one."""

import os
import subprocess
import sys

import pytest

from tests.simulation.run import simulate
from tests.simulation.scenario import scenario

pytestmark = pytest.mark.no_cover  # measured, it takes far longer, and what it runs other tests cover

_DIGEST = """
from tests.simulation.run import simulate
from tests.simulation.scenario import scenario
print(simulate(scenario({seed}, sessions=12, messages=60, nodes=2)).digest)
"""


def test_a_seed_replays_exactly() -> None:
    runs = [simulate(scenario(seed, sessions=12, messages=60, nodes=2)) for seed in (5, 5, 6)]
    assert runs[0].digest == runs[1].digest != runs[2].digest
    assert runs[0].turns > 20


def test_a_seed_replays_exactly_in_another_process_whatever_its_hashes_are() -> None:
    digests = {
        subprocess.run(
            [sys.executable, "-c", _DIGEST.format(seed=7)],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert len(digests) == 1
