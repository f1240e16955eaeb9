"""Rows that nothing can be made of, and rules that the schema itself holds."""

import logging
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from adapters.sqlite.queries import SQL, parameters, statements
from adapters.sqlite.store import SqliteStore
from bridge.errors import Code, Refused
from bridge.ids import MessageId
from bridge.message import DELIVERY, Intent, Origin, Outcome, State
from bridge.ports.store import Change
from bridge.post import PostKind, PostState
from bridge.request import Answer
from bridge.session import Kind, Source
from bridge.trace import StepKind
from bridge.turn import TurnState
from tests.contracts.entities import CAREER, message, step, verdict


def spoil(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(statement)


@pytest.mark.parametrize("damage", ["path = 'no json'", "path = '{}'", "intent = 'prayer'"])
async def test_an_unreadable_row_blocks_nothing_behind_it(
    store: SqliteStore, path: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    await store.commit(Change(puts=[message(f"m-{n}", expires_at=100.0 + n) for n in (1, 2, 3)]))
    spoil(path, f"UPDATE messages SET {damage} WHERE id = 'm-1'")
    with caplog.at_level(logging.ERROR):
        assert [one.id for one in await store.queue(CAREER)] == ["m-2", "m-3"]
        assert [one.id for one in await store.inbox(CAREER)] == ["m-2", "m-3"]
        assert [one.id for one in await store.ended_lives(200.0, 1)] == ["m-2"]
    assert len([record for record in caplog.records if "m-1" in record.getMessage()]) == 1
    with pytest.raises(Refused) as refused:
        await store.message(MessageId("m-1"))
    assert refused.value.code is Code.UNAVAILABLE
    assert "m-1" in refused.value.reason


async def test_bytes_that_are_no_text_can_still_be_read_and_settled(store: SqliteStore, path: Path) -> None:
    await store.commit(Change(puts=[message("m-1"), message("m-2")]))
    spoil(path, "UPDATE messages SET text = CAST(x'61ff62' AS TEXT) WHERE id = 'm-1'")
    queue = await store.queue(CAREER)
    assert [one.text for one in queue] == ["a\ufffdb", message().text]
    await store.commit(Change(puts=[queue[0].to_settled(Outcome.FAILED, at=20.0)]))
    assert [one.id for one in await store.queue(CAREER)] == ["m-2"]


@pytest.mark.parametrize("table", ["verdicts", "steps"])
async def test_records_cannot_be_rewritten(store: SqliteStore, path: Path, table: str) -> None:
    await store.commit(Change(verdicts=[verdict()], steps=[step()]))
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        spoil(path, f"UPDATE {table} SET at = 0")


@pytest.mark.parametrize(
    ("table", "column", "words"),
    [
        ("sessions", "kind", Kind),
        ("sessions", "source", Source),
        ("messages", "intent", Intent),
        ("messages", "origin", Origin),
        ("messages", "state", State),
        ("messages", "outcome", Outcome),
        ("requests", "state", Answer),
        ("turns", "state", TurnState),
        ("posts", "kind", PostKind),
        ("posts", "state", PostState),
        ("steps", "step", StepKind),
    ],
)
async def test_the_schema_lists_the_words_of_the_core(
    store: SqliteStore, path: Path, table: str, column: str, words: type[State]
) -> None:
    with closing(sqlite3.connect(path)) as connection:
        (schema,) = connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
    check = re.search(rf"^    {column} TEXT[^(]*(\([^)]*\))", schema, re.MULTILINE)
    assert check is not None
    assert re.findall(r"'(\w+)'", check[1]) == [word.value for word in words]


def test_an_update_of_a_message_writes_its_delivery() -> None:
    assert set(parameters(SQL["update_message"])) == DELIVERY | {"id", "version"}


WHOLE_INDEX = {
    "waiting_sessions",
    "due_sessions",
    "unsettled",
    "queued",
    "live_turns",
    "last_turns",
    "held",
    "live_grants",
    "open_approvals",
    "attached",
}
"""Reads of all that is unsettled, live or held, that has files, or of all sessions: the whole of an index that holds
nothing else."""


@pytest.mark.parametrize("name", sorted(name for name, text in SQL.items() if text.startswith(("SELECT", "DELETE"))))
async def test_no_read_and_no_removal_looks_through_a_table(store: SqliteStore, path: Path, name: str) -> None:
    parameters = dict.fromkeys(re.findall(r":(\w+)", SQL[name]), 1)
    with closing(sqlite3.connect(path)) as connection:
        steps = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {SQL[name]}", parameters)]
    tables = (
        "sessions|bindings|messages|requests|turns|conversations|pairs|posts|updates|keys|verdicts|steps|grants"
        "|approvals|acts|quotas|old"
    )
    scans = [step for step in steps if re.match(f"SCAN ({tables})", step)]
    if name in ("sessions", "bindings", "grants"):
        return
    assert all("USING" in step for step in scans), steps
    assert not scans or name in WHOLE_INDEX, steps
    assert not any("autoindex" in step for step in scans) or name == "last_turns", steps


def test_an_unfinished_statement_is_told() -> None:
    with pytest.raises(ValueError, match="unfinished"):
        list(statements("CREATE TABLE a (b);\nCREATE TABLE c (d"))
