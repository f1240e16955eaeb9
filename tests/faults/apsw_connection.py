"""`sqlite3.Connection`, as far as the store uses it, over apsw: a SQLite whose disk is a test's own."""

import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

import apsw

from adapters.sqlite.database import Connect

_KINDS: dict[type[apsw.Error], type[sqlite3.Error]] = {
    apsw.ConstraintError: sqlite3.IntegrityError,
    apsw.CorruptError: sqlite3.DatabaseError,
    apsw.NotADBError: sqlite3.DatabaseError,
}

_NAMES = {**apsw.mapping_result_codes, **apsw.mapping_extended_result_codes}


def over(vfs: str) -> Connect:
    """Connects to files of the VFS with that name."""

    def connect(path: Path, busy_timeout_s: float) -> sqlite3.Connection:
        try:
            connection = _Connection(apsw.Connection(str(path), vfs=vfs), busy_timeout_s)
        except apsw.Error as error:
            raise _told(error) from error
        return cast(sqlite3.Connection, connection)

    return connect


class _Row(tuple[Any, ...]):
    names: tuple[str, ...]

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(self.names.index(key) if isinstance(key, str) else key)

    def keys(self) -> list[str]:
        return list(self.names)


class _Cursor:
    def __init__(self, rows: Iterable[_Row], rowcount: int) -> None:
        every = list(rows)
        self._rows = iter(every)
        self.description = [(name,) for one in every[:1] for name in one.names]
        self.rowcount = rowcount

    def __iter__(self) -> "_Cursor":
        return self

    def __next__(self) -> _Row:
        return next(self._rows)

    def fetchone(self) -> _Row | None:
        return next(self._rows, None)

    def fetchall(self) -> list[_Row]:
        return list(self._rows)


class _Connection:
    def __init__(self, connection: apsw.Connection, busy_timeout_s: float) -> None:
        self._connection = connection
        connection.set_busy_timeout(round(busy_timeout_s * 1_000))
        connection.row_trace = _row

    @property
    def in_transaction(self) -> bool:
        return self._connection.in_transaction

    def execute(self, sql: str, parameters: Mapping[str, Any] | tuple[Any, ...] = ()) -> _Cursor:
        return self._run(lambda: self._connection.execute(sql, parameters))

    def executemany(self, sql: str, parameters: Iterable[Any]) -> _Cursor:
        return self._run(lambda: self._connection.executemany(sql, parameters))

    def close(self) -> None:
        try:
            self._connection.close()
        except apsw.Error as error:
            raise _told(error) from error

    def _run(self, statement: Any) -> _Cursor:
        before = self._connection.total_changes()
        try:
            rows = list(statement())
        except apsw.Error as error:
            raise _told(error) from error
        return _Cursor(rows, self._connection.total_changes() - before)


def _row(cursor: apsw.Cursor, values: tuple[Any, ...]) -> _Row:
    row = _Row(values)
    row.names = tuple(column[0] for column in cursor.get_description())
    return row


def _told(error: apsw.Error) -> sqlite3.Error:
    """The error as the standard library would raise it."""
    told = _KINDS.get(type(error), sqlite3.OperationalError)(str(error) or type(error).__name__)
    told.sqlite_errorcode = getattr(error, "extendedresult", apsw.SQLITE_ERROR)
    told.sqlite_errorname = str(_NAMES.get(told.sqlite_errorcode))
    return told
