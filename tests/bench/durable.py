"""The store beside its disk: accepting, the whole cycle, and how late the loop becomes.

All are measured in turn, round by round, for what else the machine does comes and goes. Of each the least disturbed
round counts: other programs only ever add time.
"""

import time
from collections.abc import Mapping
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

from adapters.sqlite.store import open_store
from bridge.ports.store import Store
from tests.bench.callers import accepts, cycles, lags, lags_under
from tests.bench.ceilings import Ceiling
from tests.bench.mail import Mail
from tests.bench.result import Result, micros, p50, p99, rate


@dataclass(slots=True)
class _Best:
    """The least seconds a message, or the least p50 or p99, of each measure."""

    found: dict[str, float] = field(default_factory=dict)

    def note(self, name: str, seconds: float) -> None:
        self.found[name] = min(seconds, self.found.get(name, seconds))

    def __getitem__(self, name: str) -> float:
        return self.found[name]


async def durable(folder: Path, *, rounds: int, within_s: float) -> list[Result]:
    """At most `rounds` of them, and no new one after `within_s`. Each measure has a file of its own, for what it leaves
    behind makes the next one slower."""
    mail, best = Mail(), _Best()
    async with AsyncExitStack() as files:
        ceilings = {name: files.enter_context(closing(Ceiling(folder / f"{name}.db"))) for name in ("g1", "g64", "C64")}
        stores = {}
        for name in ("accept 1", "cycle 1", "accept 64", "accept 256", "cycle 64", "lag"):
            (folder / name).mkdir()
            stores[name] = await open_store(folder / name / "store.db")
            files.push_async_callback(stores[name].close)
        end = time.monotonic() + within_s
        for number in range(rounds):
            await _round(ceilings, stores, mail, best)
            if time.monotonic() > end and number > 1:
                break
    return [*_results(best)]


async def _round(ceilings: Mapping[str, Ceiling], stores: Mapping[str, Store], mail: Mail, best: _Best) -> None:
    best.note("g1", p50(ceilings["g1"].inserts(mail, 40, 1)))
    best.note("accept 1", p50((await accepts(stores["accept 1"], mail, 1, 40)).taken))
    best.note("cycle 1", p50((await cycles(stores["cycle 1"], mail, 1, 25)).taken))
    best.note("g64", sum(ceilings["g64"].inserts(mail, 16, 64)) / (16 * 64))
    best.note("accept 64", 1 / (await accepts(stores["accept 64"], mail, 64, 16)).rate)
    best.note("accept 256", 1 / (await accepts(stores["accept 256"], mail, 256, 4)).rate)
    best.note("C64", sum(ceilings["C64"].cycles(mail, 8, 64)) / (8 * 64))
    best.note("cycle 64", 1 / (await cycles(stores["cycle 64"], mail, 64, 8)).rate)
    best.note("idle loop", p99(await lags(0.15)))
    best.note("lag", p99(await lags_under(stores["lag"], mail, 64, 40)))


def _results(best: _Best) -> list[Result]:
    def rates(name: str, measure: str, against: str, must: float, aim: float) -> Result:
        beside = f"{against} {rate(1 / best[against])}"
        return Result(name, rate(1 / best[measure]), beside, best[against] / best[measure], must, aim)

    def times(name: str, measure: str, must: float, aim: float) -> Result:
        beside = f"a raw commit {micros(best['g1'])}"
        return Result(name, micros(best[measure]), beside, best[measure] / best["g1"], must, aim, less_is_better=True)

    lag = best["lag"] * 1_000
    return [
        rates("accept, 64 callers ÷ g64", "accept 64", "g64", 0.5, 0.7),
        rates("accept, 256 callers ÷ g64", "accept 256", "g64", 0.75, 1.0),
        rates("accept → wake → lease → ack, 64 callers ÷ C64", "cycle 64", "C64", 0.5, 0.75),
        times("accept p50, one caller ÷ raw commit", "accept 1", 2, 1.6),
        times("cycle p50, one caller ÷ raw commit", "cycle 1", 4, 3),
        Result(
            "loop lag p99 under 64 callers, in ms",
            micros(best["lag"]),
            f"idle loop {micros(best['idle loop'])}",
            lag,
            2,
            1,
            less_is_better=True,
        ),
    ]
