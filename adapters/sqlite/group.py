"""Plans that are stored in one transaction.

The loop gathers them, and the database's thread only runs what was gathered: for as long as that thread is at work in
the interpreter itself, the loop has to wait.
"""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from adapters.sqlite.plan import Plan
from adapters.sqlite.write import Row, Run, Write
from bridge.errors import Code, Conflict, IllegalMove, Refused

_T = TypeVar("_T")

_FAULTS = (
    sqlite3.IntegrityError,
    sqlite3.DataError,
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
    UnicodeEncodeError,
    OverflowError,
)
"""What one change can have wrong; anything else is wrong with the database, and with the whole group."""


class Group(NamedTuple):
    plans: Sequence[Plan]
    first: Sequence[tuple[str, Row]]
    writes: Sequence[Run]
    guards: Sequence[tuple[str, Row, int]]
    limits: dict[tuple[str, Row], int]
    last: Sequence[tuple[str, Row]] = ()

    @classmethod
    def of(cls, plans: Sequence[Plan]) -> "Group":
        """The rows of each kind by one statement, updates before inserts. Of several limits to one count the least."""
        updates: dict[Write, list[Row]] = {}
        inserts: dict[Write, list[Row]] = {}
        limits: dict[tuple[str, Row], int] = {}
        first: list[tuple[str, Row]] = []
        guards: dict[tuple[str, Row, int], None] = {}
        for one in plans:
            for write, row in one.updates:
                updates.setdefault(write, []).append(row)
            for write, row in one.inserts:
                inserts.setdefault(write, []).append(row)
            for count, key, limit in one.checks:
                limits[count, key] = min(limit, limits.get((count, key), limit))
            first += one.first
            guards.update(dict.fromkeys(one.guards))
        writes: list[Run] = []
        for write, rows in (*updates.items(), *inserts.items()):
            writes += write.runs(rows)
        last = [move for one in plans for move in one.last]
        return cls(plans, first, writes, [*guards], limits, last)

    def store(self, connection: sqlite3.Connection) -> list[Exception | None]:
        """Stores the plans, each as a whole or not at all: what is wrong with each, in order.

        Raises `sqlite3.Error` when nothing could be stored. All are first tried as one. Only when that does not go
        well each is stored by itself, in a savepoint, so that the others come to no harm.
        """
        try:
            _in_transaction(connection, lambda: self._apply(connection))
        except (Conflict, *_FAULTS):
            return _in_transaction(connection, lambda: [_store(connection, one) for one in self.plans])
        return [None] * len(self.plans)

    def _apply(self, connection: sqlite3.Connection) -> None:
        """Of several plans, a guard must hold against what the others write too, and is looked at once they have:
        where two each guard what the other writes, one at most may pass. The counts of room are those after all of
        them."""
        if len(self.plans) == 1:
            _check_guards(connection, self.guards)
        for statement, row in self.first:
            connection.execute(statement, row)
        for run in self.writes:
            if connection.execute(run.statement, run.values).rowcount != run.rows:
                raise Conflict(f"{run.statement.partition('(')[0]}: a version has moved on")
        for statement, row in self.last:
            connection.execute(statement, row)
        if len(self.plans) > 1:
            _check_guards(connection, self.guards)
        for (count, key), limit in self.limits.items():
            if connection.execute(count, key).fetchone()[0] > limit:
                raise Conflict(f"{key}: more than {limit}")


def _store(connection: sqlite3.Connection, one: Plan) -> Exception | None:
    connection.execute("SAVEPOINT change")
    try:
        Group.of([one])._apply(connection)
    except (Conflict, *_FAULTS) as error:
        connection.execute("ROLLBACK TO change")
        connection.execute("RELEASE change")
        return _told(error)
    connection.execute("RELEASE change")
    return None


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


def _rollback(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        connection.execute("ROLLBACK")
