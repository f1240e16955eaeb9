"""Neither the database nor its log grows for ever."""

import sqlite3
from contextlib import closing
from pathlib import Path

from adapters.sqlite.database import WAL_BYTES
from adapters.sqlite.store import SqliteStore, open_store
from bridge.ids import first_id
from bridge.message import Outcome, State
from bridge.ports.store import Change
from tests.contracts.entities import message

BEFORE = 1_000_000.0
AUTOCHECKPOINT_BYTES = 1_000 * 4_096


def settled(number: int, *, chars: int = 2_000) -> Change:
    ident = f"{first_id(BEFORE - 1)}-7000-8000-{number:012x}"
    over = {"state": State.SETTLED, "outcome": Outcome.ACKED, "settled_at": BEFORE}
    return Change(puts=[message(ident, text="x" * chars, **over)])


def wal_of(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


async def test_the_room_of_what_was_removed_is_used_again(store: SqliteStore, path: Path) -> None:
    sizes = []
    for cycle in range(6):
        for number in range(50):
            await store.commit(settled(cycle * 50 + number))
        while (await store.remove(BEFORE, 0, 20))[1]:
            pass
        with closing(sqlite3.connect(path)) as connection:
            sizes.append(connection.execute("PRAGMA page_count").fetchone()[0])
    assert sizes[-1] <= sizes[1]


async def test_readers_leave_no_transaction_open_that_would_keep_the_log_growing(
    store: SqliteStore, path: Path
) -> None:
    for number in range(100):
        await store.commit(settled(number, chars=200_000))
        await store.sessions()
        assert wal_of(path).stat().st_size < 2 * AUTOCHECKPOINT_BYTES


async def test_a_log_that_a_foreign_reader_made_grow_is_cut_back_once_that_is_gone(
    store: SqliteStore, path: Path
) -> None:
    await store.commit(settled(0))
    with closing(sqlite3.connect(path, isolation_level=None)) as foreign:
        foreign.execute("BEGIN")
        foreign.execute("SELECT count(*) FROM messages").fetchone()
        for number in range(1, 5):
            await store.commit(settled(number, chars=WAL_BYTES // 3))
        assert wal_of(path).stat().st_size > WAL_BYTES
    for number in range(5, 8):
        await store.commit(settled(number))
    assert wal_of(path).stat().st_size <= WAL_BYTES


async def test_a_closed_store_leaves_no_log_behind(path: Path) -> None:
    store = await open_store(path)
    await store.commit(settled(0))
    assert wal_of(path).stat().st_size > 0
    await store.close()
    assert not wal_of(path).exists()
