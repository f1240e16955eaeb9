"""Connections to the database file, with the settings that its promises need."""

import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import aiosqlite

_T = TypeVar("_T")

WAL_BYTES = 16 << 20
"""To what the log is cut back, once a foreign reader that made it grow is gone."""

_WRITES = (
    "PRAGMA synchronous = FULL",
    "PRAGMA fullfsync = ON",
    "PRAGMA checkpoint_fullfsync = ON",
    "PRAGMA wal_autocheckpoint = 1000",
    f"PRAGMA journal_size_limit = {WAL_BYTES}",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA mmap_size = 0",
)
_ONLY_READS = ("PRAGMA query_only = ON", "PRAGMA mmap_size = 0")

# The driver looks for an adapter of each None that is bound, and where there is none that takes longer than all else of
# a row. This one gives None for None.
sqlite3.register_adapter(type(None), dict[None, None]().get)

Connect = Callable[[Path, float], sqlite3.Connection]
"""Opens a file; the number is how many seconds to wait for a foreign program that holds it."""


class Database(aiosqlite.Connection):
    """A connection in a thread of its own that runs a whole piece of work in one visit to that thread.

    Work begins and ends its own transaction, so none is ever open across an await, and a caller that is
    cancelled meanwhile disturbs nothing.
    """

    async def run(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        if self._connection is None:
            raise sqlite3.ProgrammingError("the database is closed")
        result: _T = await self._execute(work, self._connection)  # type: ignore[no-untyped-call]
        return result

    def post(self, work: Callable[[sqlite3.Connection], None]) -> None:
        """Hands over work that answers by itself, and must not raise: its answer need not pass through a future."""
        if self._connection is None:
            raise sqlite3.ProgrammingError("the database is closed")
        self._tx.put_nowait((None, partial(work, self._connection)))


def connect(path: Path, busy_timeout_s: float) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=busy_timeout_s, isolation_level=None, cached_statements=256)


async def open_writer(path: Path, *, busy_timeout_s: float, connect: Connect = connect) -> Database:
    """Raises `sqlite3.Error`, also where the file system cannot do write-ahead logging."""
    writer = await _connected(partial(connect, path, busy_timeout_s))
    try:
        await writer.run(partial(_set, pragmas=_WRITES))
        await writer.run(_use_write_ahead_log)
    except BaseException:
        await writer.close()
        raise
    return writer


async def open_reader(path: Path, *, busy_timeout_s: float, connect: Connect = connect) -> Database:
    reader = await _connected(partial(connect, path, busy_timeout_s))
    try:
        await reader.run(partial(_set, pragmas=_ONLY_READS))
    except BaseException:
        await reader.close()
        raise
    return reader


async def _connected(connector: Callable[[], sqlite3.Connection]) -> Database:
    database = Database(connector, iter_chunk_size=64)
    await database
    return database


def _set(connection: sqlite3.Connection, pragmas: tuple[str, ...]) -> None:
    for pragma in pragmas:
        connection.execute(pragma)


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        raise sqlite3.OperationalError(f"no write-ahead log on this file system (journal mode {mode})")
