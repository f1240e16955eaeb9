"""The audit: what people did to what agents may do. What was decided by it is in the verdicts."""

from dataclasses import dataclass, field
from enum import StrEnum

from bridge.message import Origin
from bridge.quick import quick


class ActKind(StrEnum):
    GRANTED = "granted"
    REVOKED = "revoked"
    APPROVED = "approved"
    DENIED = "denied"
    PROPOSED = "proposed"
    PAUSED = "paused"
    RESUMED = "resumed"
    RELOADED = "reloaded"
    EXTENDED = "extended"
    """A conversation at its budget may go on."""
    REFUSED = "refused"
    """Somebody who may not do one of these has tried."""


@quick
@dataclass(frozen=True, slots=True)
class Act:
    """Append-only. `by` is a person, as its chat names them, or the session that tried; `via` is the place or the
    shell. `subject` is the id of what it was done to."""

    id: str
    at: float
    act: ActKind
    by: str
    origin: Origin
    via: str
    subject: str
    detail: dict[str, object] = field(default_factory=dict)
