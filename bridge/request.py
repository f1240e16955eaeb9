"""Requests: the open question of a `request` message. Its answer is a fact apart from its delivery."""

from dataclasses import dataclass, replace
from enum import StrEnum

from bridge.errors import IllegalMove
from bridge.ids import MessageId, Place, SessionId
from bridge.quick import quick


class Answer(StrEnum):
    OPEN = "open"
    ANSWERED = "answered"
    NO_REPLY = "no_reply"
    INPUT_REQUIRED = "input_required"
    FAILED = "failed"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


NO_REPLY_TEXT = "NO_REPLY"
"""A reply whose whole text is this closes the request as `no_reply` and goes nowhere (DESIGN §3)."""


@quick
@dataclass(frozen=True, slots=True)
class Request:
    """The question that message `id` asks.

    While it is open it is also the single-use grant for its own answer, so that replies need no rule.
    `parent` is the input on whose behalf the asker's turn asked. `place` is where the answer is shown.
    `closing` is the message that told the asker how it closed, and `late` the one late answer.
    """

    id: MessageId
    asker: SessionId
    asked: SessionId
    opened_at: float
    expires_at: float
    state: Answer = Answer.OPEN
    parent: MessageId | None = None
    place: Place | None = None
    by_command: bool = False
    deferred: bool = False
    closing: MessageId | None = None
    late: MessageId | None = None
    closed_at: float | None = None
    reason: str | None = None
    version: int = 0

    @property
    def open(self) -> bool:
        return self.state is Answer.OPEN

    @property
    def takes_late_answer(self) -> bool:
        return not self.open and self.state is not Answer.ANSWERED and self.late is None

    @property
    def rule(self) -> str:
        """The name under which its answer's decision is recorded."""
        return f"reply:{self.id}"

    def closed(self, state: Answer, *, at: float, reason: str | None, closing: MessageId | None) -> "Request":
        if not self.open or state is Answer.OPEN:
            raise IllegalMove(f"request {self.id}: {self.state} does not go to {state}")
        return replace(self, state=state, closed_at=at, reason=reason, closing=closing)
