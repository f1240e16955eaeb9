"""Messages, the states of their delivery, and the one table that moves them.

              ┌────────── due later, lease lost ──────────┐
held ──► queued ──► leased ──► settled(outcome)           │
  │        ▲  │        ├──────────────────────────────────┘
  │        │  │        └──► parked ──► queued | settled
  └────────┴──┴──► settled(refused, expired, cancelled, failed)
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from bridge.errors import IllegalMove
from bridge.ids import ConversationId, MessageId, Place, SessionId, TurnId
from bridge.quick import quick


class Intent(StrEnum):
    """What the sender expects. `INPUT` is what a person says to the session's own agent: no mail."""

    REQUEST = "request"
    INFORM = "inform"
    REPLY = "reply"
    INPUT = "input"


class Origin(StrEnum):
    """Who speaks. Stamped by the channel; no argument, text or model can choose it."""

    USER = "user"
    PEER = "peer"
    SYSTEM = "system"


class State(StrEnum):
    """Where a delivery stands."""

    HELD = "held"
    """A person must approve it. A person's decision moves it, or its expiry."""
    QUEUED = "queued"
    """Admitted; waits for its turn or for `peer_receive`. The recipient's lane moves it."""
    LEASED = "leased"
    """One turn or receiver has the right to deliver it. Its end, or the loss of the lease, moves it."""
    PARKED = "parked"
    """Its turn was lost or stopped after it may have acted. Only a person's word moves it, or its expiry."""
    SETTLED = "settled"
    """Over, with an outcome. Nothing moves it."""


class Outcome(StrEnum):
    ACKED = "acked"
    FAILED = "failed"
    EXPIRED = "expired"
    REFUSED = "refused"
    CANCELLED = "cancelled"
    DEAD = "dead"


TRANSITIONS: dict[State, frozenset[State]] = {
    State.HELD: frozenset({State.QUEUED, State.SETTLED}),
    State.QUEUED: frozenset({State.LEASED, State.SETTLED}),
    State.LEASED: frozenset({State.QUEUED, State.PARKED, State.SETTLED}),
    State.PARKED: frozenset({State.QUEUED, State.SETTLED}),
    State.SETTLED: frozenset(),
}

_WITHOUT_DELIVERY = frozenset({Outcome.FAILED, Outcome.EXPIRED, Outcome.REFUSED, Outcome.CANCELLED, Outcome.DEAD})
OUTCOMES: dict[State, frozenset[Outcome]] = {
    State.HELD: _WITHOUT_DELIVERY,
    State.QUEUED: _WITHOUT_DELIVERY,
    State.LEASED: frozenset(Outcome) - {Outcome.EXPIRED, Outcome.REFUSED},
    State.PARKED: _WITHOUT_DELIVERY,
}
"""The outcomes with which each state may settle. A life never ends while leased."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """What came along with a person's words: a stored file, or a `text` that somebody else wrote, such as a quote or
    what was forwarded. It reaches the agent as data of its own, never as its user's words. `name` is as it was given,
    and `path` of the bridge's own making; `size` is in bytes."""

    name: str
    mime: str
    path: str | None = None
    text: str | None = None
    size: int = 0

    @property
    def written(self) -> str | None:
        """What somebody else wrote, with who it was."""
        return f"{self.name}:\n{self.text}" if self.text is not None else None


@dataclass(frozen=True, slots=True)
class Piece:
    """One of the chat's messages that an input is made of, by the key under which it was heard: how many of the
    characters are its, and of the attachments, each after those of the pieces before."""

    key: str
    chars: int
    attachments: int = 0


