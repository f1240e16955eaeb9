"""Grants: what people allow or forbid at run time, beside the rules of the operator's file (DESIGN §4)."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NewType

from bridge.decision import Effect, Verb
from bridge.errors import IllegalMove
from bridge.ids import ConversationId
from bridge.quick import quick

GrantId = NewType("GrantId", str)

HANDING_WORK = (Verb.DISCOVER, Verb.SEND, Verb.ASK, Verb.WAKE)
"""What a grant is for unless it says otherwise."""


class Scope(StrEnum):
    """How far a grant reaches."""

    ONCE = "once"
    """The next message of the pair that needs it. Its admission uses it up."""
    CONVERSATION = "conversation"
    """The pair's messages in one conversation."""
    PAIR = "pair"
    """Two sessions, by their ids, in this direction."""
    ALWAYS = "always"
    """Whatever its selectors match, as a rule does."""


@quick
@dataclass(frozen=True, slots=True)
class Grant:
    """`sender` and `recipient` are selectors, ids unless the scope is `ALWAYS`. `effect` is allow or deny. `by` is the
    person who gave it, `via` where. Times are in seconds since 1970; without `expires_at` it holds until it is revoked.
    """

    id: GrantId
    sender: str
    recipient: str
    verbs: tuple[Verb, ...]
    effect: Effect
    scope: Scope
    by: str
    via: str
    given_at: float
    expires_at: float | None = None
    conversation: ConversationId | None = None
    used_at: float | None = None
    revoked_at: float | None = None
    revoked_by: str | None = None
    version: int = 0

    def live(self, now: float) -> bool:
        """Whether it holds at that time: neither used up nor revoked, and its end, which is not included, not there."""
        return self.used_at is None and self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def used(self, at: float) -> "Grant":
        if self.scope is not Scope.ONCE or self.used_at is not None:
            raise IllegalMove(f"grant {self.id} is not one to be used up")
        return replace(self, used_at=at)

    def revoked(self, at: float, by: str) -> "Grant":
        if self.revoked_at is not None:
            raise IllegalMove(f"grant {self.id} was revoked already")
        return replace(self, revoked_at=at, revoked_by=by)

    @property
    def rule(self) -> str:
        """The name under which what it decided is recorded."""
        return f"grant:{self.id}"
