"""Dataclasses to rows and back, driven by their fields: a column for each, also for each of a nested dataclass that is
never None; other nested values as JSON text.

Every message passes here several times, so what reads and writes a kind is compiled once, as `dataclasses` does it: a
function without a look at any type.
"""

import dataclasses
import json
from collections.abc import Callable
from enum import StrEnum
from functools import cache, lru_cache
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

_T = TypeVar("_T")
_Part = Callable[[Any], Any]

_EMPTY = "[]"
"""Of most messages there are no attachments and no pieces: that costs no JSON."""
_ERRORS = (ValueError, TypeError, LookupError)


class Unreadable(Exception):
    """A row that no entity can be made of."""


@cache
def columns_of(kind: type) -> tuple[str, ...]:
    """The columns of a kind, in the order of its rows."""
    return tuple(_columns(kind))


@cache
def row_of(kind: type, columns: tuple[str, ...]) -> Callable[[Any], tuple[object, ...]]:
    """What makes a row of these columns of an entity. It raises `TypeError` where a nested value is no JSON."""
    scope: dict[str, Any] = {"dump": _dump, "dump_words": _dump_words}
    known = _columns(kind)
    values = "".join(f"{_written(f'one.{path}', hint)}, " for path, hint in map(known.__getitem__, columns))
    row: Callable[[Any], tuple[object, ...]] = eval(f"lambda one: ({values})", scope)
    return row


@cache
def entity_of(kind: type[_T], columns: tuple[str, ...]) -> Callable[[tuple[Any, ...]], _T]:
    """What makes an entity of a row with these columns; those that are no field are passed over. It raises
    `Unreadable`."""
    scope: dict[str, Any] = {}
    make: Callable[[tuple[Any, ...]], _T] = eval(f"lambda row: {_made(kind, columns, scope)}", scope)

    def entity(row: tuple[Any, ...]) -> _T:
        try:
            return make(row)
        except _ERRORS as error:
            raise Unreadable(str(error)) from error

    return entity


def _columns(kind: type) -> dict[str, tuple[str, Any]]:
    """By the name of each column the path to its value from the entity, and its type."""
    known: dict[str, tuple[str, Any]] = {}
    for name, hint in get_type_hints(kind).items():
        if _spread(hint):
            known |= {column: (f"{name}.{path}", part) for column, (path, part) in _columns(hint).items()}
        else:
            known[name] = name, hint
    return known


def _spread(hint: Any) -> bool:
    """Whether it is a dataclass that is never None: its fields have columns of their own."""
    return dataclasses.is_dataclass(hint)


def _made(kind: type, columns: tuple[str, ...], scope: dict[str, Any]) -> str:
    """The expression that makes one of a row; what it calls is put into `scope`."""
    values = []
    for name, hint in get_type_hints(kind).items():
        if _spread(hint):
            value = _made(hint, columns, scope)
        else:
            value, read = f"row[{columns.index(name)}]", _column(hint)
            if read is not None:
                scope[f"read_{name}"] = read
                value = f"read_{name}({value})"
        values.append(f"{name}={value}")
    scope[kind.__name__] = kind
    return f"{kind.__name__}({', '.join(values)})"


def _written(value: str, hint: Any) -> str:
    """The expression of a column. Only plain str, int and float go into SQLite without a search for an adapter."""
    kind, optional = _bare(hint)
    if _nested(hint):
        dump = f"{'dump_words' if _is_words(kind) else 'dump'}({value})"
        if get_origin(kind) is tuple:
            dump = f"({dump} if {value} else '{_EMPTY}')"
        return f"None if {value} is None else {dump}" if optional else dump
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return f"{value} and {value}._value_" if optional else f"{value}._value_"
    return f"+{value}" if kind is bool and not optional else value


def _column(hint: Any) -> _Part | None:
    """How a column's value becomes that of a field of type `hint`; None where they are the same."""
    if _is_words(_bare(hint)[0]):
        return _load_words
    read = _plain(hint)
    if not _nested(hint):
        return read
    if dataclasses.is_dataclass(_bare(hint)[0]):
        # Frozen, and of most there are few different ones.
        return lru_cache(maxsize=1024)(lambda text: None if text is None else (read or _same)(json.loads(text)))
    if get_origin(_bare(hint)[0]) is tuple:
        return lambda text: () if text == _EMPTY else None if text is None else (read or _same)(json.loads(text))
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
        of = {name: _plain(part) or _same for name, part in get_type_hints(kind).items()}
        newer = {one.name for one in dataclasses.fields(kind) if one.default is not dataclasses.MISSING}
        make: Callable[..., Any] = kind  # type: ignore[assignment]

        def made(values: Any) -> Any:
            """What an older Tieline did not write has its default."""
            if optional and values is None:
                return None
            given = {name: of[name] for name in of if name in values or name not in newer}
            return make(**{name: read(values[name]) for name, read in given.items()})

        return made
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        members: dict[str | None, Any] = {member.value: member for member in kind}
        return (members | {None: None}).__getitem__ if optional else members.__getitem__
    if kind is bool:
        return (lambda value: None if value is None else bool(value)) if optional else bool
    return None


def _nested(hint: Any) -> bool:
    kind, _ = _bare(hint)
    return get_origin(kind) in (tuple, dict) or dataclasses.is_dataclass(kind)


def _is_words(kind: Any) -> bool:
    """Whether it is a tuple of strings, such as the path of a message: there are few different ones."""
    return get_origin(kind) is tuple and _bare(get_args(kind)[0])[0] is str


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
_dump_words = lru_cache(maxsize=1024)(_dump)


@lru_cache(maxsize=1024)
def _load_words(text: str) -> tuple[str, ...]:
    words: list[str] = _expect(list, json.loads(text))
    return tuple(words)
