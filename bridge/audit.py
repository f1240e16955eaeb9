"""The audit: what people did to what agents may do. What was decided by it is in the verdicts."""

from dataclasses import dataclass, field
from enum import StrEnum

from bridge.message import Origin
from bridge.quick import quick


class ActKind(StrEnum):
    GRANTED = "granted"
    REVOKED = "revoked"
    MADE = "made"
    """A capability token, for a client of a person's own."""
    APPROVED = "approved"
    DENIED = "denied"
    PROPOSED = "proposed"
    PAUSED = "paused"
    RESUMED = "resumed"
    RELOADED = "reloaded"
    EXTENDED = "extended"
    """A conversation at its budget may go on."""
    PAIRED = "paired"
    """A gateway may link itself with the bridge from now on."""
    UNPAIRED = "unpaired"
    REFUSED = "refused"
    """Somebody has tried what it may not: one of these, or to speak, read or answer as another."""


@quick
@dataclass(frozen=True, slots=True)
class Act:
    """Append-only. `by` is a person, as its chat names them, the session that tried, or `nobody`, which was
    turned away before it was known who asks; `via` is the place or the session. `subject` is the id of what it was done
    to, or what was tried."""

    id: str
    at: float
    act: ActKind
    by: str
    origin: Origin
    via: str
    subject: str
    detail: dict[str, object] = field(default_factory=dict)
