"""What the interfaces show: the results of the core's operations, with the names of DESIGN §7."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from bridge.decision import Effect, Verb
from bridge.grant import Scope
from bridge.ids import ConversationId, MessageId, Place, SessionId
from bridge.message import Attachment, Intent, Outcome, State
from bridge.request import Answer
from bridge.session import Busy, Kind

_LAST = datetime(9999, 1, 1, tzinfo=UTC).timestamp()


def minute(seconds: float) -> str:
    """A time as people read it."""
    return f"{_utc(seconds):%Y-%m-%d %H:%M} UTC"


def rfc3339(seconds: float) -> str:
    """A time as every interface shows it: in UTC, to the millisecond."""
    return _utc(seconds).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _utc(seconds: float) -> datetime:
    """One beyond all calendars is the end of theirs."""
    return datetime.fromtimestamp(min(seconds, _LAST), UTC)


@dataclass(frozen=True, slots=True)
class Send:
    """A request to send. `to` is as it was written: an id, or a handle in the sender's profile.

    `ttl_s` shortens the life of the message. `key` makes the request idempotent for its sender. `spawns` is the agent
    of a recipient that is made for it. `attachments` go along with a person's own.
    """

    to: str
    text: str
    intent: Intent = Intent.REQUEST
    wake: bool = False
    in_reply_to: str | None = None
    key: str | None = None
    ttl_s: float | None = None
    spawns: str | None = None
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True)
class Receipt:
    """`position` counts from 1: the place among those that wait in the recipient's queue, this one included;
    0 where it does not wait for a turn. `waits_until` is when the recipient may begin with it at the earliest, where
    that is not now: the end of its quiet hours, or of a rest after a failure."""

    message_id: MessageId
    conversation_id: ConversationId
    to: SessionId
    state: State
    position: int
    wake: bool
    duplicate: bool
    depth: int
    waits_until: float | None = None


@dataclass(frozen=True, slots=True)
class ReplyView:
    message_id: MessageId
    sender: SessionId
    text: str
    late: bool


@dataclass(frozen=True, slots=True)
class AnswerView:
    """How a request stands. `state` and `position` say where the question itself is by now; `reason` why it
    closed without an answer, or what holds it up while it is open."""

    message_id: MessageId
    conversation_id: ConversationId
    state: State
    answer: Answer
    reply: ReplyView | None
    reason: str | None = None
    position: int = 0


@dataclass(frozen=True, slots=True)
class Mail:
    message_id: MessageId
    sender: SessionId
    intent: Intent
    text: str
    origin: str
    conversation_id: ConversationId
    in_reply_to: MessageId | None
    depth: int
    accepted_at: float
    state: State
    late: bool
    redelivered: bool = False


@dataclass(frozen=True, slots=True)
class Received:
    messages: tuple[Mail, ...]
    remaining: int


@dataclass(frozen=True, slots=True)
class HeldView:
    """A message that waits for a person's approval."""

    message_id: MessageId
    sender: SessionId
    to: SessionId
    verbs: tuple[Verb, ...]
    text: str
    depth: int
    conversation_id: ConversationId
    expires_at: float


@dataclass(frozen=True, slots=True)
class DecidedView:
    """What has become of a message that was held. `waits_for` is where an operator must say it first."""

    message_id: MessageId
    state: State
    outcome: Outcome | None
    said: str
    waits_for: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GrantView:
    """`waits_for` is where an operator must accept it first: until then it is no grant, and `id` that of the wish.
    `denied` is what `denied_by`, rules and grants, deny of it all the same, as the grant is given. `by_name` is what
    people read instead of `by`."""

    id: str
    sender: str
    recipient: str
    verbs: tuple[Verb, ...]
    effect: Effect
    scope: Scope
    conversation_id: str | None
    by: str
    via: str
    given_at: float
    expires_at: float | None
    by_name: str = ""
    waits_for: tuple[str, ...] = ()
    denied: tuple[Verb, ...] = ()
    denied_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DecisionView:
    """What the policy in force says of two sessions now. `attended`: somebody is there who could approve it."""

    sender: SessionId
    recipient: SessionId
    verb: Verb
    effect: Effect
    rule: str
    reason: str
    attended: bool


