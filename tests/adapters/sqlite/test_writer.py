"""The one writer: no caller's end and no fault of the disk harms what others wrote."""

import asyncio
import logging
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from adapters.sqlite.database import Database, open_writer
from adapters.sqlite.group import Group
from adapters.sqlite.migrate import migrate
from adapters.sqlite.plan import plan
from adapters.sqlite.store import SqliteStore, open_store
from adapters.sqlite.writer import Writer
from bridge.errors import Code, Conflict, Refused
from bridge.ports.store import Change
from tests.contracts.entities import CAREER, message, step


def refusals(results: list[BaseException | None]) -> list[Code | None]:
    return [result.code if isinstance(result, Refused) else None for result in results]


async def write_all(writer: Writer, *names: str) -> list[BaseException | None]:
    changes = [plan(Change(puts=[message(name)])) for name in names]
    return await asyncio.gather(*(writer.write(one) for one in changes), return_exceptions=True)


async def test_a_cancelled_caller_disturbs_nobody(store: SqliteStore) -> None:
    callers = [asyncio.create_task(store.commit(Change(puts=[message(f"m-{n}")]))) for n in range(40)]
    await asyncio.sleep(0)
    for caller in callers[::2]:
        caller.cancel()
    results = await asyncio.gather(*callers, return_exceptions=True)
    assert results[1::2] == [None] * 20
    assert {f"m-{n}" for n in range(1, 40, 2)} <= {one.id for one in await store.queue(CAREER)}
    await store.commit(Change(puts=[message("m-after")]))


async def test_a_held_write_lock_refuses_the_batch_and_the_next_one_is_stored(path: Path) -> None:
    store = await open_store(path, busy_timeout_s=0)
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as foreign:
            foreign.execute("BEGIN IMMEDIATE")
            results = await asyncio.gather(
                *(store.commit(Change(puts=[message(f"m-{n}")])) for n in range(5)), return_exceptions=True
            )
            assert refusals(results) == [Code.UNAVAILABLE] * 5
            assert await store.queue(CAREER) == []
            foreign.execute("ROLLBACK")
        await store.commit(Change(puts=[message("m-0")]))
        assert [one.id for one in await store.queue(CAREER)] == ["m-0"]
    finally:
        await store.close()


async def test_a_full_disk_refuses_the_sender_stores_no_half_and_recovers(path: Path) -> None:
    database = await open_writer(path, busy_timeout_s=1)
    await database.run(migrate)
    writer = Writer(database)
    try:
        assert await write_all(writer, "m-1") == [None]
        pages = await database.run(lambda connection: connection.execute("PRAGMA page_count").fetchone()[0])
        await _limit(database, pages)
        large = plan(Change(puts=[message("m-2"), message("m-3", text="x" * 100_000)], steps=[step()]))
        results = await asyncio.gather(
            writer.write(large), *[writer.write(plan(Change(puts=[message("m-4")])))], return_exceptions=True
        )
        assert refusals(results) == [Code.UNAVAILABLE] * 2
        await _limit(database, 1_000_000)
        assert await write_all(writer, "m-5") == [None]
        found = await database.run(lambda connection: connection.execute("SELECT id FROM messages").fetchall())
        assert sorted(row[0] for row in found) == ["m-1", "m-5"]
    finally:
        await writer.close()
        await database.close()


async def _limit(database: Database, pages: int) -> None:
    await database.run(lambda connection: connection.execute(f"PRAGMA max_page_count = {pages}").fetchone())


async def test_a_value_of_a_foreign_type_fails_its_own_change_only(store: SqliteStore) -> None:
    good = asyncio.create_task(store.commit(Change(puts=[message("m-1")])))
    with pytest.raises(sqlite3.Error):
        await store.commit(Change(puts=[message("m-2", reason=object())]))
    await good
    assert [one.id for one in await store.queue(CAREER)] == ["m-1"]


async def test_of_many_changes_at_once_each_is_stored_as_itself_and_one_that_conflicts_alone_is_told(
    store: SqliteStore,
) -> None:
    many = range(150)
    await asyncio.gather(*(store.commit(Change(puts=[message(f"m-{n}", text=f"text {n}")])) for n in many))
    moved = [message(f"m-{n}", attempts=n, reason=f"reason {n}", version=2 if n == 70 else 1) for n in many]
    results = await asyncio.gather(*(store.commit(Change(puts=[one])) for one in moved), return_exceptions=True)
    assert [n for n in many if results[n] is not None] == [70]
    assert isinstance(results[70], Conflict)
    kept = [await store.message(one.id) for one in moved]
    assert [(one.text, one.attempts, one.reason) for one in kept if one is not None] == [
        (f"text {n}", n, f"reason {n}") if n != 70 else ("text 70", 0, None) for n in many
    ]


async def test_many_changes_at_once_take_few_statements(store: SqliteStore, path: Path) -> None:
    new = [message(f"m-{n}") for n in range(85)]
    moved = [message(f"m-{n}", attempts=n, version=1) for n in range(85)]
    ran: list[str] = []
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.set_trace_callback(ran.append)
        for messages in (new, moved):
            group = Group.of([plan(Change(puts=[one])) for one in messages])
            assert group.store(connection) == [None] * 85
    assert len(ran) == 2 * len(["BEGIN", "64 rows", "16 rows", "4 rows", "1 row", "COMMIT"])
    assert [one.attempts for one in await store.queue(CAREER)] == [int(one.id[2:]) for one in await store.queue(CAREER)]


async def test_what_was_handed_over_before_the_close_is_stored(path: Path) -> None:
    store = await open_store(path)
    callers = [asyncio.create_task(store.commit(Change(puts=[message(f"m-{n}")]))) for n in range(300)]
    await asyncio.sleep(0)
    await store.close()
    await asyncio.gather(*callers)
    again = await open_store(path)
    assert len(await again.queue(CAREER)) == 300
    await again.close()


async def test_a_write_after_the_database_is_gone_is_refused_and_logged(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    database = await open_writer(path, busy_timeout_s=1)
    await database.run(migrate)
    writer = Writer(database)
    await database.close()
    with caplog.at_level(logging.ERROR):
        assert refusals(await write_all(writer, "m-1", "m-2")) == [Code.UNAVAILABLE] * 2
        assert refusals(await write_all(writer, "m-1", "m-2")) == [Code.UNAVAILABLE] * 2
    assert caplog.text.count("Nothing of a batch of 2 changes was stored") == 1
    await writer.close()


async def test_what_lasts_is_logged_when_it_begins_and_when_it_is_over(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    database = await open_writer(path, busy_timeout_s=0.01)
    await database.run(migrate)
    writer = Writer(database)
    with caplog.at_level(logging.WARNING), closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for _ in range(3):
            assert refusals(await write_all(writer, "m-1")) == [Code.UNAVAILABLE]
        other.execute("ROLLBACK")
        assert await write_all(writer, "m-1") == [None]
    assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"]
    await writer.close()
    await database.close()
