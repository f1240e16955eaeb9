"""What an agent asks people in the middle of a turn, and what they say (DESIGN §8)."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from bridge.errors import Code, Refused

Value = str | int | float | bool

TYPED_CHARS = 10_000
"""How much a person may type as one value."""

_INTEGER = re.compile(r"[+-]?\d{1,18}")


@dataclass(frozen=True, slots=True)
class Option:
    """One answer that the agent offers to its own permission question. `lasting` ones hold for later too."""

    id: str
    label: str
    allows: bool
    lasting: bool


@dataclass(frozen=True, slots=True)
class Choice:
    label: str
    value: Value


class Typed(StrEnum):
    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"


@dataclass(frozen=True, slots=True)
class Field:
    """One value of a form: one of its `choices`, or what a person types, where it is `typed`. `least` and `most` bound
    a number, or how many characters a text has."""

    name: str
    label: str
    choices: Sequence[Choice] = ()
    typed: Typed | None = None
    required: bool = True
    least: float | None = None
    most: float | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """The agent asks for permission to use a tool, and offers `options`; or it has a `form` of fields to be filled in,
    which may be none, with a link to be followed first where it has a `url`. One that is `unfit` cannot be put to
    people in a chat, for that reason.

    `number` counts those of one turn. `asked_at` is when it was first put to people, in seconds since 1970; 0 is now.
    The same question, asked again by another bridge, has the same two.
    """

    title: str
    options: Sequence[Option] = ()
    form: Sequence[Field] | None = None
    url: str | None = None
    unfit: str | None = None
    number: int = 0
    asked_at: float = 0.0


class Asked(StrEnum):
    """What became of a question."""

    ANSWERED = "answered"
    """A person has decided, if only to decline."""
    CANCELLED = "cancelled"
    """The turn was stopped, or has ended."""
    TIMED_OUT = "timed_out"
    UNDELIVERED = "undelivered"
    """Nobody could be asked, or might have been."""


@dataclass(frozen=True, slots=True)
class Answer:
    """`choice` is the id of a permission's option, `values` are those of a form by the names of its fields. What is
    answered with neither was declined."""

    outcome: Asked
    choice: str | None = None
    values: Mapping[str, Value] | None = None
    reason: str | None = None


def typed_value(field: Field, text: str) -> Value:
    """What a person typed, as the agent gets it. Raises `Refused`, with what is wrong with it."""
    text = text.strip()
    if field.typed is Typed.TEXT:
        _check(field, len(text), "characters")
        if len(text) > TYPED_CHARS:
            raise Refused(Code.TOO_LARGE, f"that has {len(text)} characters; the limit is {TYPED_CHARS}")
        return text
    number = _number(text, whole=field.typed is Typed.INTEGER)
    _check(field, number, "")
    return number


def _number(text: str, *, whole: bool) -> int | float:
    if _INTEGER.fullmatch(text):
        return int(text)
    try:
        number = math.nan if whole or len(text) > 40 else float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise Refused(Code.INVALID_REQUEST, f"a {'whole ' if whole else ''}number is asked for")
    return number


def _check(field: Field, size: float, unit: str) -> None:
    if field.least is not None and size < field.least:
        raise Refused(Code.INVALID_REQUEST, f"it takes at least {field.least:g} {unit}".rstrip())
    if field.most is not None and size > field.most:
        raise Refused(Code.INVALID_REQUEST, f"it takes at most {field.most:g} {unit}".rstrip())
