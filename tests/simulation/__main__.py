"""`python -m tests.simulation`: many seeds, for as long as they hold."""

import argparse
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import islice

from tests.simulation.run import Report, simulate
from tests.simulation.scenario import scenario


def main() -> int:
    options = _options()
    began = time.monotonic()
    done = messages = 0
    failed: list[Report] = []
    for report in _reports(options):
        done, messages = done + 1, messages + report.messages
        if report.broken is not None:
            failed.append(report)
            print(
                f"\n{report.story}\n\nseed {report.seed}: {report.broken}\n{_again(report.seed, options)}", flush=True
            )
        if time.monotonic() - began > options.minutes * 60:
            break
    took = time.monotonic() - began
    print(f"{done} seeds, {messages} messages, {len(failed)} failed, {took:.0f} s")
    return 1 if failed else 0


def _reports(options: argparse.Namespace) -> Iterator[Report]:
    seeds = range(options.first, options.first + options.seeds)
    one = partial(run, sessions=options.sessions, messages=options.messages, nodes=options.nodes)
    if options.workers == 1:
        yield from map(one, seeds)
        return
    with ProcessPoolExecutor(options.workers) as pool:
        try:
            # A few at a time, so that it ends soon after it is told to.
            rest = iter(seeds)
            while batch := list(islice(rest, 8 * options.workers)):
                yield from pool.map(one, batch)
        finally:
            pool.shutdown(cancel_futures=True)


def run(seed: int, *, sessions: int, messages: int, nodes: int) -> Report:
    return simulate(scenario(seed, sessions=sessions, messages=messages, nodes=nodes))


def _again(seed: int, options: argparse.Namespace) -> str:
    sizes = f"--sessions {options.sessions} --messages {options.messages} --nodes {options.nodes}"
    return f"again: python -m tests.simulation --seeds 1 --first {seed} {sizes}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--sessions", type=int, default=30)
    parser.add_argument("--messages", type=int, default=150)
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--workers", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
