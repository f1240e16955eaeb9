"""`python -m tests.soak`: the faults of the tests, many more of them, from a seed and for a bounded time."""

import argparse
import asyncio
import logging
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from itertools import count
from pathlib import Path
from random import Random

from tests.faults.cuts import moments, recorded, survive
from tests.faults.endings import check, check_cut_off
from tests.faults.kills import kill_often
from tests.faults.stops import stop_past_lease
from tests.faults.stories import STORIES
from tests.simulation.many import Sizes, many

CUTS, CUTS_A_RUN = 500, 50
STOPS, STOPS_A_RUN = 200, 40
KILLS = 1_000
SEEDS = 10_000

Part = Callable[[Path, int, float], Coroutine[None, None, str]]
"""Runs in a folder of its own, from a seed, for some minutes at most. Returns its figures; raises `AssertionError`."""


async def stories(folder: Path, seed: int, minutes: float) -> str:
    """A store that fails at each commit and each read of each story, and callers that are cut off at each step."""
    until = time.monotonic() + minutes * 60
    faults, cut_off, told = 0, 0, 0
    for story in STORIES.values():
        if time.monotonic() < until:
            for kind in ("before", "after", "read"):
                faults += await check(story, kind, count(1))
            cut_off += await check_cut_off(story, count(1))
            told += 1
    return f"{told} of {len(STORIES)} stories, {faults} failing calls, {cut_off} calls cut off: all end as without"


async def power(folder: Path, seed: int, minutes: float) -> str:
    """Power cuts under the store."""
    until, random = time.monotonic() + minutes * 60, Random(seed)
    cuts = 0
    while cuts < CUTS and time.monotonic() < until:
        run = folder / str(cuts)
        run.mkdir()
        log = await recorded(run, messages=random.randint(10, 50), size=random.choice((100, 2_000, 6_000)))
        await survive(log, moments(log, CUTS_A_RUN, random), random, run / "after")
        cuts += CUTS_A_RUN
    return f"{cuts} power cuts: no acknowledged loss, every change whole, every database intact"


async def stops(folder: Path, seed: int, minutes: float) -> str:
    """A bridge that is stopped past its lease, and goes on."""
    until = time.monotonic() + minutes * 60
    outcomes: Counter[str] = Counter()
    while outcomes.total() < STOPS and time.monotonic() < until:
        run = folder / str(outcomes.total())
        run.mkdir()
        outcomes += await stop_past_lease(run, STOPS_A_RUN, seed + outcomes.total())
    return f"{outcomes.total()} stops past the lease, {dict(outcomes)}: no stale write accepted"


async def simulation(folder: Path, seed: int, minutes: float) -> str:
    """Simulated nodes in bad weather, each from a seed of its own."""
    sizes, done, turns, began = Sizes(), 0, 0, time.monotonic()
    for report in many(range(seed, seed + SEEDS), sizes, minutes=minutes):
        assert report.broken is None, sizes.told(report)
        done, turns = done + 1, turns + report.turns
    pace = done / (time.monotonic() - began)
    return f"{done} seeds ({seed} to {seed + done - 1}, {pace:.2f} a second) with {turns} turns: no invariant broken"


async def kills(folder: Path, seed: int, minutes: float) -> str:
    """Sudden deaths of a bridge under load."""
    report = await kill_often(folder, kills=KILLS, seed=seed, minutes=minutes, look_every=20)
    assert not report.wrong, "\n".join(report.wrong)
    starts = sorted(report.starts_s)
    answers = ", ".join(f"{many} {answer}" for answer, many in sorted(report.answers.items()))
    return (
        f"{report.kills} kills: {report.accepted} messages accepted, none lost, settled or acted on twice ({answers}); "
        f"start without imports: median {starts[len(starts) // 2]:.2f} s, longest {starts[-1]:.2f} s; "
        f"a whole start at the end: {report.cold_start_s:.2f} s"
    )


PARTS: dict[str, Part] = {part.__name__: part for part in (stories, power, stops, kills, simulation)}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS), metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--minutes", type=float, default=20, help="for each part, at most")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    logging.disable(logging.CRITICAL)  # Faults are what is asked for.
    return max(_run(name, options.seed, options.minutes) for name in options.parts)


def _run(name: str, seed: int, minutes: float) -> int:
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix=f"soak-{name}-") as folder:
        try:
            figures, code = asyncio.run(PARTS[name](Path(folder), seed, minutes)), 0
        except AssertionError as error:
            figures, code = f"seed {seed} FAILED: {error}", 1
    print(f"{name} ({time.monotonic() - began:.0f} s): {figures}", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
