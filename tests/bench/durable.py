"""The store beside its disk: accepting, the whole cycle, and how late the loop becomes.

All are measured in turn, round by round, for what else the machine does comes and goes. A ratio is that of the middle
round: within one the machine is the same to both, and a lucky moment of either counts for nothing.
"""

import time
from collections.abc import Mapping
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from adapters.sqlite.store import open_store
from bridge.ports.store import Store
from tests.bench.callers import accepts, cycles, lags_under
from tests.bench.ceilings import Ceiling
from tests.bench.lag import at_rest, poked
from tests.bench.mail import Mail
from tests.bench.result import Result, micros, p50, p99, rate


@dataclass(slots=True)
class _Rounds:
    """The seconds a message, or the p50 or p99, of each measure in each round."""

    found: dict[str, list[float]] = field(default_factory=dict)

    def note(self, name: str, seconds: float) -> None:
        self.found.setdefault(name, []).append(seconds)

    def __getitem__(self, name: str) -> float:
        return median(self.found[name])

    def ratio(self, one: str, other: str) -> float:
        return median(a / b for a, b in zip(self.found[one], self.found[other], strict=True))


async def durable(folder: Path, *, rounds: int, within_s: float) -> list[Result]:
    """At most `rounds` of them, and no new one after `within_s`. Each measure has a file of its own, for what it leaves
    behind makes the next one slower."""
    mail, rounds_run = Mail(), _Rounds()
    async with AsyncExitStack() as files:
        ceilings = {name: files.enter_context(closing(Ceiling(folder / f"{name}.db"))) for name in ("g1", "g64", "C64")}
        stores = {}
        for name in ("accept 1", "cycle 1", "accept 64", "accept 256", "cycle 64", "lag"):
            (folder / name).mkdir()
            stores[name] = await open_store(folder / name / "store.db")
            files.push_async_callback(stores[name].close)
        end = time.monotonic() + within_s
        for number in range(rounds):
            await _round(ceilings, stores, mail, rounds_run)
            if time.monotonic() > end and number > 1:
                break
    return _results(rounds_run)


async def _round(ceilings: Mapping[str, Ceiling], stores: Mapping[str, Store], mail: Mail, of: _Rounds) -> None:
    of.note("g1", p50(ceilings["g1"].inserts(mail, 40, 1)))
    of.note("accept 1", p50((await accepts(stores["accept 1"], mail, 1, 40)).taken))
    of.note("cycle 1", p50((await cycles(stores["cycle 1"], mail, 1, 25)).taken))
    of.note("g64", sum(ceilings["g64"].inserts(mail, 16, 64)) / (16 * 64))
    of.note("accept 64", 1 / (await accepts(stores["accept 64"], mail, 64, 16)).rate)
    of.note("accept 256", 1 / (await accepts(stores["accept 256"], mail, 256, 4)).rate)
    of.note("C64", sum(ceilings["C64"].cycles(mail, 8, 64)) / (8 * 64))
    of.note("cycle 64", 1 / (await cycles(stores["cycle 64"], mail, 64, 8)).rate)
    async with poked() as taken:
        of.note("idle loop", p99(await at_rest(taken, 0.15)))
        of.note("lag", p99(await lags_under(stores["lag"], mail, 64, 40, taken)))


def _results(of: _Rounds) -> list[Result]:
    def rates(name: str, measure: str, against: str, must: float, aim: float) -> Result:
        beside = f"{against} {rate(1 / of[against])}"
        return Result(name, rate(1 / of[measure]), beside, of.ratio(against, measure), must, aim)

    def times(name: str, measure: str, must: float, aim: float) -> Result:
        beside = f"a raw commit {micros(of['g1'])}"
        return Result(name, micros(of[measure]), beside, of.ratio(measure, "g1"), must, aim, less_is_better=True)

    lag = of["lag"] * 1_000
    return [
        rates("accept, 64 callers ÷ g64", "accept 64", "g64", 0.5, 0.7),
        rates("accept, 256 callers ÷ g64", "accept 256", "g64", 0.75, 1.0),
        rates("accept → wake → lease → ack, 64 callers ÷ C64", "cycle 64", "C64", 0.5, 0.75),
        times("accept p50, one caller ÷ raw commit", "accept 1", 2, 1.6),
        times("cycle p50, one caller ÷ raw commit", "cycle 1", 4, 3),
        Result(
            "loop lag p99 under 64 callers, in ms",
            micros(of["lag"]),
            f"idle loop {micros(of['idle loop'])}",
            lag,
            2,
            1,
            less_is_better=True,
        ),
    ]
