"""Approvals: what an operator is asked, and decides once (DESIGN §4)."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NewType

from bridge.errors import IllegalMove
from bridge.quick import quick

ApprovalId = NewType("ApprovalId", str)


class Subject(StrEnum):
    """What an approval is about; `content` says it in JSON."""

    MAIL = "mail"
    """The held messages of one sender to one recipient: one question, however many come."""
    GRANT = "grant"
    """A grant that a shell has asked for."""
    SESSION = "session"
    """A session that a shell would make, let take work again, or make a token for."""
    PAUSE = "pause"
    """The end of a pause of all traffic between agents, which a shell has asked for."""
    GATEWAY = "gateway"
    """A gateway that a shell would pair."""
    RULES = "rules"
    """Settings of the operator's file that would let agents do more."""


@quick
@dataclass(frozen=True, slots=True)
class Approval:
    """`about` tells it from all others of its subject that are open. `by` asked for it, and `decided_by` has decided.

    Times are in seconds since 1970. One without `expires_at` waits until it is decided.
    """

    id: ApprovalId
    subject: Subject
    about: str
    content: str
    by: str
    opened_at: float
    expires_at: float | None = None
    closed_at: float | None = None
    decided_by: str | None = None
    outcome: str | None = None
    version: int = 0

    @property
    def open(self) -> bool:
        return self.closed_at is None

    def closed(self, at: float, outcome: str, by: str | None = None) -> "Approval":
        if not self.open:
            raise IllegalMove(f"approval {self.id} is closed already")
        return replace(self, closed_at=at, outcome=outcome, decided_by=by)
