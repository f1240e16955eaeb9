"""Stops a bridge past its lease in the midst of a turn, lets another take the turn over, and lets it go on.

From the taking over on, the database may not change by what the stopped bridge still does.
"""

import argparse
import asyncio
import json
import logging
import random
import signal
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import cast

from adapters.sqlite.store import open_store
from adapters.system import SystemClock
from bridge.ids import TurnId
from bridge.ports.runtime import Prompt
from bridge.turn import TurnState
from tests.fakes.clock import ManualClock
from tests.fakes.runtime import FakeAgent
from tests.faults.stopped_node import NODES, SESSIONS
from tests.flow.stage import Stage, ident, stage

DEADLINE_S = 20

_BETWEEN = 0.9
"""The share of stops that leave the others free to write, so that the turn is taken over."""
_ASIDE_S = 0.003


async def stop_past_lease(folder: Path, runs: int, seed: int) -> Counter[str]:
    """How the runs ended: `fenced`; `elsewhere` where the second bridge was first to see the task; `not taken over`
    where the process was stopped after its turn's end, or in the midst of a transaction, so that nobody could write.
    Raises `AssertionError` for a stale write."""
    outcomes: Counter[str] = Counter()
    chance = random.Random(seed)
    path = folder / "first" / "tieline.db"
    path.parent.mkdir()
    async with _first(path) as first, _second(path, folder / "second") as second:
        for _ in range(runs):
            between = chance.random() < _BETWEEN
            outcomes[await _one(first, second, path, chance.uniform(0, 0.15), between=between)] += 1
    return outcomes


async def _one(first: "Node", second: Stage, path: Path, after_s: float, *, between: bool) -> str:
    """With `between` it is stopped in the midst of no transaction, where a slow disk would have it spend most of its
    time."""
    elsewhere = asyncio.Event()

    async def at_once(agent: FakeAgent, prompt: Prompt) -> str:
        elsewhere.set()
        return "done"

    second.agent("career", at_once)
    if not await first.begin(elsewhere):
        await first.idle()
        return "elsewhere"
    turn = await second.store.live_turn(ident("career"))
    assert turn is not None
    await asyncio.sleep(after_s)
    first.process.send_signal(signal.SIGSTOP)
    while between and not _is_free(path):
        first.process.send_signal(signal.SIGCONT)
        await asyncio.sleep(_ASIDE_S)
        first.process.send_signal(signal.SIGSTOP)
    try:
        taken = await _taken_over(second, turn.id)
        before = _all_rows(path)
    finally:
        first.process.send_signal(signal.SIGCONT)
    result = await first.heard("over")
    if not taken:
        # What it held up is done once it goes on; the next run begins on a quiet database.
        await _ended(second, turn.id)
        await first.idle()
        return "not taken over"
    await first.idle()
    written = _all_rows(path) - before
    assert not written, f"a stale write was accepted: {written}"
    assert result["stale"], "the stopped bridge had done all before"
    return "fenced"


async def _taken_over(second: Stage, turn: TurnId) -> bool:
    """Waits for what the second bridge makes of the turn, for three leases at most."""
    try:
        async with asyncio.timeout(3 * NODES.lease_s):
            await _ended(second, turn)
    except TimeoutError:
        return False
    stored = await second.store.turn(turn)
    async with asyncio.timeout(DEADLINE_S):
        while await second.store.pending_posts(second.chat.scheme):
            await second.clock.sleep(0.01)
    return stored is not None and stored.state is TurnState.LOST


async def _ended(second: Stage, turn: TurnId) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while (stored := await second.store.turn(turn)) is None or stored.live:
            await second.clock.sleep(0.01)


def _is_free(path: Path) -> bool:
    """Whether nobody is in the midst of a transaction."""
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        connection.execute("ROLLBACK")
        return True


def _all_rows(path: Path) -> set[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {(table, *row) for table in tables for row in connection.execute(f"SELECT * FROM {table}")}


class Node:
    """The bridge that is stopped."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def begin(self, elsewhere: asyncio.Event) -> bool:
        """False where the turn began elsewhere."""
        self._tell("begin")
        async with asyncio.TaskGroup() as group:
            here = group.create_task(self.heard("at work"))
            there = group.create_task(elsewhere.wait())
            await asyncio.wait([here, there], return_when=asyncio.FIRST_COMPLETED)
            begun = here.done()
            here.cancel()
            there.cancel()
        return begun

    async def idle(self) -> None:
        self._tell("idle")
        await self.heard("idle")

    def _tell(self, command: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{command}\n".encode())

    async def heard(self, event: str) -> dict[str, int]:
        assert self.process.stdout is not None
        async with asyncio.timeout(DEADLINE_S):
            while line := await self.process.stdout.readline():
                said = json.loads(line)
                if said["event"] == event:
                    return cast(dict[str, int], said)
        raise AssertionError(f"the first bridge ended before it said {event!r}")


@asynccontextmanager
async def _first(path: Path) -> AsyncIterator[Node]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.faults.stopped_node",
        str(path),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    node = Node(process)
    try:
        await node.heard("ready")
        yield node
    finally:
        process.kill()
        await process.wait()


@asynccontextmanager
async def _second(path: Path, folder: Path) -> AsyncIterator[Stage]:
    """A second bridge on the database of the first. They reach it by two paths, for one home has one bridge."""
    store = await open_store(_linked(path, folder), busy_timeout_s=0.2)
    clock = cast(ManualClock, SystemClock())
    try:
        async with stage(*SESSIONS, store=store, clock=clock, limits=NODES, node="second", seed=2) as second:
            yield second
    finally:
        await store.close()


def _linked(path: Path, folder: Path) -> Path:
    folder.mkdir()
    link = folder / path.name
    link.symlink_to(path)
    return link


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.stops", description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    logging.disable()
    with tempfile.TemporaryDirectory() as folder:
        outcomes = asyncio.run(stop_past_lease(Path(folder), given.runs, given.seed))
    print(f"{given.runs} stops past the lease: {dict(outcomes)}; no stale write was accepted")


if __name__ == "__main__":
    main()
