"""What goes between a bridge and a worker, as JSON. Each value is validated field by field by whoever gets it."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from bridge.ports.runtime import Compressed, Event, Text, Thought, ToolBegun, ToolEnded

T = TypeVar("T")

_EVENTS: Mapping[str, type[Event]] = {
    "text": Text,
    "thought": Thought,
    "tool": ToolBegun,
    "tool_ended": ToolEnded,
    "compressed": Compressed,
}
_KINDS = {event: kind for kind, event in _EVENTS.items()}


class Malformed(Exception):
    """What came is not what it claims to be."""


@cache
def _adapter(kind: Hashable) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def as_json(value: Any) -> dict[str, Any]:
    """A dataclass of plain data."""
    plain: dict[str, Any] = _adapter(value.__class__).dump_python(value, mode="json")
    return plain


def read(kind: Callable[..., T], body: object) -> T:
    """Raises `Malformed`, without what came: that may be secret."""
    try:
        value: T = _fixed(_adapter(kind).validate_python(body))
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"]) or "value"
        raise Malformed(f"a {getattr(kind, '__name__', kind)} with a wrong {where}") from None
    return value


def _fixed(value: Any) -> Any:
    """With tuples for all that JSON calls a list."""
    if isinstance(value, list | tuple):
        return tuple(_fixed(one) for one in value)
    if is_dataclass(value) and not isinstance(value, type):
        changed = {one.name: _fixed(getattr(value, one.name)) for one in fields(value)}
        return replace(value, **changed)
    return value


def kind_of(event: Event) -> str:
    return _KINDS[type(event)]


def event_of(kind: str, body: object) -> Event | None:
    """None where that kind is no event. Raises `Malformed`."""
    found: Callable[..., Event] | None = _EVENTS.get(kind)
    return read(found, body) if found is not None else None
