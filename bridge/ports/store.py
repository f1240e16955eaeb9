"""The store: the one truth. Everything else is a hint.

A change is planned on what was read and committed as a whole, or not at all. Each entity carries a
version; a put whose base version is no longer the stored one makes the whole change a `Conflict`, and its
caller plans again. So the rules stay in the core as plain code, and every store runs the same few
operations: puts, appended records and room checks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from bridge.approval import Approval, ApprovalId, Subject
from bridge.audit import Act
from bridge.conversation import Conversation, Pair
from bridge.decision import Verdict
from bridge.gateway import Gateway
from bridge.grant import Grant, GrantId
from bridge.ids import ConversationId, MessageId, Place, SessionId, TurnId
from bridge.intake import Note, Update
from bridge.message import Intent, Message, Origin
from bridge.move import Move
from bridge.post import Post
from bridge.regime import Regime
from bridge.request import Request
from bridge.session import Binding, Session
from bridge.token import Token
from bridge.trace import Step
from bridge.turn import Turn

Entity = (
    Session
    | Binding
    | Message
    | Request
    | Turn
    | Conversation
    | Pair
    | Post
    | Update
    | Note
    | Grant
    | Approval
    | Regime
    | Gateway
    | Token
)
"""What a put may hold. Keys: `id`; `place` of a binding; `(a, b)` of a pair; `key` and `id` of a post;
`(source, number)` of an update, `(source, key)` of a note."""


@dataclass(frozen=True, slots=True)
class Key:
    """An idempotency key, unique per sender, and the accepted message that it stands for.

    `body` is a digest of the request, so that the same key with another body can be told.
    """

    sender: SessionId
    key: str
    body: str
    message: MessageId


@dataclass(frozen=True, slots=True)
class InboxRoom:
    """Holds if, after the change, at most `limit` unsettled messages of `session` take room."""

    session: SessionId
    limit: int


@dataclass(frozen=True, slots=True)
class OpenRequests:
    """Holds if, after the change, at most `limit` requests of `asker` are open."""

    asker: SessionId
    limit: int


@dataclass(frozen=True, slots=True)
class DayQuota:
    """Counts one more message of `profile` on `day` (since 1970, in UTC), and holds if those are at most `limit`."""

    profile: str
    day: int
    limit: int


Check = InboxRoom | OpenRequests | DayQuota


class Change(NamedTuple):
    """One transaction. (A tuple, for each commit makes one, and a frozen dataclass takes four times as long.)

    `puts` holds each entity as it is to be; its `version` is that of the state it was planned on (0: it
    must not exist yet), and the stored version becomes one more. Of a stored message only its `DELIVERY` may differ
    from what is stored: a store need not look at the rest. `unchanged` are entities that must still
    have their version. A key that exists already, a second live turn of one session, a second open approval about
    the same, a second token of a session under one name that holds, a failed check: all are a `Conflict`.

    `moved` comes last, one after the other: whatever is kept at the old place is at the new one then, a version on,
    posts as `Post.moved` says. A binding of the old place becomes that of the new one, unless that has a session
    already. The move is remembered, earlier ones to the old place lead to the new one, and the new place itself has not
    moved any more. A place that has moved elsewhere already is a `Conflict`; the same move again takes along what is
    still there.
    """

    puts: Sequence[Entity] = ()
    unchanged: Sequence[Entity] = ()
    keys: Sequence[Key] = ()
    checks: Sequence[Check] = ()
    verdicts: Sequence[Verdict] = ()
    steps: Sequence[Step] = ()
    acts: Sequence[Act] = ()
    unbound: Sequence[Place] = ()
    moved: Sequence[Move] = ()

    @property
    def empty(self) -> bool:
        return not (self.puts or self.keys or self.verdicts or self.steps or self.acts or self.unbound or self.moved)

    @property
    def admits(self) -> bool:
        """Whether it takes in something new, which a store that is short of room refuses as `unavailable`, to keep
        the rest for what it has accepted before."""
        return any(not put.version and _is_new(put) for put in self.puts)


def _is_new(entity: Entity) -> bool:
    answers = isinstance(entity, Message) and (entity.intent is Intent.REPLY or entity.origin is Origin.SYSTEM)
    return isinstance(entity, Message | Update) and not answers


@dataclass(frozen=True, slots=True)
class Parties:
    """What an admission looks at of the two that it is between. `inbox`, `places` and `busy` (it has a live turn) are
    the recipient's, `open_requests` the sender's, and `today` is what its profile has sent on that day."""

    sender: Session | None
    recipient: Session | None
    pair: Pair | None
    inbox: int
    open_requests: int
    busy: bool
    places: list[Binding]
    sender_places: list[Binding]
    today: int


class Store(Protocol):
    """Reads see every change that was committed before they began. Lists are new lists, never views.

    Every method raises `Refused(unavailable)` when the store cannot be read or written; nothing of a change
    is stored then.
    """

    async def commit(self, change: Change) -> None:
        """Durable once it returns, also against power loss. Raises `Conflict`; `IllegalMove` for an entity whose
        state contradicts its other fields; `Refused(invalid_request)` for text that is not valid Unicode.

        A caller that is cancelled does not know whether it was stored, and the store stays whole.
        """
        ...

    async def close(self) -> None: ...

    async def short(self) -> bool:
        """Whether there is too little room for anything new (`Change.admits`). Looks whether there is some again."""
        ...

    async def remove(self, before: float, keys_before: float, limit: int) -> tuple[int, bool]:
        """Looks at the next `limit` or so of what is older than `before`, and removes what of it has been over since
        then and is needed no more. Returns how many that were, and whether there is more to look at: after all kinds
        it begins anew.

        A message goes once it was settled by then, with its request. It stays while that request is open, while
        anything that answered it is not over as well, while a request made on its behalf is open, and while the
        turn that took it runs. What belongs to a message goes after it: its steps, verdicts and posts. Its key stays
        until the message is older than `keys_before`, so that a sender who tries again late does not send twice.

        Closed children go, for their handles are made so that no other gets them; other sessions never do. Ended turns
        go but the newest of each session, handled updates but the last of each source, posts that are
        not pending, conversations of which no step is left, pairs without traffic, counts of days, grants that are
        over, revoked tokens, closed approvals, and the records of refusals and of what people did.
        """
        ...

    # Sessions and places
    async def session(self, session: SessionId) -> Session | None: ...

    async def sessions(self) -> list[Session]:
        """All of them, closed ones too, by id."""
        ...

    async def children(self, parent: SessionId | None = None) -> list[Session]:
        """The open sessions that a turn of `parent` has spawned, or of all the sessions that any has, by id."""
        ...

    async def binding(self, place: Place) -> Binding | None: ...

    async def bindings(self) -> list[Binding]:
        """All of them, by place."""
        ...

    async def places(self, session: SessionId) -> list[Binding]:
        """The places bound to it, the oldest first."""
        ...

    async def moves(self) -> list[Move]:
        """Where each place that has moved is now, by the old one."""
        ...

    async def parties(self, sender: SessionId, recipient: SessionId | None, day: int) -> Parties:
        """The same as the reads of each by itself give, at once. Without a recipient there is nothing of it."""
        ...

    # Messages
    async def message(self, message: MessageId) -> Message | None: ...

    async def mail(self, message: MessageId, session: SessionId) -> Message | None:
        """The message where that session has sent it, or it has come there (it is not `withheld`): else it is not even
        read."""
        ...

    async def key(self, sender: SessionId, key: str) -> Key | None: ...

    async def queue(self, session: SessionId) -> list[Message]:
        """Its queued messages in the order of its lane: people's first, then by `queued_at`, then by id."""
        ...

    async def inbox(self, session: SessionId) -> list[Message]:
        """Its unsettled messages but inputs, by `accepted_at`, then by id."""
        ...

    async def unsettled_of(self, session: SessionId) -> list[Message]:
        """All that it was sent and that is not settled, inputs too, by `accepted_at`, then by id."""
        ...

    async def taken(self, turn: TurnId) -> list[Message]:
        """The messages leased by a turn, by `queued_at`, then by id."""
        ...

    async def read_in(self, turn: TurnId) -> list[Message]:
        """What was read in a turn, and is leased to it or was settled in it, by `read_at`, then by id."""
        ...

    async def read_by(self, session: SessionId, since: float) -> list[Message]:
        """The same of the turns of `session` after its newest that ended before `since`, and of what it read outside
        of turns; of that which is settled only what was so at `since` or later."""
        ...

    async def waiting_sessions(self) -> list[SessionId]:
        """The sessions that have a queued message with `wake`, by id, for the start of a bridge."""
        ...

    async def ended_lives(self, now: float, limit: int) -> list[Message]:
        """Messages that are held, queued or parked and whose `expires_at` is `now` or earlier."""
        ...

    async def lapsed_leases(self, now: float, limit: int) -> list[Message]:
        """Leased messages whose `leased_until` is `now` or earlier, by it, then by id."""
        ...

    async def next_due(self, after: float) -> float | None:
        """The earliest time later than `after` among: `due_at` of a queued message that was put off (it is later than
        `queued_at`) or of a pending post, `expires_at` of a held, queued or parked message or of an open request,
        `leased_until` of a leased message or of a live turn, `expires_at` of an open approval."""
        ...

    async def due_sessions(self, now: float) -> list[SessionId]:
        """The sessions that have a queued message with `wake` whose `due_at` is `now` or earlier, by id."""
        ...

    async def inbox_size(self, session: SessionId) -> int:
        """How many of its unsettled messages take room (`Message.takes_room`)."""
        ...

    async def unsettled(self) -> dict[SessionId, int]:
        """The number of unsettled messages of each session that has any, but inputs and what is held."""
        ...

    async def queued(self) -> tuple[int, float | None]:
        """How many messages are queued, and the `queued_at` of the oldest."""
        ...

    # Requests
    async def request(self, message: MessageId) -> Request | None: ...

    async def requests_for(self, parent: MessageId) -> list[Request]:
        """The requests made on behalf of `parent`, by id."""
        ...

    async def open_requests_of(self, asker: SessionId) -> list[Request]: ...

    async def overdue_requests(self, now: float, limit: int) -> list[Request]:
        """Open requests whose `expires_at` is `now` or earlier and whose message is settled, by id."""
        ...

    async def open_requests_to(self, asked: SessionId) -> list[Request]: ...

    # Turns
    async def turn(self, turn: TurnId) -> Turn | None: ...

    async def live_turn(self, session: SessionId) -> Turn | None: ...

    async def live_turns(self) -> list[Turn]: ...

    async def lapsed_turns(self, now: float) -> list[Turn]:
        """The live turns whose `leased_until` is `now` or earlier, by it, then by id."""
        ...

    async def last_turns(self) -> list[Turn]:
        """What a bridge may have left of each session, by id: its live turn, and the newest that names a process. They
        are two where the live one has not come to its agent yet."""
        ...

    # Loops and budgets
    async def conversation(self, conversation: ConversationId) -> Conversation | None: ...

    async def pair(self, a: SessionId, b: SessionId) -> Pair | None: ...

    async def sent_on(self, profile: str, day: int) -> int:
        """How many messages `DayQuota` has counted."""
        ...

    # Outbox and intake
    async def post(self, key: str) -> Post | None: ...

    async def pending_posts(self, scheme: str) -> list[Post]:
        """The pending posts of places of `scheme`, due or not: finals first, then by `created_at`, then by id."""
        ...

    async def foremost_posts(self, scheme: str) -> list[Post]:
        """Those of them that could be next at their places, in the same order: at least the first of each urgency at
        each place, and all handoffs that are not shown yet. Hundreds that wait behind them are not read."""
        ...

    async def sent_post(self, scheme: str, receipt: str) -> Post | None:
        """The post that the chat of `scheme` gave this receipt, wherever in that chat it is. A mark was given none."""
        ...

    async def attached(self) -> set[str]:
        """The paths of all files that a message which is kept has among its attachments."""
        ...

    async def unhandled(self, source: str) -> list[Update]: ...

    async def updates(self, source: str, numbers: Sequence[int]) -> list[Update]:
        """Those of the numbered updates that were kept, by number."""
        ...

    async def last_update(self, source: str) -> int | None: ...

    async def notes(self, source: str) -> list[Note]:
        """By key. They are never removed."""
        ...

    # What people decide
    async def regime(self) -> Regime:
        """As it was never put, at version 0."""
        ...

    async def grant(self, grant: GrantId) -> Grant | None: ...

    async def grants(self) -> list[Grant]:
        """All that are kept, by id."""
        ...

    async def live_grants(self, now: float) -> list[Grant]:
        """Those that hold at `now`, by id."""
        ...

    async def gateway(self, name: str) -> Gateway | None: ...

    async def gateways(self) -> list[Gateway]:
        """All that were ever paired, by name."""
        ...

    async def approval(self, approval: ApprovalId) -> Approval | None: ...

    async def open_approval(self, subject: Subject, about: str) -> Approval | None: ...

    async def open_approvals(self) -> list[Approval]:
        """By id."""
        ...

    async def ended_approvals(self, now: float, limit: int) -> list[Approval]:
        """The open ones whose `expires_at` is `now` or earlier, by id."""
        ...

    async def held(self) -> list[Message]:
        """All messages that are held, by id."""
        ...

    async def tokens(self, session: SessionId | None = None) -> list[Token]:
        """The tokens of a session that hold, or of all sessions, by session and name."""
        ...

    # Records
    async def recent_verdicts(self, before: str | None, limit: int) -> list[Verdict]:
        """Those whose id is less than `before`, the newest first."""
        ...

    async def recent_acts(self, before: str | None, limit: int) -> list[Act]:
        """The same of what people did."""
        ...

    async def verdicts(self, conversation: ConversationId) -> list[Verdict]: ...

    async def steps(self, of: str, whose: str = "*", *, withheld: bool = True) -> list[Step]:
        """The steps whose message, cause or conversation is `of`, by time, then by id: of those that concern `whose`,
        an id or `PROFILE/*`. A step concerns the sender and the recipient of its message, and without one its session;
        the recipient of a message that is `withheld` from it only if that is asked for.
        """
        ...
