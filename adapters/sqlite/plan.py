"""A change as statements and rows: planned in its caller's task, run by the writer with all that wait beside it."""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, TypeVar

from adapters.sqlite.queries import SQL, numbered
from adapters.sqlite.write import Row, Write
from bridge.errors import Code, Conflict, IllegalMove, Refused
from bridge.ports.store import Change, InboxRoom

_T = TypeVar("_T")

_Rows = dict[_T, list[Row]]
"""The rows of each statement, so that it is run once for all of them."""

_FAULTS = (
    sqlite3.IntegrityError,
    sqlite3.DataError,
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
    UnicodeEncodeError,
    OverflowError,
)
"""What one change can have wrong; anything else is wrong with the database, and with the whole batch."""


class Plan(NamedTuple):
    """The statements of a change, each with its row. An update must hit exactly one row, a guard's version must be the
    one that is named, and a check's count at most its limit. `updates` come before `inserts`, so that a change may
    end a session's turn and begin its next, whatever the order of its puts."""

    guards: Sequence[tuple[str, Row, int]]
    deletes: Sequence[tuple[str, Row]]
    updates: Sequence[tuple[Write, Row]]
    inserts: Sequence[tuple[Write, Row]]
    checks: Sequence[tuple[str, Row, int]]


def plan(change: Change) -> Plan:
    """Raises `TypeError` for a detail that is no JSON: a defect of the caller."""
    updates: list[tuple[Write, Row]] = []
    inserts: list[tuple[Write, Row]] = []
    for entity in change.puts:
        of = _writes(type(entity))  # type: ignore[arg-type]
        if entity.version:
            updates.append((of.update, of.update.row(entity)))
        else:
            inserts.append((of.insert, of.insert.row(entity)))
    for records in (change.keys, change.verdicts, change.steps):
        for record in records:
            insert = _writes(type(record)).insert  # type: ignore[arg-type]
            inserts.append((insert, insert.row(record)))
    return Plan(
        [_guard(entity) for entity in change.unchanged] if change.unchanged else (),
        [(_UNBIND, (place,)) for place in change.unbound] if change.unbound else (),
        updates,
        inserts,
        [
            (_INBOX_SIZE, (check.session,), check.limit)
            if isinstance(check, InboxRoom)
            else (_OPEN_REQUESTS, (check.asker,), check.limit)
            for check in change.checks
        ]
        if change.checks
        else (),
    )


def store_plans(connection: sqlite3.Connection, plans: Sequence[Plan]) -> list[Exception | None]:
    """Stores the plans in one transaction, each as a whole or not at all: what is wrong with each, in order.

    Raises `sqlite3.Error` when nothing could be stored. All are first tried as one, a statement for all its rows.
    Only when that does not go well each is stored by itself, in a savepoint, so that the others come to no harm.
    """
    try:
        _in_transaction(connection, lambda: _apply(connection, plans))
    except (Conflict, *_FAULTS):
        return _in_transaction(connection, lambda: [_store(connection, one) for one in plans])
    return [None] * len(plans)


def _in_transaction(connection: sqlite3.Connection, work: Callable[[], _T]) -> _T:
    _rollback(connection)  # What is left of one whose own rollback failed.
    connection.execute("BEGIN IMMEDIATE")
    try:
        result = work()
        connection.execute("COMMIT")
    except BaseException:
        _rollback(connection)
        raise
    return result


def _store(connection: sqlite3.Connection, one: Plan) -> Exception | None:
    connection.execute("SAVEPOINT change")
    try:
        _apply(connection, [one])
    except (Conflict, *_FAULTS) as error:
        connection.execute("ROLLBACK TO change")
        connection.execute("RELEASE change")
        return _told(error)
    connection.execute("RELEASE change")
    return None


def _apply(connection: sqlite3.Connection, plans: Sequence[Plan]) -> None:
    """Of several plans, a guard must hold against what the others write too, and is looked at once they have: where
    two each guard what the other writes, one at most may pass. The counts of room are those after all of them."""
    deletes: _Rows[str] = {}
    updates: _Rows[Write] = {}
    inserts: _Rows[Write] = {}
    limits: dict[tuple[str, Row], int] = {}
    guards: list[tuple[str, Row, int]] = []
    for one in plans:
        for statement, row in one.deletes:
            deletes.setdefault(statement, []).append(row)
        for gathered, each in ((updates, one.updates), (inserts, one.inserts)):
            for write, row in each:
                gathered.setdefault(write, []).append(row)
        guards.extend(one.guards)
        for count, key, limit in one.checks:
            limits[count, key] = min(limit, limits.get((count, key), limit))
    if len(plans) == 1:
        _check_guards(connection, guards)
    for statement, rows in deletes.items():
        connection.executemany(statement, rows)
    for written in (updates, inserts):
        for write, rows in written.items():
            if write.run(connection, rows) != len(rows):
                raise Conflict(f"{write.text.partition('(')[0]}: a version has moved on")
    if len(plans) > 1:
        _check_guards(connection, guards)
    for (count, key), limit in limits.items():
        if connection.execute(count, key).fetchone()[0] > limit:
            raise Conflict(f"{key}: more than {limit}")


def _check_guards(connection: sqlite3.Connection, guards: Iterable[tuple[str, Row, int]]) -> None:
    for statement, key, version in guards:
        found = connection.execute(statement, key).fetchone()
        if (found[0] if found else 0) != version:
            raise Conflict(f"{key}: not at version {version} any more")


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


@dataclass(frozen=True, slots=True)
class _Writes:
    """Those of one kind. A record has no other than `insert`."""

    insert: Write
    update: Write
    guard: Write


@cache
def _writes(kind: type) -> _Writes:
    noun = kind.__name__.lower()
    verbs = ("insert", "update", "version_of")
    return _Writes(*(Write.of(kind, SQL.get(f"{verb}_{noun}", "")) for verb in verbs))


def _guard(entity: Any) -> tuple[str, Row, int]:
    guard = _writes(type(entity)).guard  # type: ignore[arg-type]
    return numbered(guard.text), guard.row(entity), entity.version


_UNBIND = numbered(SQL["unbind"])
_INBOX_SIZE = numbered(SQL["inbox_size"])
_OPEN_REQUESTS = numbered(SQL["open_request_count"])
