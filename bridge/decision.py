"""What a policy is asked, and what it says (DESIGN §4)."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from bridge.errors import Code
from bridge.ids import ConversationId, MessageId, SessionId
from bridge.message import Origin
from bridge.quick import quick
from bridge.session import Kind, Session

if TYPE_CHECKING:
    from bridge.grant import GrantId  # which is made of effects and verbs itself


class Verb(StrEnum):
    DISCOVER = "discover"
    SEND = "send"
    ASK = "ask"
    WAKE = "wake"
    BROADCAST = "broadcast"
    CLAIM = "claim"
    SPAWN = "spawn"
    QUERY_STATUS = "query_status"


class Effect(StrEnum):
    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Party:
    """What a rule may know of a session: only what the operator declared, never what it says of itself. One that has
    joined from a terminal without being declared is of no kind."""

    id: SessionId
    kind: Kind | None
    project: str | None = None
    tags: frozenset[str] = frozenset()


def party(session: Session) -> Party:
    return Party(session.id, session.kind if session.declared else None, session.project, frozenset(session.tags))


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a decision depends on beside the two and the verb: grants end, and some hold in one conversation only.
    `now` is in seconds since 1970; `conversation` is None for what begins a new one."""

    now: float
    conversation: ConversationId | None


@dataclass(frozen=True, slots=True)
class Decision:
    """`rule` names the rule that decided, as people find it in their file, or the grant; `reason` says it in words.

    `grant` is the grant that decided, if one did: where it holds once, admission must use it up.
    """

    effect: Effect
    rule: str
    reason: str
    grant: "GrantId | None" = None


@quick
@dataclass(frozen=True, slots=True)
class Verdict:
    """The record of one decision: who wanted what of whom, what was said, and by which rule.

    `code` is set where it was refused. `message` is the message that was admitted, `cause` the one that
    the sender was working on.
    """

    id: str
    at: float
    sender: SessionId
    recipient: str
    origin: Origin
    verbs: tuple[str, ...]
    effect: Effect
    rule: str
    reason: str
    code: Code | None = None
    message: MessageId | None = None
    cause: MessageId | None = None
    conversation: ConversationId | None = None
    person: str | None = None
