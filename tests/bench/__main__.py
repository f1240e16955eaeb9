"""`make bench`: how near the store comes to its disk, and what a user gets of that (`--help` tells the options)."""

import argparse
import json
import platform
import sqlite3
import tempfile
from pathlib import Path

from adapters.loop import run_loop
from tests.bench.admission import admission
from tests.bench.deciding import deciding
from tests.bench.durable import durable
from tests.bench.idle import idle
from tests.bench.large import large
from tests.bench.pipe import pipe
from tests.bench.result import Result, as_json, as_svg, table
from tests.bench.unseen import unseen
from tests.bench.workers import workers


async def measured(folder: Path, *, quick: bool) -> list[Result]:
    return [
        *await durable(folder, rounds=4 if quick else 25, within_s=10 if quick else 60),
        *await large(folder, messages=50_000 if quick else 1_000_000, rounds=4 if quick else 24),
        *await idle(folder, sessions=1_000 if quick else 10_000),
        *await admission(folder, rounds=2 if quick else 10),
        *deciding(rounds=2 if quick else 10),
        *await unseen(folder, rounds=40 if quick else 400),
        *await pipe(folder, rounds=10 if quick else 50),
        *await workers(folder, rounds=10 if quick else 100, cold=3 if quick else 10, sessions=10 if quick else 50),
    ]


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    options.add_argument("--quick", action="store_true", help="fewer rounds and less data: for work on the code")
    options.add_argument("--out", type=Path, default=Path("build/bench"), help="the folder of bench.json and bench.svg")
    given = options.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=given.out) as folder:
        results = run_loop(measured(Path(folder).resolve(), quick=given.quick))
    machine = {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version, "machine": platform.platform()}
    (given.out / "bench.json").write_text(
        json.dumps({**machine, "results": as_json(results)}, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    (given.out / "bench.svg").write_text(as_svg(results), encoding="utf-8")
    print(table(results))


if __name__ == "__main__":
    main()
