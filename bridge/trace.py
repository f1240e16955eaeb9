"""The trace of a message: what happened to it, step by step."""

from dataclasses import dataclass, field
from enum import StrEnum

from bridge.ids import ConversationId, MessageId, SessionId
from bridge.quick import quick


class StepKind(StrEnum):
    ACCEPTED = "accepted"
    DECISION = "decision"
    HELD = "held"
    LEASED = "leased"
    WOKEN = "woken"
    TURN = "turn"
    TOOL = "tool"
    READ = "read"
    REPLY = "reply"
    SETTLED = "settled"
    SENT = "sent"


@quick
@dataclass(frozen=True, slots=True)
class Step:
    """`message` is None for a refused request, which is traced by its conversation and by its cause."""

    id: str
    at: float
    step: StepKind
    session: SessionId
    message: MessageId | None
    conversation: ConversationId | None
    cause: MessageId | None = None
    detail: dict[str, object] = field(default_factory=dict)
