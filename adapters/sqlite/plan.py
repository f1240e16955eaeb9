"""A change as statements and rows, planned in its caller's task."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from adapters.sqlite.codec import row_of
from adapters.sqlite.queries import SQL, numbered, parameters
from adapters.sqlite.write import Row, Write
from bridge.ids import Place
from bridge.move import Move
from bridge.ports.store import Change, Check, DayQuota, InboxRoom, OpenRequests


class Plan(NamedTuple):
    """The statements of a change, each with its row. An update must hit exactly one row, a guard's version must be the
    one that is named, and a check's count at most its limit. What needs no version comes `first`; `updates` come before
    `inserts`, so that a change may end a session's turn and begin its next, whatever the order of its puts. What has
    moved moves `last`, with all that was written."""

    guards: Sequence[tuple[str, Row, int]]
    first: Sequence[tuple[str, Row]]
    updates: Sequence[tuple[Write, Row]]
    inserts: Sequence[tuple[Write, Row]]
    checks: Sequence[tuple[str, Row, int]]
    last: Sequence[tuple[str, Row]] = ()


def plan(change: Change) -> Plan:
    """Raises `TypeError` for a detail that is no JSON: a defect of the caller."""
    puts, unchanged, keys, checks, verdicts, steps, acts, unbound, moved = change
    updates: list[tuple[Write, Row]] = []
    inserts: list[tuple[Write, Row]] = []
    for entity in puts:
        of = _writes(type(entity))  # type: ignore[arg-type]
        if entity.version:
            updates.append((of.update, of.update.row(entity)))
        else:
            inserts.append((of.insert, of.insert.row(entity)))
    for record in (*keys, *verdicts, *steps, *acts):
        insert = _writes(type(record)).insert  # type: ignore[arg-type]
        inserts.append((insert, insert.row(record)))
    return Plan(
        [_guard(entity) for entity in unchanged] if unchanged else (),
        _before(unbound, checks) if unbound or checks else (),
        updates,
        inserts,
        [*map(_count, checks), *map(_elsewhere, moved)] if checks or moved else (),
        [(numbered(SQL[name]), _row(SQL[name], move)) for move in moved for name in _MOVING] if moved else (),
    )


def _elsewhere(move: Move) -> tuple[str, Row, int]:
    return numbered(SQL["moved_elsewhere"]), _row(SQL["moved_elsewhere"], move), 0


def _row(statement: str, move: Move) -> Row:
    return row_of(Move, parameters(statement))(move)


def _count(check: Check) -> tuple[str, Row, int]:
    match check:
        case InboxRoom():
            return _INBOX_SIZE, (check.session,), check.limit
        case OpenRequests():
            return _OPEN_REQUESTS, (check.asker,), check.limit
        case DayQuota():
            return _SENT_ON, (check.profile, check.day), check.limit


def _before(unbound: Sequence[Place], checks: Sequence[Check]) -> list[tuple[str, Row]]:
    counted = [(_ONE_MORE, (one.profile, one.day)) for one in checks if isinstance(one, DayQuota)]
    return [*((_UNBIND, (place,)) for place in unbound), *counted]


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
_SENT_ON = numbered(SQL["sent_on"])
_ONE_MORE = numbered(SQL["count_one_more"])
_MOVING = (*(name for name in SQL if name.startswith("move_")), "insert_move")
