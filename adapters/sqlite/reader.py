"""Reads: rows to entities, with those set aside that nothing can be made of."""

import logging
import sqlite3
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from adapters.sqlite.codec import Unreadable, entity_of
from adapters.sqlite.database import Database
from adapters.sqlite.queries import SQL
from bridge.errors import Code, Refused

_log = logging.getLogger(__name__)
_T = TypeVar("_T")


class Reader:
    """Every read is one statement, run and decoded in the connection's thread; a visit may hold several.

    An unreadable row is logged once. It is left out of lists, so that it blocks nothing behind it; asked for
    by itself it is `Refused(unavailable)`. Text that cannot be stored is found nowhere.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._set_aside: set[tuple[type, str]] = set()
        self._trouble: str | None = None

    async def visit(self, work: "Callable[[Look], _T]") -> _T:
        try:
            found = await self._database.run(lambda connection: work(Look(connection, self._set_aside)))
        except sqlite3.Error as error:
            if self._trouble != (trouble := str(error)):
                # Once, not at each attempt: whoever waits for the store tries again and again, and says nothing.
                _log.error("The database cannot be read: %s", trouble)
                self._trouble = trouble
            raise Refused(Code.UNAVAILABLE, f"the database cannot be read: {error}") from error
        if self._trouble is not None:
            _log.warning("The database can be read again")
            self._trouble = None
        return found

    async def one(self, kind: type[_T], query: str, **parameters: object) -> _T | None:
        return await self.visit(lambda look: look.one(kind, query, **parameters))

    async def all(self, kind: type[_T], query: str, **parameters: object) -> list[_T]:
        return await self.visit(lambda look: look.all(kind, query, **parameters))

    async def first(self, limit: int, kind: type[_T], query: str, **parameters: object) -> list[_T]:
        """At most `limit` of them. What is unreadable stays at the head of such a list for ever, and must not
        use up the limit."""
        readable = await self.all(kind, query, limit=limit + len(self._set_aside), **parameters)
        return readable[:limit]

    async def value(self, query: str, **parameters: object) -> Any:
        """The first column of the first row."""
        return await self.visit(lambda look: look.value(query, **parameters))

    async def values(self, query: str, **parameters: object) -> list[tuple[Any, ...]]:
        return await self.visit(lambda look: look.values(query, **parameters))


class Look:
    """The reads of one visit, in the connection's thread."""

    def __init__(self, connection: sqlite3.Connection, set_aside: set[tuple[type, str]]) -> None:
        self._connection = connection
        self._set_aside = set_aside

    def one(self, kind: type[_T], query: str, **parameters: object) -> _T | None:
        columns, rows = _fetch(self._connection, query, parameters)
        try:
            return entity_of(kind, columns)(rows[0]) if rows else None  # type: ignore[arg-type]
        except Unreadable as error:
            self._set_row_aside(kind, rows[0], error)
            raise Refused(
                Code.UNAVAILABLE,
                f"the {kind.__name__.lower()} of {parameters} is unreadable: {error}",
                remedy="Repair or remove that row of the database, or restore a backup.",
            ) from error

    def all(self, kind: type[_T], query: str, **parameters: object) -> list[_T]:
        columns, rows = _fetch(self._connection, query, parameters)
        if not rows:
            return []
        entity, found = entity_of(kind, columns), []  # type: ignore[arg-type]
        for row in rows:
            try:
                found.append(entity(row))
            except Unreadable as error:
                self._set_row_aside(kind, row, error)
        return found

    def value(self, query: str, **parameters: object) -> Any:
        rows = self.values(query, **parameters)
        return rows[0][0] if rows else None

    def values(self, query: str, **parameters: object) -> list[tuple[Any, ...]]:
        return _fetch(self._connection, query, parameters)[1]

    def _set_row_aside(self, kind: type, row: tuple[Any, ...], error: Unreadable) -> None:
        name = (kind, str(row[0]))
        if name not in self._set_aside:
            self._set_aside.add(name)
            _log.error("The %s %s is unreadable, and what needs it waits: %s", kind.__name__.lower(), row[0], error)


def _fetch(
    connection: sqlite3.Connection, query: str, parameters: dict[str, object]
) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """The columns and the rows."""
    try:
        return _rows(connection, query, parameters)
    except UnicodeEncodeError:
        return (), []
    except sqlite3.OperationalError as error:
        if "decode to UTF-8" not in str(error):
            raise
        # Bytes that are no UTF-8 must not fail a whole list; a row with replaced letters can still be settled.
        connection.text_factory = _REPLACING
        try:
            return _rows(connection, query, parameters)
        finally:
            connection.text_factory = str


def _rows(
    connection: sqlite3.Connection, query: str, parameters: dict[str, object]
) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    found = connection.execute(SQL[query], parameters)
    return tuple(column[0] for column in found.description), found.fetchall()


_REPLACING = partial(str, encoding="utf-8", errors="replace")
