"""What the store in memory keeps, and how a change is checked as a whole before it is applied."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass, replace
from functools import cache
from types import NoneType
from typing import Any, TypeVar

from adapters.memory import moving
from adapters.memory.index import GOING, Index
from bridge.approval import Approval
from bridge.audit import Act
from bridge.conversation import Pair
from bridge.errors import Code, Conflict, IllegalMove, Refused
from bridge.grant import Grant, Scope
from bridge.ids import SessionId
from bridge.intake import Note, Update
from bridge.message import Message, State
from bridge.ports.store import Change, DayQuota, Entity, InboxRoom, Key
from bridge.post import Post
from bridge.regime import Regime
from bridge.request import Request
from bridge.session import Binding, Session
from bridge.token import Token
from bridge.trace import Step
from bridge.turn import Turn

_T = TypeVar("_T")
_Rows = Mapping[type, dict[object, Any]]
_PLAIN = frozenset({bool, int, float, NoneType})
_FLAT = _PLAIN | {str}


class Tables:
    """The entities and records of each kind, by key. What it gives and takes are never its own objects,
    unless nothing can change them."""

    def __init__(self) -> None:
        self._kept: defaultdict[type, dict[object, Any]] = defaultdict(dict)
        self._index = Index()
        self.sent_on: Counter[tuple[int, str]] = Counter()
        """What `DayQuota` counts, by day and profile."""

    def get(self, kind: type[_T], key: object) -> _T | None:
        found: _T | None = self._kept[kind].get(key)
        return found

    def every(self, kind: type[_T]) -> list[_T]:
        rows: list[Any] = list(self._kept[kind].values())
        if kind in (Step, Act):
            rows = [_copied(record) for record in rows]
        return rows

    def group(self, kind: type[_T], group: object) -> list[_T]:
        """Those of a group of the index: the messages of a recipient or of a turn, the turns of a session, the requests
        for a parent, the post of a key, or what is not over of any of these."""
        return list(self._index.rows(kind, group).values())

    def remove(self, kind: type, keys: Sequence[object]) -> None:
        for key in keys:
            self._index.move(key, self._kept[kind].pop(key), None)

    def inbox_size(self, session: SessionId) -> int:
        return _inbox_size(self.group(Message, session))

    def apply(self, change: Change) -> None:
        """Raises as `Store.commit` does; then nothing has changed."""
        for entity in change.unchanged:
            _expect(entity, self._kept)
        written = self._written(change)
        self._check_uniqueness(written)
        self._check_room(change, written)
        for move in change.moved:
            moving.check(self._kept, move)
        for place in change.unbound:
            self._kept[Binding].pop(place, None)
        self.sent_on.update((one.day, one.profile) for one in change.checks if isinstance(one, DayQuota))
        for kind, rows in written.items():
            for key, row in rows.items():
                self._keep(kind, key, row)
        for move in change.moved:
            for kind, row in moving.moved(self._kept, move):
                self._keep(kind, key_of(row), row)

    def _keep(self, kind: type, key: object, row: Any) -> None:
        kept = self._kept[kind]
        self._index.move(key, kept.get(key), row)
        kept[key] = row

    def _written(self, change: Change) -> _Rows:
        """The rows as they are to be."""
        written: defaultdict[type, dict[object, Any]] = defaultdict(dict)
        before: _Rows = self._kept
        if change.unbound:
            bindings = {place: row for place, row in before[Binding].items() if place not in change.unbound}
            before = {**before, Binding: bindings}
        for entity in sorted(change.puts, key=_is_new):
            _check_content(entity)
            kind, key = type(entity), key_of(entity)
            _expect(entity, written if key in written[kind] else before)
            written[kind][key] = _raised(entity)
        for record in (*change.keys, *change.verdicts, *change.steps, *change.acts):
            _check_content(record)
            table, key = type(record), key_of(record)
            if key in written[table] or key in self._kept[table]:
                raise Conflict(f"{key} exists already")
            written[table][key] = _copied(record) if isinstance(record, Step | Act) else record
        return written

    def _after(self, kind: type[_T], group: object, written: _Rows) -> Iterable[_T]:
        """A group as it is to be, and what else is written of its kind."""
        return {**self._index.rows(kind, group), **written.get(kind, {})}.values()

    def _every_after(self, kind: type[_T], written: _Rows) -> Iterable[_T]:
        return {**self._kept[kind], **written.get(kind, {})}.values()

    def _check_uniqueness(self, written: _Rows) -> None:
        if Turn in written:
            live = [turn.session for turn in self._after(Turn, GOING, written) if turn.live]
            _check_distinct(live, "live turn of a session")
        if Approval in written:
            pending = [(one.subject, one.about) for one in self._after(Approval, GOING, written) if one.open]
            _check_distinct(pending, "open approval about the same")
        if Token in written:
            held = [(one.session, one.name) for one in self._after(Token, GOING, written) if one.holds]
            _check_distinct(held, "token of the same name")
            _check_distinct([one.digest for one in self._every_after(Token, written)], "token with the same digest")
        for post in written.get(Post, {}).values():
            same = [one.id for one in self._after(Post, post.key, written) if one.key == post.key]
            if len(same) > 1:
                raise Conflict(f"a second post of the key {post.key}")

    def _check_room(self, change: Change, written: _Rows) -> None:
        for check in change.checks:
            if isinstance(check, InboxRoom):
                messages = self._after(Message, check.session, written)
                size = _inbox_size(one for one in messages if one.recipient == check.session)
            elif isinstance(check, DayQuota):
                size = self.sent_on[check.day, check.profile] + 1
            else:
                size = sum(one.open and one.asker == check.asker for one in self._after(Request, GOING, written))
            if size > check.limit:
                raise Conflict(f"{check}: {size}")


def _inbox_size(messages: Iterable[Message]) -> int:
    return sum(one.takes_room and one.state is not State.SETTLED for one in messages)


def _is_new(entity: Entity) -> bool:
    return entity.version == 0


def _expect(entity: Entity, rows: _Rows) -> None:
    stored = rows.get(type(entity), {}).get(key_of(entity))
    if (stored.version if stored else 0) != entity.version:
        raise Conflict(f"{type(entity).__name__} {key_of(entity)} is not at version {entity.version}")


def _check_distinct(values: list[Any], what: str) -> None:
    if len(values) != len(set(values)):
        raise Conflict(f"a second {what}")


def _check_content(row: Any) -> None:
    """Raises for what no database could hold: text that is no Unicode, and a state that contradicts itself."""
    try:
        _check_values(_values_of(row))
    except UnicodeEncodeError as error:
        raise Refused(Code.INVALID_REQUEST, f"it holds a value that cannot be stored: {error}") from error
    if isinstance(row, Message):
        over = row.state is State.SETTLED
        sound = (row.outcome is not None) == over and (row.settled_at is not None) == over
        sound = sound and (row.leased_until is None or row.state is State.LEASED)
    else:
        sound = _is_sound(row)
    if not sound:
        raise IllegalMove(f"{type(row).__name__} {key_of(row)}: its state contradicts its fields")


def _is_sound(row: Any) -> bool:
    match row:
        case Request():
            return row.open == (row.closed_at is None)
        case Turn():
            return row.live == (row.ended_at is None)
        case Grant():
            told = (row.revoked_at is None) == (row.revoked_by is None)
            bounded = (row.conversation is not None) == (row.scope is Scope.CONVERSATION)
            return told and bounded and (row.used_at is None or row.scope is Scope.ONCE)
        case Approval():
            return row.open == (row.outcome is None)
        case Session():
            return (row.parent is None) == (row.spawned_in is None) and (row.caps is None or row.parent is None)
        case Regime():
            return row.paused == (row.paused_by is not None)
        case Token():
            return row.holds == (row.revoked_by is None)
    return True


def _check_values(values: Iterable[Any]) -> None:
    for value in values:
        kind = type(value)
        if kind in _PLAIN:
            continue
        if isinstance(value, str):
            if not value.isascii():
                value.encode()
        elif kind is tuple or kind is list:
            _check_values(value)
        elif kind is dict:
            _check_values(value)
            _check_values(value.values())
        elif is_dataclass(value):
            _check_values(_values_of(value))
        else:
            json.dumps(value)  # Which tells what is no JSON.


def _values_of(row: Any) -> tuple[Any, ...]:
    kind: Any = type(row)
    return _getter(kind)(row)


def _raised(entity: Entity) -> Entity:
    """The same with its next version."""
    kind: Any = type(entity)
    raised: Entity = _raiser(kind)(entity)
    return raised


# What has to do with every field of a kind is compiled once, as `dataclasses` does it: it is half of a commit.


@cache
def _getter(kind: type) -> Callable[[Any], tuple[Any, ...]]:
    every = "".join(f"one.{name}, " for name in _names(kind))
    getter: Callable[[Any], tuple[Any, ...]] = eval(f"lambda one: ({every})")
    return getter


@cache
def _raiser(kind: type) -> Callable[[Any], Any]:
    same = ", ".join(f"{name}=one.{name}" for name in _names(kind) if name != "version")
    raiser: Callable[[Any], Any] = eval(f"lambda one: kind({same}, version=one.version + 1)", {"kind": kind})
    return raiser


def _names(kind: Any) -> list[str]:
    return [field.name for field in fields(kind)]


def key_of(row: Any) -> object:
    match row:
        case Binding():
            return row.place
        case Pair():
            return row.a, row.b
        case Update():
            return row.source, row.number
        case Note():
            return row.source, row.key
        case Key():
            return row.sender, row.key
        case _:
            return row.id


def _copied(record: Step | Act) -> Step | Act:
    """The detail of a record is the one thing kept here that can be changed; it is copied as JSON would."""
    detail = record.detail
    if all(type(value) in _FLAT for value in detail.values()):
        copy = dict(detail)
    else:
        copy = json.loads(json.dumps(detail, default=asdict))
    if isinstance(record, Act):
        return replace(record, detail=copy)
    return Step(
        record.id, record.at, record.step, record.session, record.message, record.conversation, record.cause, copy
    )
