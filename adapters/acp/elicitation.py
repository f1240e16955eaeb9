"""An agent's form or link (`elicitation/create`) as a question that people can answer in a chat, and back."""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bridge.question import Choice, Field, Question, Typed
from bridge.redaction import cleaned, cut

if TYPE_CHECKING:
    from acp.schema import ElicitationMode, ElicitationSchema

MOST_FIELDS = 10
MOST_CHOICES = 20
_NAME_CHARS = 200
_LABEL_CHARS = 200
_VALUE_CHARS = 1_000
_URL_CHARS = 1_000
_SCHEMES = ("https", "http")
_TYPED = {"string": Typed.TEXT, "integer": Typed.INTEGER, "number": Typed.NUMBER}


class Unfit(Exception):
    """It cannot be answered in a chat."""


def question_of(message: str, mode: "ElicitationMode") -> Question:
    """What cannot be answered in a chat is a question all the same: people are told of it, and the agent why."""
    title = line(message, 1_000)
    try:
        if hasattr(mode, "url"):
            return Question(title, form=(), url=_link(mode.url))
        return Question(title, form=tuple(_fields(mode.requested_schema)))
    except Unfit as unfit:
        return Question(title, form=(), unfit=str(unfit))


def line(text: str | None, most: int) -> str:
    """Of what an agent says, as much as one line of a post takes."""
    return cut(" ".join(cleaned((text or "")[: 4 * most]).split()), most)


def _link(url: Any) -> str:
    text = cleaned(str(url))
    if url.scheme not in _SCHEMES or url.username or url.password or len(text) > _URL_CHARS or " " in text:
        raise Unfit("its link is none that people should follow")
    return text


def _fields(schema: "ElicitationSchema") -> Iterator[Field]:
    """A field that is not required, and cannot be answered in a chat, is left out."""
    properties = schema.properties or {}
    if len(properties) > MOST_FIELDS:
        raise Unfit(f"it asks for {len(properties)} values, and a chat takes {MOST_FIELDS}")
    required = set(schema.required or ())
    if not required <= properties.keys():
        raise Unfit("it asks for a value that it does not describe")
    for name, asked in properties.items():
        try:
            yield _field(name, asked, required=name in required)
        except Unfit:
            if name in required:
                raise


def _field(name: str, asked: Any, *, required: bool) -> Field:
    label = line(asked.title or name, _LABEL_CHARS) if hasattr(asked, "title") else line(name, _LABEL_CHARS)
    if len(name) > _NAME_CHARS:
        raise Unfit("the name of a value is too long")
    if description := line(getattr(asked, "description", None), _LABEL_CHARS):
        label = f"{label}: {description}"
    if asked.type == "boolean":
        return Field(name, label, (Choice("Yes", True), Choice("No", False)), required=required)
    if asked.type not in _TYPED:
        raise Unfit(f"{label} takes several values, or what a chat cannot give")
    choices = _choices(label, asked)
    if choices:
        return Field(name, label, choices, required=required)
    typed = _TYPED[asked.type]
    if typed is Typed.TEXT:
        hint = line(asked.format or asked.pattern, 60)
        least, most = asked.min_length, asked.max_length
    else:
        hint = "a number" if typed is Typed.NUMBER else "a whole number"
        least, most = asked.minimum, asked.maximum
    label = f"{label} ({hint})" if hint else label
    return Field(
        name, label, _default(asked.default), typed, required=required, least=_finite(least), most=_finite(most)
    )


def _choices(label: str, asked: Any) -> Sequence[Choice]:
    titled = [(one.title, one.const) for one in getattr(asked, "one_of", None) or ()]
    offered = titled or [(value, value) for value in getattr(asked, "enum", None) or ()]
    if len(offered) > MOST_CHOICES:
        raise Unfit(f"{label} offers {len(offered)} choices, and a chat takes {MOST_CHOICES}")
    if any(len(value) > _VALUE_CHARS for _, value in offered):
        raise Unfit(f"{label} offers a choice that is too long")
    return tuple(Choice(line(title, _LABEL_CHARS) or "(empty)", value) for title, value in offered)


def _default(value: object) -> Sequence[Choice]:
    """What is taken without being typed."""
    if not isinstance(value, str | int | float) or len(str(value)) > _VALUE_CHARS or not _sound(value):
        return ()
    return (Choice(f"Use {line(str(value), _LABEL_CHARS)}", value),) if str(value) else ()


def _sound(value: str | int | float) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and abs(value) < 1e300 else None
