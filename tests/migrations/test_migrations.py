"""Databases of older and newer versions."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.sqlite import migrate as migrations
from adapters.sqlite.codec import columns_of, row_of
from adapters.sqlite.migrate import NewerSchema, known_migrations, migrate, schema_of
from adapters.sqlite.store import open_store
from bridge.approval import Approval
from bridge.ids import MessageId, TurnId
from bridge.launching import Frozen, Options
from bridge.ports.store import Change
from bridge.post import Button, Post, PostKind
from bridge.session import Habits, Session
from bridge.turn import Failure, FailureKind, Turn
from tests.contracts.entities import CAREER, DESK, TALK, approval, message, post, request, session, step, turn, verdict


def schema(path: Path) -> list[tuple[str, str, str]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name").fetchall()


async def test_a_database_migrated_step_by_step_equals_a_fresh_one(tmp_path: Path) -> None:
    stepwise, fresh = tmp_path / "stepwise.db", tmp_path / "fresh.db"
    for number in known_migrations():
        with closing(sqlite3.connect(stepwise, isolation_level=None)) as connection:
            migrate(connection, upto=number)
            assert schema_of(connection) == number
    await (await open_store(fresh)).close()
    assert schema(stepwise) == schema(fresh)


async def test_opening_again_migrates_nothing_and_keeps_everything(tmp_path: Path) -> None:
    path = tmp_path / "tieline.db"
    store = await open_store(path)
    await store.commit(Change(puts=[message()]))
    await store.close()
    before = schema(path)
    again = await open_store(path)
    assert [one.id for one in await again.queue(CAREER)] == ["m-1"]
    await again.close()
    assert schema(path) == before


async def test_a_newer_database_is_refused_untouched_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "tieline.db"
    await (await open_store(path)).close()
    newer = max(known_migrations()) + 1
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("INSERT INTO migrations (number, name) VALUES (?, 'of the future')", (newer,))
    before = path.read_bytes()
    with pytest.raises(NewerSchema, match="install the Tieline") as refused:
        await open_store(path)
    assert (refused.value.found, refused.value.known) == (newer, newer - 1)
    assert path.read_bytes() == before


def test_migrations_are_numbered_without_a_gap() -> None:
    assert list(known_migrations()) == list(range(1, len(known_migrations()) + 1))


def test_a_migration_that_fails_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = known_migrations()
    bad = {**known, len(known) + 1: ("bad", "CREATE TABLE halves (a);\nCREATE TABLE halves (a);")}
    monkeypatch.setattr(migrations, "known_migrations", lambda: bad)
    with closing(sqlite3.connect(tmp_path / "tieline.db", isolation_level=None)) as connection:
        with pytest.raises(sqlite3.OperationalError):
            migrate(connection)
        assert schema_of(connection) == len(known)
        assert connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'halves'").fetchone() is None


async def test_what_an_older_database_holds_is_there_after_its_tables_were_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "tieline.db"
    kept = {
        "sessions": session(agent="desk", tags=("office",), habits=Habits(accept_wake=False)),
        "messages": message("m-1", reason="told", epoch=2, path=(CAREER,)),
        "requests": request("m-1", parent=MessageId("m-0")),
        "turns": turn("t-1", inputs=(MessageId("m-1"),), prompt="digest", occurrence=2, epoch=3),
        "posts": post("p-1", buttons=(Button("Retry", "retry:m-1"),)),
        "verdicts": verdict(),
        "steps": step(detail={"effect": "allow"}),
    }
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, upto=4)
        for table, entity in kept.items():
            known = {column[1] for column in connection.execute(f"PRAGMA table_info({table})")}
            values = zip(columns_of(type(entity)), row_of(type(entity), columns_of(type(entity)))(entity), strict=True)  # type: ignore[arg-type]
            row = {name: value for name, value in values if name in known}
            places = ", ".join("?" * len(row))
            connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places})", [*row.values()])
    store = await open_store(path)
    try:
        assert await store.session(DESK) == kept["sessions"]
        assert await store.message(MessageId("m-1")) == kept["messages"]
        assert await store.request(MessageId("m-1")) == kept["requests"]
        assert await store.turn(TurnId("t-1")) == kept["turns"]
        asked = post("p-1", kind=PostKind.QUESTION, buttons=(Button("Retry", "retry:m-1"),))
        assert await store.post("key of p-1") == asked
        assert [*await store.verdicts(TALK), *await store.steps("m-1")] == [kept["verdicts"], kept["steps"]]
    finally:
        await store.close()


async def test_what_operators_are_asked_outlives_an_upgrade(tmp_path: Path) -> None:
    path = tmp_path / "tieline.db"
    asked = [approval("a-1", expires_at=60.0), approval("a-2").closed(20.0, "accepted", "telegram:111")]
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, upto=9)
        columns = columns_of(Approval)
        for one in asked:
            values = row_of(Approval, columns)(one)
            places = ", ".join("?" * len(columns))
            connection.execute(f"INSERT INTO approvals ({', '.join(columns)}) VALUES ({places})", values)
    store = await open_store(path)
    try:
        assert [await store.approval(one.id) for one in asked] == asked
        assert [one.id for one in await store.ended_approvals(60.0, 9)] == ["a-1"]
    finally:
        await store.close()


async def test_what_the_key_of_an_older_post_told_its_kind_tells(tmp_path: Path) -> None:
    path, button = tmp_path / "tieline.db", (Button("Retry", "retry:1"),)
    older = [
        post("p-1", key="reply:1", kind=PostKind.REPLY, buttons=button),
        post("p-2", key="question:1", kind=PostKind.QUESTION),
        post("p-3", key="parked:1", kind=PostKind.QUESTION, buttons=button, markup="[]", answers="reply:1"),
        post("p-4", key="failure:1", kind=PostKind.NOTICE),
        post("p-5", key="final:1", kind=PostKind.FINAL, buttons=button, whole="all", file="answer.md"),
    ]
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, upto=22)
        columns = tuple(column for column in columns_of(Post) if column != "silent")
        for one in older:
            kind = one.kind if one.kind is PostKind.FINAL else PostKind.NOTICE
            places = ", ".join("?" * len(columns))
            values = row_of(Post, columns)(replace(one, kind=kind))
            connection.execute(f"INSERT INTO posts ({', '.join(columns)}) VALUES ({places})", values)
    store = await open_store(path)
    try:
        assert [await store.post(one.key) for one in older] == older
    finally:
        await store.close()


async def test_how_a_turn_failed_outlives_an_upgrade(tmp_path: Path) -> None:
    """An older failure names neither provider nor model."""
    path = tmp_path / "tieline.db"
    failed = turn("t-1", failure=Failure(FailureKind.RATE_LIMIT, "slow down", retryable=True, resets_at=99.0))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, upto=10)
        columns = [column[1] for column in connection.execute("PRAGMA table_info(turns)")]
        values = dict(zip(columns, row_of(Turn, tuple(columns))(failed), strict=True))
        values["failure"] = '{"kind":"rate_limit","detail":"slow down","retryable":true,"resets_at":99.0}'
        places = ", ".join("?" * len(values))
        connection.execute(f"INSERT INTO turns ({', '.join(values)}) VALUES ({places})", [*values.values()])
    store = await open_store(path)
    try:
        assert await store.turn(TurnId("t-1")) == failed
    finally:
        await store.close()


async def test_a_session_of_before_has_nothing_frozen_and_what_a_newer_tieline_added_has_its_default(
    tmp_path: Path,
) -> None:
    path = tmp_path / "tieline.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, upto=10)
        columns = [column[1] for column in connection.execute("PRAGMA table_info(sessions)")]
        values = row_of(Session, tuple(columns))(session(agent="desk"))
        places = ", ".join("?" * len(columns))
        connection.execute(f"INSERT INTO sessions ({', '.join(columns)}) VALUES ({places})", values)
    store = await open_store(path)
    try:
        assert await store.session(DESK) == session(agent="desk")
    finally:
        await store.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("""UPDATE sessions SET frozen = '{"options":{"model":"opus"}}'""")
    store = await open_store(path)
    try:
        kept = await store.session(DESK)
        assert kept is not None
        assert kept.frozen == Frozen(Options(model="opus"))
    finally:
        await store.close()
