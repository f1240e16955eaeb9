"""What a database file is like, seen by somebody who only reads it, whether a bridge runs on it or not."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from adapters.sqlite.migrate import known_migrations, schema_of
from adapters.sqlite.queries import SQL
from bridge.ids import first_id

_FAULTS = 5
_MOVES_SINCE = 19
_COUNTED = ("sessions", "messages", "requests", "turns")


@dataclass(frozen=True, slots=True)
class Inspection:
    """`faults` are what SQLite finds wrong, none where the file is whole. `newest_at` is the time of its newest row,
    `overdue` the number of messages that retention should have removed."""

    schema: int
    known: int
    faults: tuple[str, ...]
    counts: Mapping[str, int]
    newest_at: float | None
    overdue: int


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that can neither write nor checkpoint. Raises `sqlite3.Error`."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)) as connection:
        yield connection


def bound(path: Path) -> Mapping[str, str]:
    """The places that have a session, and its id. None where there is no database yet. Raises `sqlite3.Error`."""
    if not path.exists():
        return {}
    with reading(path) as connection:
        connection.row_factory = sqlite3.Row
        rows = connection.execute(SQL["bindings"]) if schema_of(connection) else ()
        return {row["place"]: row["session"] for row in rows if row["session"] is not None}


def moved(path: Path) -> Mapping[str, str]:
    """Where each place that has moved is now. None where there is no database yet, or one from before that was kept.
    Raises `sqlite3.Error`."""
    if not path.exists():
        return {}
    with reading(path) as connection:
        connection.row_factory = sqlite3.Row
        rows = connection.execute(SQL["moves"]) if schema_of(connection) >= _MOVES_SINCE else ()
        return {row["old"]: row["new"] for row in rows}


def inspect(path: Path, *, before: float = 0) -> Inspection:
    """Looks at every page. Raises `sqlite3.Error` for what is no database, or cannot be opened."""
    with reading(path) as connection:
        checked = [str(row[0]) for row in connection.execute(f"PRAGMA integrity_check({_FAULTS})")]
        schema = schema_of(connection)
        counts: dict[str, int] = {}
        newest_at, overdue = None, 0
        if schema:
            counts = {table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in _COUNTED}
            newest_at = connection.execute(SQL["newest"]).fetchone()[0]
            overdue = connection.execute(SQL["overdue"], {"before": before, "first_id": first_id(before)}).fetchone()[0]
        return Inspection(
            schema=schema,
            known=max(known_migrations()),
            faults=() if checked == ["ok"] else tuple(checked),
            counts=counts,
            newest_at=newest_at,
            overdue=overdue,
        )
