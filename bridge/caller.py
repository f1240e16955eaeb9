"""Who asks: stamped by the channel that a request came through, never by the request."""

from dataclasses import dataclass
from enum import Enum

from bridge.ids import Place, SessionId, TurnId
from bridge.message import Origin


@dataclass(frozen=True, slots=True)
class Caller:
    """`origin` is `user` for a person (who then acts in the name of `session`), `peer` for an agent or a
    program. `bound` callers hold a capability: they are that session and can name no other. `turn` is the
    session's running turn, where its agent calls, and `epoch` that of its lease. `place` is where answers are shown.
    """

    session: SessionId
    origin: Origin
    bound: bool = False
    turn: TurnId | None = None
    epoch: int = 0
    place: Place | None = None
    person: str | None = None
    operator: bool = False

    @property
    def name(self) -> str:
        """Who it is, for records and for people: the person, else the session."""
        return self.person or self.session


class Descent(Enum):
    """Where a process comes from that asks, and above which no agent is known."""

    FREE = "free"
    """Of no agent, as far as anybody can tell."""
    LEFT = "left"
    """An agent of this bridge, or of an earlier one, has left it behind."""
    FOREIGN = "foreign"
    """Of an agent of another bridge, as this bridge is itself: a program, whatever terminal it has."""
