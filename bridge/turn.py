"""Turns: one run of a session's agent over its inputs."""

from dataclasses import dataclass, replace
from enum import StrEnum

from bridge.errors import IllegalMove
from bridge.ids import ConversationId, MessageId, NodeId, Place, SessionId, TurnId
from bridge.quick import quick


class TurnState(StrEnum):
    STARTING = "starting"
    """Its inputs are leased and its agent is being started; nothing has been prompted."""
    RUNNING = "running"
    """The agent is at work."""
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"
    """The bridge died while it ran."""


LIVE = frozenset({TurnState.STARTING, TurnState.RUNNING})

TURN_TRANSITIONS: dict[TurnState, frozenset[TurnState]] = {
    TurnState.STARTING: frozenset({TurnState.RUNNING, TurnState.FAILED, TurnState.CANCELLED, TurnState.LOST}),
    TurnState.RUNNING: frozenset({TurnState.COMPLETED, TurnState.FAILED, TurnState.CANCELLED, TurnState.LOST}),
    TurnState.COMPLETED: frozenset(),
    TurnState.FAILED: frozenset(),
    TurnState.CANCELLED: frozenset(),
    TurnState.LOST: frozenset(),
}


class FailureKind(StrEnum):
    RATE_LIMIT = "rate_limit"
    BILLING = "billing"
    AUTH = "auth"
    CAPACITY = "capacity"
    REFUSAL = "refusal"
    TIMEOUT = "timeout"
    CRASH = "crash"
    CONFIG = "config"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a turn did not succeed. `resets_at` is when a temporary cause is over, if the agent said so, and `provider`
    and `model` whose failure it was."""

    kind: FailureKind
    detail: str
    retryable: bool = False
    resets_at: float | None = None
    provider: str | None = None
    model: str | None = None

    @property
    def pauses(self) -> bool:
        """People must act before the session can run again."""
        return self.kind in (FailureKind.AUTH, FailureKind.CONFIG, FailureKind.BILLING)

    @property
    def temporary(self) -> bool:
        """It will be over by itself. What an agent says of a crash or a refusal does not make it so: the same text
        would be tried for ever."""
        return self.retryable and self.kind in (FailureKind.RATE_LIMIT, FailureKind.CAPACITY, FailureKind.TIMEOUT)


@dataclass(frozen=True, slots=True)
class Usage:
    """What a turn has cost, as far as the agent tells. `calls` are those of its model. `cost` is in `currency`."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    currency: str | None = None
    model: str | None = None
    provider: str | None = None
    calls: int | None = None


@dataclass(frozen=True, slots=True)
class Process:
    """An operating system process, told apart from a later one with the same pid by its birth."""

    pid: int
    birth: str


@quick
@dataclass(frozen=True, slots=True)
class Turn:
    """`acts_for` is the input whose answer its final text may be: its own input, or, in a turn that an
    answer has woken, the input on whose behalf that question had been asked; none where it has several that peers sent.
    `place` is where it is shown.
    `tools_begun` is set before the first tool other than the bridge's reading tools counts as begun.
    `peer_read` is set once text of another session may have reached the agent in it. `prompt` is the digest of what
    its agent was sent, and `occurrence` how often the agent's context then held that prompt, this one included. `heard`
    is the number of the last event that its agent told and that is stored.

    `node` has the right to run it and to write of it until `leased_until` (seconds since 1970, not included), and
    for as long as nobody has taken it over. Each taking over raises `epoch`, and what names an older one is refused.
    """

    id: TurnId
    session: SessionId
    inputs: tuple[MessageId, ...]
    acts_for: MessageId | None
    conversation: ConversationId
    started_at: float
    node: NodeId
    leased_until: float
    epoch: int = 1
    state: TurnState = TurnState.STARTING
    place: Place | None = None
    process: Process | None = None
    prompt_sent: bool = False
    tools_begun: bool = False
    peer_read: bool = False
    prompt: str | None = None
    occurrence: int = 0
    heard: int = 0
    ended_at: float | None = None
    stop_reason: str | None = None
    failure: Failure | None = None
    usage: Usage | None = None
    version: int = 0

    @property
    def live(self) -> bool:
        return self.state in LIVE

    def lapsed(self, now: float) -> bool:
        return self.live and now >= self.leased_until

    def renewed(self, until: float) -> "Turn":
        return replace(self, leased_until=until)

    def taken_over(self, node: NodeId, until: float) -> "Turn":
        return replace(self, node=node, epoch=self.epoch + 1, leased_until=until)

    def moved(self, to: TurnState) -> "Turn":
        if to not in TURN_TRANSITIONS[self.state]:
            raise IllegalMove(f"turn {self.id}: {self.state} does not go to {to}")
        return replace(self, state=to)

    def ended(
        self, to: TurnState, *, at: float, stop_reason: str | None, failure: Failure | None, usage: Usage | None = None
    ) -> "Turn":
        return replace(self.moved(to), ended_at=at, stop_reason=stop_reason, failure=failure, usage=usage)
