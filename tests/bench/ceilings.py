"""What SQLite itself can do on this disk: the ceilings that the store is measured against.

Raw `sqlite3`, one connection in one thread, WAL and synchronous=FULL as in the store, no event loop and no checks. The
table is a plain one, as somebody would write it who wants nothing but a queue of messages: sixteen columns with a
UUIDv7 as text for its key, a body of 290 bytes, and the three partial indexes that such a queue needs (what waits of a
recipient by due time, leases by their end, answers by what they answer). Rows are made beforehand.
"""

import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

from tests.bench.mail import Mail

_SCHEMA = """
CREATE TABLE messages (
    id TEXT PRIMARY KEY, sender TEXT NOT NULL, recipient TEXT NOT NULL, intent TEXT NOT NULL, body TEXT NOT NULL,
    conversation TEXT NOT NULL, in_reply_to TEXT, wake INTEGER NOT NULL, accepted_at REAL NOT NULL,
    due_at REAL NOT NULL, expires_at REAL NOT NULL, state TEXT NOT NULL, epoch INTEGER NOT NULL, lease_until REAL,
    outcome TEXT, settled_at REAL
);
CREATE INDEX pending ON messages (recipient, due_at, id) WHERE state = 'queued';
CREATE INDEX leased ON messages (lease_until) WHERE state = 'leased';
CREATE INDEX answers ON messages (in_reply_to) WHERE in_reply_to IS NOT NULL;
"""
_INSERT = "INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_LEASE = "UPDATE messages SET state = 'leased', epoch = epoch + 1, lease_until = ? WHERE id = ? AND state = 'queued'"
_ACK = (
    "UPDATE messages SET state = 'settled', outcome = 'acked', lease_until = NULL, settled_at = ? "
    "WHERE id = ? AND epoch = 1 AND state = 'leased'"
)

Rows = Sequence[tuple[object, ...]]


class Ceiling:
    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "wal_autocheckpoint = 1000"):
            self._connection.execute(f"PRAGMA {pragma}").fetchall()
        self._connection.executescript(_SCHEMA)

    def close(self) -> None:
        self._connection.close()

    def inserts(self, mail: Mail, count: int, size: int) -> list[float]:
        """The seconds of each of `count` commits of `size` messages."""
        return [self._commit(_INSERT, rows) for rows in [_rows(mail, size) for _ in range(count)]]

    def cycles(self, mail: Mail, count: int, size: int) -> list[float]:
        """The seconds of each of `count` times three commits, of `size` inserts, leases and acknowledgements."""
        every = []
        for rows in [_rows(mail, size) for _ in range(count)]:
            changes = [(time.time(), row[0]) for row in rows]
            every.append(sum(self._commit(*one) for one in ((_INSERT, rows), (_LEASE, changes), (_ACK, changes))))
        return every

    def _commit(self, statement: str, rows: Rows) -> float:
        began = time.perf_counter()
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.executemany(statement, rows)
        self._connection.execute("COMMIT")
        return time.perf_counter() - began


def _rows(mail: Mail, size: int) -> Rows:
    return [
        (
            one.id,
            one.sender,
            one.recipient,
            one.intent.value,
            one.text,
            one.conversation,
            None,
            1,
            one.accepted_at,
            one.due_at,
            one.expires_at,
            "queued",
            0,
            None,
            None,
            None,
        )
        for one in (mail.message(lane) for lane in range(size))
    ]
