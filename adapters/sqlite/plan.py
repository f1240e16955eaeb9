"""A change as statements: planned in the caller's task, run by the writer."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from adapters.sqlite.codec import to_row
from adapters.sqlite.queries import SQL
from bridge.errors import Code, Conflict, IllegalMove, Refused
from bridge.ports.store import Change, InboxRoom

Row = dict[str, object]
Rows = dict[str, list[Row]]
"""The rows of each named statement, so that one `executemany` runs them."""


_FAULTS = (
    sqlite3.IntegrityError,
    sqlite3.DataError,
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
    UnicodeEncodeError,
    OverflowError,
)
"""What one change can have wrong; anything else is wrong with the database, and with the whole batch."""


@dataclass(frozen=True, slots=True)
class Check:
    """Holds if the named count is at most `limit` after the change."""

    count: str
    row: Row
    limit: int


@dataclass(frozen=True, slots=True)
class Plan:
    """`updates` come before `inserts`, so that a change may end a session's turn and begin its next, whatever
    the order of its puts. Each row of them must hit exactly one row."""

    guards: Rows
    deletes: Rows
    updates: Rows
    inserts: Rows
    checks: Sequence[Check]


def plan(change: Change) -> Plan:
    """Raises `TypeError` for a detail that is no JSON: a defect of the caller."""
    guards: Rows = defaultdict(list)
    updates: Rows = defaultdict(list)
    inserts: Rows = defaultdict(list)
    for entity in change.unchanged:
        guards[f"version_of_{_noun(entity)}"].append(to_row(entity))
    for entity in change.puts:
        noun, row = _noun(entity), to_row(entity)
        if entity.version:
            updates[f"update_{noun}"].append(row)
        else:
            inserts[f"insert_{noun}"].append(row)
    for record in (*change.keys, *change.verdicts, *change.steps):
        inserts[f"insert_{_noun(record)}"].append(to_row(record))
    return Plan(
        guards,
        {"unbind": [{"place": place} for place in change.unbound]},
        updates,
        inserts,
        [
            Check("inbox_size", {"session": check.session}, check.limit)
            if isinstance(check, InboxRoom)
            else Check("open_request_count", {"asker": check.asker}, check.limit)
            for check in change.checks
        ],
    )


def store_plans(connection: sqlite3.Connection, plans: Sequence[Plan]) -> list[Exception | None]:
    """Stores the plans in one transaction, each as a whole or not at all: what is wrong with each, in order.

    Raises `sqlite3.Error` when nothing could be stored. Savepoints cost a quarter of the time, so they are used
    only once a plan of the batch has turned out to be at fault.
    """
    try:
        with _transaction(connection):
            for one in plans:
                _apply(connection, one)
    except (Conflict, *_FAULTS):
        with _transaction(connection):
            return [_store(connection, one) for one in plans]
    return [None] * len(plans)


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    _rollback(connection)  # What is left of one whose own rollback failed.
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        _rollback(connection)
        raise


def _store(connection: sqlite3.Connection, one: Plan) -> Exception | None:
    connection.execute("SAVEPOINT change")
    try:
        _apply(connection, one)
    except (Conflict, *_FAULTS) as error:
        connection.execute("ROLLBACK TO change")
        connection.execute("RELEASE change")
        return _told(error)
    connection.execute("RELEASE change")
    return None


def _apply(connection: sqlite3.Connection, one: Plan) -> None:
    for name, rows in one.guards.items():
        for row in rows:
            found = connection.execute(SQL[name], row).fetchone()
            if (found[0] if found else 0) != row["version"]:
                raise Conflict(f"{name}: not {row['version']} any more")
    for name, rows in one.deletes.items():
        connection.executemany(SQL[name], rows)
    for name, rows in (*one.updates.items(), *one.inserts.items()):
        if connection.executemany(SQL[name], rows).rowcount != len(rows):
            raise Conflict(f"{name}: the version has moved on")
    for check in one.checks:
        if connection.execute(SQL[check.count], check.row).fetchone()[0] > check.limit:
            raise Conflict(f"{check.count}: more than {check.limit}")


def _told(error: Exception) -> Exception:
    """The error as the port names it. A fault in binding a value is a defect, and stays as it is."""
    if isinstance(error, sqlite3.IntegrityError):
        taken = error.sqlite_errorname in ("SQLITE_CONSTRAINT_PRIMARYKEY", "SQLITE_CONSTRAINT_UNIQUE")
        return Conflict(str(error)) if taken else IllegalMove(str(error))
    if isinstance(error, UnicodeEncodeError | OverflowError | sqlite3.DataError):
        return Refused(Code.INVALID_REQUEST, f"it holds a value that cannot be stored: {error}")
    return error


def _rollback(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def _noun(entity: object) -> str:
    return type(entity).__name__.lower()
