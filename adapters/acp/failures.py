"""What kind of failure an agent's error is, told from its text.

Some agents report a provider's error as a turn that ended well, with a text like `HTTP 401: …` or
`API call failed after 3 retries: …` and no usage. The patterns are data; the first that is found decides.
"""

import re
from dataclasses import replace
from datetime import UTC, datetime

from adapters.acp.usage import origin
from bridge.redaction import Redaction, cleaned
from bridge.results import DETAIL_CHARS, LONGEST_S
from bridge.turn import Failure, FailureKind

AUTH_REQUIRED = -32000
_INTERNAL_ERROR = -32603
_SHORT = "errorKind"
_DISGUISED_CHARS = 2_000
_DETAIL_CHARS = 4 * DETAIL_CHARS
"""More than is kept: what is cut off in the middle of a secret would not be known for one."""

_DISGUISES = re.compile(
    r"\s*(?:error:?\s*)?(?:HTTP(?: error)? [45]\d\d\b|API (?:call|request) failed\b|API error\b[: ]"
    r"|you(?:'ve| have) (?:hit|reached) your [\w ]{0,20}limit\b)",
    re.IGNORECASE,
)
_STATUS = re.compile(
    r"\b(?:HTTP(?:/[\d.]+)?|status|status code|error code|API error)[ :=]+\(?([45]\d\d)\b", re.IGNORECASE
)

_LIMITS = (
    r"rate[_ -]?limit|too many requests|quota exceeded|(?:usage|session|weekly|quota) limit"
    r"|(?:hit|reached) your [\w ]{0,20}limit"
)
_KINDS: tuple[tuple[FailureKind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        (
            FailureKind.BILLING,
            r"insufficient[_ ](?:quota|credit|funds|balance)|credit balance|billing|payment required",
        ),
        (FailureKind.RATE_LIMIT, _LIMITS),
        (FailureKind.CAPACITY, r"overloaded|capacity|unavailable|bad gateway|connection (?:error|refused|reset)"),
        (
            FailureKind.AUTH,
            r"unauthori[sz]ed|authenticat|(?:invalid|missing|incorrect|expired)[\w ]{0,20} (?:api[_ -]?key|token)"
            r"|api[_ -]?key not|not logged in|log ?in required|permission[_ ]denied[_ ]error",
        ),
        (FailureKind.TIMEOUT, r"timed? ?out|deadline exceeded"),
        (
            FailureKind.CONFIG,
            r"model[\w '\"/.:-]{0,80} (?:not found|does not exist)|unknown (?:model|provider)"
            r"|\bno [\w ]{0,20}provider configured",
        ),
    )
)
_STATUSES = {
    401: FailureKind.AUTH,
    402: FailureKind.BILLING,
    403: FailureKind.AUTH,
    404: FailureKind.CONFIG,
    408: FailureKind.TIMEOUT,
    429: FailureKind.RATE_LIMIT,
    504: FailureKind.TIMEOUT,
}
_RETRYABLE = frozenset({FailureKind.RATE_LIMIT, FailureKind.CAPACITY, FailureKind.TIMEOUT, FailureKind.CRASH})

_UNIT = r"(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)"
_AFTER = re.compile(
    r"(?:retry[- _]?after|(?:try|retry) again in|retry in|resets? in|available in)[\"']?[ :=]+(?:about )?"
    rf"((?:\d+(?:\.\d+)? ?{_UNIT}?(?![a-z])[ ,]*(?:and )?)+)",
    re.IGNORECASE,
)
_SPAN = re.compile(r"(\d+(?:\.\d+)?) ?(ms|[a-z])?", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_AT = re.compile(
    r"reset\w*[ _]?(?:at)?[\"']?[ :=]+[\"']?"
    r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?|\d{10}(?:\d{3})?\b)",
    re.IGNORECASE,
)


def failure(kind: FailureKind, detail: str, resets_at: float | None = None) -> Failure:
    return Failure(kind, cleaned(detail)[:_DETAIL_CHARS], retryable=kind in _RETRYABLE, resets_at=resets_at)


def without_secrets(failure: Failure, redaction: Redaction) -> Failure:
    return replace(failure, detail=redaction.redacted(failure.detail))


def classified(text: str, now: float) -> Failure | None:
    """The failure that `text` tells of, or None where it tells of none that is known."""
    status = _STATUS.search(text)
    code = int(status[1]) if status else 0
    kind = next((kind for kind, pattern in _KINDS if pattern.search(text)), None)
    if kind in (None, FailureKind.AUTH, FailureKind.CONFIG) and code:
        kind = _STATUSES.get(code, FailureKind.CAPACITY if code >= 500 else kind)
    resets_at = _resets_at(text, now)
    if resets_at is not None and resets_at > now + LONGEST_S:
        resets_at = None
    return failure(kind, text.strip(), resets_at) if kind else None


def disguised(final: str, now: float) -> Failure | None:
    """The failure where the whole of a final text without usage is a provider's error."""
    if len(final) > _DISGUISED_CHARS or not _DISGUISES.match(final) or "\n\n" in final.strip():
        return None
    return classified(final, now) or failure(FailureKind.CRASH, final.strip())


def of_error(code: int, message: str, data: object, now: float) -> Failure:
    """The failure of a JSON-RPC error."""
    text = f"{message}: {_told(data)}" if _told(data) else message
    if code == _INTERNAL_ERROR:
        text = re.sub(r"\AInternal error: ", "", text)
    told = classified(f"{text} ({short})" if (short := _short(data)) else text, now)
    told = failure(told.kind, text, told.resets_at) if told is not None else None
    if kind := FailureKind.AUTH if code == AUTH_REQUIRED else _declared(data):
        told = failure(kind, text, told.resets_at if told and told.kind is kind else None)
    provider, model = origin(data)
    return replace(told or failure(FailureKind.CRASH, text), provider=provider, model=model)


def _declared(data: object) -> FailureKind | None:
    """What our own agent for commands says by the exit code of one, as the operator has set it."""
    said = data.get("tieline") if isinstance(data, dict) else None
    kind = said.get("kind") if isinstance(said, dict) else None
    return FailureKind(kind) if kind in {each.value for each in FailureKind} else None


def _told(data: object) -> str:
    if isinstance(data, dict) and ("tieline" in data or set(data) == {_SHORT}):
        return ""
    if isinstance(data, dict):
        data = next((data[key] for key in ("details", "detail", "message", "error") if key in data), data)
    return str(data) if data else ""


def _short(data: object) -> str:
    """What Claude Code says of the kind of an error beside the text for people."""
    return str(data.get(_SHORT, "")) if isinstance(data, dict) else ""


def _resets_at(text: str, now: float) -> float | None:
    if at := _AT.search(text):
        return _moment(at[1])
    if after := _AFTER.search(text):
        spans = _SPAN.findall(after[1])
        return now + sum(float(number) * _SECONDS[(unit or "s").lower()] for number, unit in spans)
    return None


def _moment(text: str) -> float | None:
    if text.isdigit():
        return int(text) / (1000 if len(text) == 13 else 1)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
