"""Conversations and pairs: what bounds agents that talk to each other."""

from dataclasses import dataclass, replace

from bridge.ids import ConversationId, Place, SessionId
from bridge.limits import Limits
from bridge.quick import quick


@quick
@dataclass(frozen=True, slots=True)
class Conversation:
    """All messages that stem from one first message.

    `place` is where its first message came from; its people are told once (`told`) when a limit is met.
    """

    id: ConversationId
    first: SessionId
    place: Place | None
    budget: int
    messages: int = 0
    told: bool = False
    version: int = 0


@quick
@dataclass(frozen=True, slots=True)
class Pair:
    """The recent traffic between two sessions, in both directions: `a` is the lesser id."""

    a: SessionId
    b: SessionId
    recent: tuple[float, ...] = ()
    rest_until: float = 0
    version: int = 0

    def after_one_more(self, now: float, limits: Limits) -> "Pair":
        """The pair with one more message, or the pair at rest where its budget is spent."""
        if self.resting(now):
            return self
        recent = tuple(at for at in self.recent if at > now - limits.pair_window_s)
        if len(recent) >= limits.pair_messages:
            return replace(self, recent=(), rest_until=now + limits.pair_rest_s)
        return replace(self, recent=(*recent, now))

    def resting(self, now: float) -> bool:
        return now < self.rest_until


def pair_of(one: SessionId, other: SessionId) -> tuple[SessionId, SessionId]:
    return (one, other) if one < other else (other, one)
