"""A store with a million messages and a hundred thousand sessions, beside one with none."""

import sqlite3
from contextlib import closing
from pathlib import Path
from statistics import median

from adapters.sqlite.store import open_store
from bridge.ports.store import Store
from tests.bench.callers import cycles
from tests.bench.mail import LIFE_S, TEXT, Mail
from tests.bench.result import Result, rate

# Settled mail of the last days, each recipient's spread over all of it. Ids are UUIDv7 in the order of their time.
_FILL = """
WITH RECURSIVE number (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM number WHERE n + 1 < :messages)
INSERT INTO messages (
    id, sender, recipient, intent, text, origin, wake, conversation, accepted_at, queued_at, due_at, expires_at,
    state, outcome, depth, path, by_command, late, turn, epoch, attempts, unread, read_at, settled_at, version
)
SELECT
    printf('%08x-%04x-7000-8000-%012x', (:since * 1000 + n) >> 16, (:since * 1000 + n) & 65535, n), 'default/desk',
    printf('default/s-%06d', n * 7919 % :sessions), 'request', :text, 'peer', 1,
    printf('%08x-%04x-7000-9000-%012x', (:since * 1000 + n) >> 16, (:since * 1000 + n) & 65535, n),
    :since + n / 1000.0, :since + n / 1000.0, :since + n / 1000.0, :since + :life, 'settled', 'acked', 1,
    '["default/desk"]', 0, 0,
    printf('%08x-%04x-7000-a000-%012x', (:since * 1000 + n) >> 16, (:since * 1000 + n) & 65535, n),
    1, 0, 0, :since + n / 1000.0, :since + n / 1000.0, 3
FROM number
"""
_SESSIONS = """
WITH RECURSIVE number (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM number WHERE n + 1 < :sessions)
INSERT INTO sessions (id, title, kind, source, created_at, tags, accept_wake, rested, version)
SELECT printf('default/s-%06d', n), 'A session', 'shell', 'runtime', :since, '[]', 1, 0, 1 FROM number
"""
_SINCE = 1_750_000_000


async def large(folder: Path, *, messages: int, rounds: int) -> list[Result]:
    """The whole cycle with 64 callers, whose mail goes to all of the sessions in turn."""
    sessions = messages // 10
    for name in ("large.db", "empty.db"):
        await (await open_store(folder / name)).close()
    _fill(folder / "large.db", messages, sessions)
    filled, empty = await open_store(folder / "large.db"), await open_store(folder / "empty.db")
    rates: dict[Store, list[float]] = {filled: [], empty: []}
    mail = Mail(sessions)
    try:
        for number in range(rounds):
            for store in (filled, empty) if number % 2 else (empty, filled):
                rates[store].append((await cycles(store, mail, 64, 12)).rate)
    finally:
        await filled.close()
        await empty.close()
    name = f"{messages:,} messages and {sessions:,} sessions ÷ empty"
    ratio = median(one / other for one, other in zip(rates[filled], rates[empty], strict=True))
    beside = f"empty {rate(median(rates[empty]))}"
    return [Result(name, rate(median(rates[filled])), beside, ratio, must=0.85, aim=0.95)]


def _fill(path: Path, messages: int, sessions: int) -> None:
    values = {"messages": messages, "sessions": sessions, "since": _SINCE, "life": LIFE_S, "text": TEXT}
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA journal_mode = OFF").fetchall()
        indexes = connection.execute(
            "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'messages' AND sql IS NOT NULL"
        ).fetchall()
        for name, _ in indexes:
            connection.execute(f"DROP INDEX {name}")
        connection.execute(_SESSIONS, {name: values[name] for name in ("sessions", "since")})
        connection.execute(_FILL, values)
        for _, statement in indexes:
            connection.execute(statement)