@quick
@dataclass(frozen=True, slots=True)
class Message:
    """What one session sends another.

    Times are seconds since 1970. `path` holds the senders along the deepest cause, this one last, and
    `depth` their number of hops. `place` is where its answer is shown. `turn` is the turn or receiver that
    leased it, `epoch` counts the leases, and `leased_until` is when that of a receiver lapses: a turn's inputs are
    leased for as long as the turn is. `queued_at` is when it first became queued: the order of the lane.
    `by_command` marks a person's own `/ask` or `/handoff`, whose answer goes to the place and wakes nobody.
    `cause` is the message for whose sake it was sent. `attempts` counts the turns that failed over it, `unread`
    those that ended without its being read. `pieces` are what a person's input is made of.
    """

    id: MessageId
    sender: SessionId
    recipient: SessionId
    intent: Intent
    text: str
    origin: Origin
    wake: bool
    conversation: ConversationId
    accepted_at: float
    queued_at: float
    due_at: float
    expires_at: float
    state: State = State.QUEUED
    outcome: Outcome | None = None
    reason: str | None = None
    in_reply_to: MessageId | None = None
    cause: MessageId | None = None
    depth: int = 1
    path: tuple[SessionId, ...] = ()
    place: Place | None = None
    person: str | None = None
    by_command: bool = False
    late: bool = False
    turn: TurnId | None = None
    epoch: int = 0
    leased_until: float | None = None
    attempts: int = 0
    unread: int = 0
    woken_at: float | None = None
    read_at: float | None = None
    settled_at: float | None = None
    attachments: tuple[Attachment, ...] = ()
    pieces: tuple[Piece, ...] = ()
    version: int = 0

    @property
    def from_person(self) -> bool:
        return self.origin is Origin.USER

    @property
    def redelivered(self) -> bool:
        """Whether an earlier lease of it may have shown it already: every one but those known to be unread."""
        return self.epoch - (self.state is State.LEASED) - self.unread > 0

    @property
    def withheld(self) -> bool:
        """Whether it has not come to its recipient: a person must approve it first, or has denied it. Until then it is
        its sender's alone."""
        return self.state is State.HELD or self.outcome is Outcome.REFUSED

    @property
    def takes_room(self) -> bool:
        """Requests and informs of sessions count against the inbox. Answers and notices always have room, and
        what is held for approval takes none."""
        return (
            self.state is not State.HELD
            and self.origin is not Origin.SYSTEM
            and self.intent in (Intent.REQUEST, Intent.INFORM)
        )

    def waits(self, now: float) -> bool:
        """Whether it was put off until later than `now`. What never was is due, even where the clock was set back."""
        return self.due_at > max(now, self.queued_at)

    def to_queued(self, *, due_at: float | None = None, reason: str | None = None) -> "Message":
        """Whoever leases it next has not read it, whatever an earlier reader saw of it. Without `due_at` it is due at
        once, and stays so where the clock is set back."""
        due_at = self.queued_at if due_at is None else due_at
        return replace(_moved(self, State.QUEUED), due_at=due_at, turn=None, read_at=None, reason=reason)

    def approved(self, now: float, *, expires_at: float) -> "Message":
        """A person lets a held message go: it becomes queued only now, and its life begins."""
        return replace(_moved(self, State.QUEUED), queued_at=now, due_at=now, expires_at=expires_at)

    def to_leased(self, turn: TurnId, *, until: float | None = None) -> "Message":
        """`until` is the end of a lease that no turn's lease bounds."""
        return replace(_moved(self, State.LEASED), turn=turn, epoch=self.epoch + 1, leased_until=until)

    def lapsed(self, now: float) -> bool:
        return self.leased_until is not None and now >= self.leased_until

    def to_parked(self, *, expires_at: float, reason: str) -> "Message":
        return replace(_moved(self, State.PARKED), expires_at=expires_at, reason=reason)

    def to_settled(self, outcome: Outcome, *, at: float, reason: str | None = None) -> "Message":
        if self.state is not State.SETTLED and outcome not in OUTCOMES[self.state]:
            raise IllegalMove(f"{self.id}: {self.state} cannot settle as {outcome}")
        return replace(_moved(self, State.SETTLED), outcome=outcome, settled_at=at, reason=reason)


DELIVERY = frozenset(
    {
        "wake",
        "queued_at",
        "due_at",
        "expires_at",
        "state",
        "outcome",
        "reason",
        "turn",
        "epoch",
        "leased_until",
        "attempts",
        "unread",
        "woken_at",
        "read_at",
        "settled_at",
    }
)
"""What of a stored message may change. What was said, by whom and to whom, never does."""


def in_line(message: Message) -> tuple[bool, float, MessageId]:
    """Orders the lane of a recipient: people's messages first, then as they first became queued."""
    return not message.from_person, message.queued_at, message.id


def _moved(message: Message, to: State) -> Message:
    if to not in TRANSITIONS[message.state]:
        raise IllegalMove(f"{message.id}: {message.state} does not go to {to}")
    return replace(message, state=to, leased_until=None)
