"""Frozen values that are quickly made.

A frozen dataclass sets each field by a call of `object.__setattr__`. A message has thirty, and is made anew whenever
it is read or moves on: that was a good part of what it cost.
"""

from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from typing import Any, TypeVar

_T = TypeVar("_T")


def quick(kind: type[_T]) -> type[_T]:
    """For a dataclass that is frozen and has slots. An instance is filled while it is of a class with the same slots
    that can be written, and becomes what it is to be with its last field. It can have no subclass of its own."""
    every = fields(kind)  # type: ignore[arg-type]
    draft = type(kind.__name__, (), {"__slots__": tuple(one.name for one in every)})
    # Fields have no names like these.
    scope: dict[str, Any] = {"_kind": kind, "_draft": draft, "_thaw": object.__setattr__, "_MISSING": MISSING}
    takes, sets = [], []
    for one in every:
        take, value = _field(one, scope)
        takes.append(take)
        sets.append(f"self.{one.name} = {value}")
    body = "\n    ".join(['_thaw(self, "__class__", _draft)', *sets, "self.__class__ = _kind"])
    exec(f"def __init__(self, {', '.join(takes)}):\n    {body}\n", scope)
    init: Callable[..., None] = scope["__init__"]
    init.__qualname__ = f"{kind.__qualname__}.__init__"
    kind.__init__ = init  # type: ignore[method-assign]
    return kind


def _field(one: Field[Any], scope: dict[str, Any]) -> tuple[str, str]:
    """The parameter that gives a field, and the expression of its value."""
    name = one.name
    if one.default is not MISSING:
        scope[f"_default_{name}"] = one.default
        return f"{name}=_default_{name}", name
    if one.default_factory is not MISSING:
        scope[f"_make_{name}"] = one.default_factory
        return f"{name}=_MISSING", f"_make_{name}() if {name} is _MISSING else {name}"
    return name, name
