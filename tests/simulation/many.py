"""Many seeds, on all processors."""

import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass

from tests.simulation.run import Report, simulate
from tests.simulation.scenario import scenario

SESSIONS, MESSAGES, NODES = 30, 150, 3
_BEGUN = 12
"""So many are begun before the first of them is asked for: no processor waits for a long one on another."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """`nodes` at most: a seed says how many."""

    sessions: int = SESSIONS
    messages: int = MESSAGES
    nodes: int = NODES

    def run(self, seed: int) -> Report:
        return simulate(scenario(seed, sessions=self.sessions, messages=self.messages, nodes=self.nodes))

    def told(self, report: Report) -> str:
        """The story of a broken invariant, and what replays it."""
        sizes = f"--sessions {self.sessions} --messages {self.messages} --nodes {self.nodes}"
        again = f"python -m tests.simulation --seeds 1 --first {report.seed} {sizes}"
        return f"{report.story}\nseed {report.seed}: {report.broken}\nagain: {again}"


def many(seeds: Iterable[int], sizes: Sizes, *, minutes: float, workers: int | None = None) -> Iterator[Report]:
    """In the order of the seeds, until the time is over. Without `workers` each processor has one."""
    until = time.monotonic() + minutes * 60
    with ProcessPoolExecutor(workers) as pool:
        begun: deque[Future[Report]] = deque()
        for seed in seeds:
            if time.monotonic() >= until:
                break
            begun.append(pool.submit(sizes.run, seed))
            if len(begun) >= _BEGUN:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()
