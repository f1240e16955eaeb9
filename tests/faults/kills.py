"""Sudden deaths of a bridge under load: what it has accepted is settled once, and no tool is used twice.

Senders speak over the control socket and give each message a key, under which they send it again until it is
accepted. Agents use one tool for each message, which leaves a file of its own for each run.
"""

import asyncio
import os
import shutil
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from adapters.cli.connection import Connection, Dropped, NoBridge, quoted
from tests.acceptance.forks import Forked, Forks, forking
from tests.acceptance.home import Home

WORKERS = ("career", "finance", "travel")
SENDERS = 3
A_LIFE_S = 0.4
MESSAGES_A_LIFE = 2
PATIENCE_S = 60.0
FAR = 1_000_000


@dataclass(slots=True)
class Report:
    kills: int = 0
    accepted: int = 0
    acted_on: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    starts_s: list[float] = field(default_factory=list)
    """From the start of a forked bridge to its word that it accepts."""
    cold_start_s: float = 0
    """The same of a whole start, imports and all, after the last kill."""
    wrong: list[str] = field(default_factory=list)


async def kill_often(folder: Path, *, kills: int, seed: int, minutes: float = 60, look_every: int = 1) -> Report:
    """Kills so often, or for so long. Every so many kills the database is looked into."""
    home, random, report = _home(folder), Random(seed), Report()
    load = _Load(home, random)
    until = time.monotonic() + minutes * 60
    with forking() as forks:
        async with asyncio.TaskGroup() as senders:
            sending = [senders.create_task(load.send(sender)) for sender in range(SENDERS)]
            while report.kills < kills and time.monotonic() < until:
                await _one_life(forks, load, report, random)
                report.kills += 1
                if report.kills % look_every == 0:
                    _sound(folder)
            for task in sending:
                task.cancel()
    began = time.monotonic()
    await home.up()
    report.cold_start_s = time.monotonic() - began
    try:
        report.answers = await load.answers()
    finally:
        await home.down()
    report.accepted, report.acted_on = len(load.accepted), len(runs(folder))
    report.wrong = list(_wrong(folder, load.accepted))
    return report


def _home(folder: Path) -> Home:
    home = Home(folder)
    home.limits(inbox=FAR, open_requests=FAR, pair_messages=FAR, stop_grace_s=1)
    ran = folder / "ran"
    ran.mkdir()
    for worker in WORKERS:
        home.worker(worker, {"on": "mail", "script": f"tool act ; touch {ran}/$text.$pid.$turn ; say done"})
    home.rule("default/shell", "default/*")
    home.write()
    return home


async def _one_life(forks: Forks, load: "_Load", report: Report, random: Random) -> None:
    """Now and then it ends before it accepts, in the midst of its recovery."""
    began = time.monotonic()
    with load.home.stderr.open("ab") as stderr:
        bridge = await forks.start(("run",), load.home.environ, stderr)
    if report.kills and random.random() < 0.2:
        typical = sorted(report.starts_s)[len(report.starts_s) // 2] if report.starts_s else A_LIFE_S
        await _within(bridge, random.uniform(0, typical))
    else:
        async with asyncio.timeout(PATIENCE_S):
            assert await _ready(bridge), f"the bridge did not start, see {load.home.stderr}"
        report.starts_s.append(time.monotonic() - began)
        load.up()
        async with asyncio.timeout(PATIENCE_S):
            await load.taken(random.choice((0, 1, 2, 4)))
        await asyncio.sleep(random.uniform(0, A_LIFE_S))
    bridge.send_signal(signal.SIGKILL)
    await bridge.wait()


async def _ready(bridge: Forked) -> bool:
    """Returns once it accepts, or False where it ends before."""
    return b'"ready"' in await bridge.stdout.readline()


async def _within(bridge: Forked, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await _ready(bridge)


class _Load:
    def __init__(self, home: Home, random: Random) -> None:
        self.home = home
        self.accepted: dict[str, str] = {}
        """The id of each accepted message, by its text."""
        self._random = random
        self._bridge = Connection(str(home.path / "run" / "control.sock"), None, None)
        self._next_life = asyncio.Event()
        self._more = asyncio.Condition()

    def up(self) -> None:
        """A bridge accepts."""
        began, self._next_life = self._next_life, asyncio.Event()
        began.set()

    async def taken(self, more: int) -> None:
        """Waits until so many more messages have been accepted: a slow machine only takes longer for that."""
        wanted = len(self.accepted) + more
        async with self._more:
            await self._more.wait_for(lambda: len(self.accepted) >= wanted)

    async def send(self, sender: int) -> None:
        """Sends without end, a few messages in each life of a bridge."""
        number = 0
        while True:
            following = self._next_life
            for _ in range(MESSAGES_A_LIFE):
                number += 1
                await self._until_accepted(f"{sender}-{number}")
            await following.wait()

    async def _until_accepted(self, text: str) -> None:
        body = {"to": self._random.choice(WORKERS), "text": text, "key": text, "wake": True}
        while text not in self.accepted:
            following = self._next_life
            try:
                receipt = await asyncio.to_thread(self._bridge.post, "/v1/send", body)
            except (NoBridge, Dropped):
                await following.wait()
            else:
                async with self._more:
                    self.accepted[text] = receipt["message_id"]
                    self._more.notify_all()

    async def answers(self) -> Counter[str]:
        """How the requests have ended; each is waited for."""
        ended: Counter[str] = Counter()
        for ident in self.accepted.values():
            view = await asyncio.to_thread(self._bridge.get, f"/v1/answers/{quoted(ident)}?timeout_s={PATIENCE_S}")
            ended[view["answer"]] += 1
        return ended


def _sound(folder: Path) -> None:
    """The database as the death has left it, in a copy: to open it is to recover it."""
    copy = folder / "copy"
    copy.mkdir()
    for suffix in ("", "-wal"):
        with suppress(FileNotFoundError):
            shutil.copy(folder / f"tieline.db{suffix}", copy / f"tieline.db{suffix}")
    with closing(sqlite3.connect(copy / "tieline.db")) as connection:
        (verdict,) = connection.execute("PRAGMA integrity_check").fetchone()
    assert verdict == "ok", verdict
    shutil.rmtree(copy)


def _wrong(folder: Path, accepted: dict[str, str]) -> Iterator[str]:
    with closing(sqlite3.connect(folder / "tieline.db")) as connection:
        states = dict(connection.execute("SELECT id, state FROM messages"))
        settled = Counter(one for (one,) in connection.execute("SELECT message FROM steps WHERE step = 'settled'"))
        texts = Counter(
            one for (one,) in connection.execute("SELECT text FROM messages WHERE sender = 'default/shell'")
        )
        live = connection.execute("SELECT count(*) FROM turns WHERE ended_at IS NULL").fetchone()[0]
    for text, ident in accepted.items():
        if ident not in states:
            yield f"{text} ({ident}) was accepted, and is lost"
        elif states[ident] != "settled":
            yield f"{text} ({ident}) is {states[ident]}"
    yield from (f"{ident} was settled {times} times" for ident, times in settled.items() if times > 1)
    yield from (f"{text} was stored {times} times" for text, times in texts.items() if times > 1)
    yield from (f"{text} was acted on {times} times" for text, times in runs(folder).items() if times > 1)
    if live:
        yield f"{live} turns are alive"


def runs(folder: Path) -> Counter[str]:
    """How often a tool was used for each message."""
    return Counter(name.partition(".")[0] for name in os.listdir(folder / "ran"))
