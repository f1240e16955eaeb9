"""What an agent sends of its turn, made into what can be kept and shown: each field is bounded and, where it is not
what it should be, left out. Whoever ran the agent, nothing of it is believed before that."""

import math
import re
from dataclasses import replace

from bridge import briefing
from bridge.ports.runtime import Event, Result, ToolBegun, ToolEnded
from bridge.redaction import SHAPES, cleaned, cut
from bridge.turn import Failure, FailureKind, Usage

FINAL_CHARS = 200_000
"""How much of a final text is kept and shown: a hundred posts of a chat are no answer."""
NAME_CHARS = 200
"""Of a tool, a model, a provider, and of what identifies a call."""
TITLE_CHARS = 300
DETAIL_CHARS = 500
"""Of what is told of a failure."""
DATA_CHARS = 1_000
"""Of a tool's arguments, and of its result."""
STOP_REASON_CHARS = 100
MOST_TOKENS = 10**12
MOST_COST = 10.0**6
_CURRENCY = re.compile(r"[A-Z]{3}")
LONGEST_S = 31 * 86_400.0
"""No provider's limit lasts longer: what is said to is misread."""


def bounded(result: Result, now: float) -> Result:
    """Applied once, where the result of a turn comes in."""
    return Result(
        final=briefing.bounded(_text(result.final).strip(), FINAL_CHARS, briefing.CUT_FINAL),
        stop_reason=_line(result.stop_reason, STOP_REASON_CHARS) or "unknown",
        failure=_failure(result.failure, now) if result.failure is not None else None,
        cancelled=result.cancelled is True,
        usage=_usage(result.usage) if result.usage is not None else None,
        unsure=result.unsure is True,
        unbegun=result.unbegun is True,
    )


def bounded_event(event: Event) -> Event:
    """Applied where events come in. Chunks of text are kept nowhere, and pass as they are."""
    match event:
        case ToolBegun():
            return replace(
                event,
                name=_line(event.name, NAME_CHARS),
                title=_line(event.title, TITLE_CHARS),
                arguments=_data(event.arguments),
            )
        case ToolEnded():
            return replace(
                event,
                ok=event.ok is True,
                name=_line(event.name, NAME_CHARS),
                title=_line(event.title, TITLE_CHARS),
                arguments=_data(event.arguments),
                result=_data(event.result),
            )
        case _:
            return event


def _failure(failure: Failure, now: float) -> Failure:
    kind: object = failure.kind
    return Failure(
        kind=kind if isinstance(kind, FailureKind) else FailureKind.CRASH,
        detail=cut(SHAPES.redacted(cleaned(_text(failure.detail))), DETAIL_CHARS) or "the agent gave no reason",
        retryable=failure.retryable is True,
        resets_at=_number(failure.resets_at, now + LONGEST_S),
        provider=_line(failure.provider, NAME_CHARS) or None,
        model=_line(failure.model, NAME_CHARS) or None,
    )


def _usage(usage: Usage) -> Usage | None:
    told = Usage(
        input_tokens=_count(usage.input_tokens),
        output_tokens=_count(usage.output_tokens),
        cost=_number(usage.cost, MOST_COST),
        currency=_currency(usage.currency),
        model=_line(usage.model, NAME_CHARS) or None,
        provider=_line(usage.provider, NAME_CHARS) or None,
        calls=_count(usage.calls),
    )
    return told if told != Usage() else None


def _count(value: object) -> int | None:
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else None


def _number(value: object, most: float) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        return None
    return float(value) if math.isfinite(value) else None


def _currency(value: object) -> str | None:
    """An ISO 4217 code."""
    return value if isinstance(value, str) and _CURRENCY.fullmatch(value) else None


def _text(value: object) -> str:
    """Surrogates are no text that a database takes."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def _line(value: object, most: int) -> str:
    text = _text(value)[: most * 8]  # what is cut away below need not be looked at
    return cut(" ".join(SHAPES.redacted(cleaned(text)).split()), most)


def _data(value: object) -> str:
    return cut(SHAPES.redacted(cleaned(_text(value)[: DATA_CHARS * 8])), DATA_CHARS)
