"""Dataclasses to rows and back, driven by their fields: a column for each, nested values as JSON text."""

import dataclasses
import json
from collections.abc import Callable
from enum import StrEnum
from functools import cache
from operator import attrgetter
from types import UnionType
from typing import Any, Protocol, TypeVar, Union, get_args, get_origin, get_type_hints

_T = TypeVar("_T")
_Part = Callable[[Any], Any]


class Columns(Protocol):
    def __getitem__(self, name: str, /) -> Any: ...


class Unreadable(Exception):
    """A row that no entity can be made of."""


def to_row(entity: Any) -> dict[str, object]:
    """The columns of an entity. Raises `TypeError` where a nested value is no JSON."""
    names, values, nested = _writing(type(entity))  # type: ignore[arg-type]
    row: dict[str, object] = dict(zip(names, values(entity), strict=True))
    for name in nested:
        if row[name] is not None:
            row[name] = _dump(row[name])
    return row


def from_row(kind: type[_T], row: Columns) -> _T:
    """The entity of a row; columns that are no field are passed over. Raises `Unreadable`."""
    try:
        return kind(**{name: read(row[name]) if read else row[name] for name, read in _reading(kind)})  # type: ignore[arg-type]
    except (ValueError, TypeError, LookupError) as error:
        raise Unreadable(str(error)) from error


@cache
def _writing(kind: type) -> tuple[tuple[str, ...], Callable[[Any], tuple[object, ...]], tuple[str, ...]]:
    """The names of the fields, what takes their values from an entity, and the names of the nested ones."""
    hints = get_type_hints(kind)
    return tuple(hints), attrgetter(*hints), tuple(name for name, hint in hints.items() if _nested(hint))


@cache
def _reading(kind: type) -> tuple[tuple[str, _Part | None], ...]:
    return tuple((name, _column(hint)) for name, hint in get_type_hints(kind).items())


def _column(hint: Any) -> _Part | None:
    """How a column's value becomes that of a field of type `hint`; None where they are the same."""
    read = _plain(hint)
    if not _nested(hint):
        return read
    return lambda text: None if text is None else (read or _same)(json.loads(text))


def _plain(hint: Any) -> _Part | None:
    """How a plain value, such as JSON has, becomes one of type `hint`."""
    kind, optional = _bare(hint)
    if get_origin(kind) is tuple:
        item = _plain(get_args(kind)[0]) or _same
        return lambda values: tuple(item(value) for value in _expect(list, values))
    if get_origin(kind) is dict:
        return lambda value: _expect(dict, value)
    if dataclasses.is_dataclass(kind):
        return lambda values: from_row(kind, _expect(dict, values))  # type: ignore[arg-type]
    if isinstance(kind, type) and (issubclass(kind, StrEnum) or kind is bool):
        return (lambda value: None if value is None else kind(value)) if optional else kind
    return None


def _nested(hint: Any) -> bool:
    kind, _ = _bare(hint)
    return get_origin(kind) in (tuple, dict) or dataclasses.is_dataclass(kind)


def _bare(hint: Any) -> tuple[Any, bool]:
    """A type without `| None` and without the names that `NewType` gives it, and whether it had the None."""
    optional = get_origin(hint) in (Union, UnionType)
    if optional:
        (hint,) = (part for part in get_args(hint) if part is not type(None))
    return getattr(hint, "__supertype__", hint), optional


def _expect(kind: type[_T], value: Any) -> _T:
    if not isinstance(value, kind):
        raise ValueError(f"a {kind.__name__} was expected")
    return value


def _same(value: Any) -> Any:
    return value


def _fields(value: object) -> dict[str, object]:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    raise TypeError(f"{type(value).__name__} is no JSON")


# Letters stay as they are: text that no database takes is refused in a nested value as it is in a column.
_dump = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_fields).encode
