"""What was acknowledged is there afterwards, whatever ended the process."""

import asyncio
import os
import signal
import sqlite3
import stat
import sys
from contextlib import closing
from pathlib import Path

from adapters.sqlite.database import open_reader, open_writer
from adapters.sqlite.store import SqliteStore, open_store
from bridge.ids import MessageId
from bridge.ports.store import Change, Key
from tests.contracts.entities import CAREER, DESK, TALK, binding, message, pair, step, verdict

ROOT = Path(__file__).parents[3]

SENDER = """
import asyncio, sys
from pathlib import Path
from adapters.sqlite.store import open_store
from bridge.ports.store import Change
from tests.contracts.entities import message

async def send(store, lane):
    n = 0
    while True:
        await store.commit(Change(puts=[message(f"m-{lane}-{n}")]))
        print(f"m-{lane}-{n}", flush=True)
        n += 1

async def main():
    store = await open_store(Path(sys.argv[1]))
    await asyncio.gather(*(send(store, lane) for lane in range(8)))

asyncio.run(main())
"""


async def test_a_store_opened_again_has_everything(path: Path) -> None:
    store = await open_store(path)
    await store.commit(
        Change(
            puts=[message(), pair(recent=(1.0,)), binding()],
            keys=[Key(DESK, "k", "digest", MessageId("m-1"))],
            verdicts=[verdict()],
            steps=[step()],
        )
    )
    await store.close()
    again = await open_store(path)
    try:
        assert await again.message(MessageId("m-1")) == message(version=1)
        assert await again.pair(CAREER, DESK) == pair(recent=(1.0,), version=1)
        assert await again.key(DESK, "k") is not None
        assert await again.verdicts(TALK) == [verdict()]
        assert await again.steps("m-1") == [step()]
    finally:
        await again.close()


async def test_what_was_acknowledged_survives_kill_9(path: Path) -> None:
    sender = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SENDER, str(path), cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    assert sender.stdout is not None
    acknowledged = [(await sender.stdout.readline()).decode().strip() for _ in range(200)]
    os.kill(sender.pid, signal.SIGKILL)
    acknowledged += [line for line in (await sender.stdout.read()).decode().split("\n")[:-1] if line]
    await sender.wait()
    store = await open_store(path)
    try:
        assert all(acknowledged)
        assert set(acknowledged) <= {one.id for one in await store.queue(CAREER)}
    finally:
        await store.close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


async def test_the_writer_syncs_every_commit_and_the_reader_cannot_write(store: SqliteStore, path: Path) -> None:
    def settings(connection: sqlite3.Connection) -> dict[str, object]:
        names = ("journal_mode", "synchronous", "wal_autocheckpoint", "mmap_size", "query_only")
        return {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names}

    writer = await open_writer(path, busy_timeout_s=1)
    reader = await open_reader(path, busy_timeout_s=1)
    try:
        written, read = await writer.run(settings), await reader.run(settings)
    finally:
        await writer.close()
        await reader.close()
    assert written == {
        "journal_mode": "wal",
        "synchronous": 2,
        "wal_autocheckpoint": 1000,
        "mmap_size": 0,
        "query_only": 0,
    }
    assert (read["journal_mode"], read["mmap_size"], read["query_only"]) == ("wal", 0, 1)


async def test_only_the_owner_may_read_the_files(store: SqliteStore, path: Path) -> None:
    await store.commit(Change(puts=[message()]))
    files = [path, path.with_suffix(".lock"), path.with_name("tieline.db-wal")]
    assert [stat.S_IMODE(file.stat().st_mode) for file in files] == [0o600] * 3