@dataclass(frozen=True, slots=True)
class Reach:
    """Sessions between which and one other the same is allowed and asked about."""

    sessions: tuple[SessionId, ...]
    allowed: tuple[Verb, ...]
    asked: tuple[Verb, ...]


@dataclass(frozen=True, slots=True)
class PermissionsView:
    """What a session may do to others, and they to it, as rules and grants stand. `more` sessions that it has to do
    with were not looked at."""

    may: tuple[Reach, ...]
    others_may: tuple[Reach, ...]
    more: int = 0


class FileState(StrEnum):
    """How it stands with the operator's file, while the bridge runs."""

    HOLDS = "holds"
    WAITS = "waits"
    """What it adds waits for an operator's word."""
    REFUSED = "refused"
    """An operator has refused what it adds."""
    BROKEN = "broken"
    """It cannot be read, and what it said before holds."""


@dataclass(frozen=True, slots=True)
class RegimeView:
    """Whether all traffic between agents is paused, by whom and since when. `waits_for` is where an operator must say
    first that it goes on."""

    paused: bool
    by: str | None
    since: float | None
    waits_for: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionView:
    """`reachable`: `wake` where a handoff starts a turn, `pull` where mail waits to be read, `none` where it
    is closed. `busy` is what becomes of a handoff while it is at work: not what its settings say, but what they come to
    with its agent. `agent` is the one that answers now, and `outdated` says that a fresh context would get other
    settings. `waits_for` is where an operator must accept it first: until then there is no such session."""

    id: SessionId
    title: str
    kind: Kind
    activity: str
    live: bool
    task: str | None
    cwd: str | None
    project: str | None
    branch: str | None
    places: tuple[str, ...]
    last_seen: float | None
    unsettled: int
    reachable: str
    busy: Busy = Busy.QUEUE
    agent: str | None = None
    label: str | None = None
    outdated: bool = False
    parent: SessionId | None = None
    waits_for: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PairedView:
    """The token is told this once. `waits_for` is where an operator must accept it first."""

    name: str
    token: str
    waits_for: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GatewayView:
    """`linked` says that it is there now, `seen_at` when it was linked last, and `sessions` how many of its are open.
    `software`, `trouble` and `advice` are of `bridge.gateway.Standing`."""

    name: str
    paired_at: float
    paired_by: str
    seen_at: float | None
    linked: bool
    sessions: int
    software: str | None
    trouble: str | None
    advice: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ResumedView:
    """Whether anything had held the session back that does not any more. `waits_for` is where an operator must say it
    first."""

    resumed: bool
    waits_for: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicView:
    """`link` leads people to it, where its chat has addresses. `waits_for` is where an operator must accept it first:
    until then there is no such topic."""

    session: SessionId
    place: Place | None = None
    link: str | None = None
    waits_for: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RenewedView:
    """How many requests that the session had read closed as failed, as its context was reset. `waits_for` is where an
    operator must say it first."""

    failed: int
    waits_for: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TokenView:
    """A capability token of a session. `token` itself is told once, to whoever has made it. `waits_for` is where an
    operator must accept it first: until then it stands for nobody."""

    session: SessionId
    name: str
    made_at: float
    used_at: float | None
    token: str | None = field(default=None, repr=False)
    waits_for: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StatusView:
    """`telegram` is None where none is configured. Ages are in seconds. `paused_by` has stopped all traffic between
    agents. `file` is how it stands with tieline.toml, and `outdated` counts the sessions that run on older settings."""

    pid: int
    version: str
    profile: str
    uptime_s: float
    store: str
    telegram: dict[str, object] | None
    sessions: int
    turns: int
    queued: int
    oldest_queued_s: float | None
    paused_by: str | None = None
    file: FileState = FileState.HOLDS
    outdated: int = 0
    gateways: tuple[GatewayView, ...] = ()
