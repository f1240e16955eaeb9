"""`python -m tests.simulation`: many seeds, for as long as they hold."""

import argparse
import sys
import time
from collections import Counter

from tests.simulation.many import MESSAGES, NODES, SESSIONS, Sizes, many


def main() -> int:
    options = _options()
    sizes = Sizes(options.sessions, options.messages, options.nodes)
    seeds = range(options.first, options.first + options.seeds)
    began, counted = time.monotonic(), Counter[str]()
    done = messages = turns = failed = 0
    for report in many(seeds, sizes, minutes=options.minutes, workers=options.workers):
        counted += report.counted
        done, messages, turns = done + 1, messages + report.messages, turns + report.turns
        if report.broken is not None:
            failed += 1
            print(f"\n{sizes.told(report)}", flush=True)
    took = time.monotonic() - began
    print(", ".join(f"{many} {what}" for what, many in sorted(counted.items())))
    print(f"{done} seeds with {messages} messages and {turns} turns in {took:.0f} s: {failed} break an invariant")
    return 1 if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=100, help="how many")
    parser.add_argument("--first", type=int, default=1, help="the first of them")
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    parser.add_argument("--messages", type=int, default=MESSAGES)
    parser.add_argument("--nodes", type=int, default=NODES, help="at most; a seed says how many")
    parser.add_argument("--minutes", type=float, default=60, help="at most")
    parser.add_argument("--workers", type=int, default=None)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
