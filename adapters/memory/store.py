"""The store in dicts. It keeps nothing beyond the process."""

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from adapters.memory.index import GOING
from adapters.memory.removal import remove
from adapters.memory.tables import Tables
from bridge.approval import Approval, ApprovalId, Subject
from bridge.audit import Act
from bridge.conversation import Conversation, Pair, pair_of
from bridge.decision import Verdict
from bridge.errors import Code, Refused
from bridge.gateway import Gateway
from bridge.grant import Grant, GrantId
from bridge.ids import LAST_ID, ConversationId, MessageId, Place, SessionId, TurnId, profile_of, receiver, scheme_of
from bridge.intake import Note, Update
from bridge.message import Intent, Message, State, in_line
from bridge.move import Move
from bridge.ports.store import Change, Key, Parties
from bridge.post import Post, PostKind, Urgency
from bridge.regime import Regime
from bridge.request import Request
from bridge.session import Binding, Session
from bridge.token import Token
from bridge.trace import Step
from bridge.turn import Turn

_T = TypeVar("_T")
_R = TypeVar("_R", Verdict, Act)
_MORTAL = frozenset({State.HELD, State.QUEUED, State.PARKED})


class MemoryStore:
    """Implements `bridge.ports.store.Store` for one event loop, in which a commit is a single step."""

    def __init__(self) -> None:
        self._tables = Tables()
        self._closed = False

    async def commit(self, change: Change) -> None:
        self._open().apply(change)

    async def close(self) -> None:
        self._closed = True

    async def short(self) -> bool:
        return False

    async def remove(self, before: float, keys_before: float, limit: int) -> tuple[int, bool]:
        return remove(self._open(), before, keys_before), False

    # Sessions and places
    async def session(self, session: SessionId) -> Session | None:
        return self._one(Session, session)

    async def sessions(self) -> list[Session]:
        return self._all(Session, lambda session: True, by=lambda session: session.id)

    async def children(self, parent: SessionId | None = None) -> list[Session]:
        def wanted(session: Session) -> bool:
            return session.parent is not None and parent in (None, session.parent)

        return self._all(Session, wanted, among=GOING, by=lambda session: session.id)

    async def binding(self, place: Place) -> Binding | None:
        return self._one(Binding, place)

    async def bindings(self) -> list[Binding]:
        return self._all(Binding, lambda bound: True, by=lambda bound: bound.place)

    async def places(self, session: SessionId) -> list[Binding]:
        return self._all(
            Binding, lambda bound: bound.session == session, by=lambda bound: (bound.bound_at, bound.place)
        )

    async def moves(self) -> list[Move]:
        return self._all(Move, lambda move: True, by=lambda move: move.old)

    async def parties(self, sender: SessionId, recipient: SessionId | None, day: int) -> Parties:
        to = recipient or SessionId("")
        return Parties(
            sender=await self.session(sender),
            recipient=await self.session(to),
            pair=await self.pair(*pair_of(sender, to)),
            inbox=await self.inbox_size(to),
            open_requests=len(await self.open_requests_of(sender)),
            busy=await self.live_turn(to) is not None,
            places=await self.places(to),
            sender_places=await self.places(sender),
            today=await self.sent_on(profile_of(sender), day),
        )

    # Messages
    async def message(self, message: MessageId) -> Message | None:
        return self._one(Message, message)

    async def mail(self, message: MessageId, session: SessionId) -> Message | None:
        found = self._one(Message, message)
        return found if found is not None and session in _may_know(found) else None

    async def key(self, sender: SessionId, key: str) -> Key | None:
        return self._one(Key, (sender, key))

    async def queue(self, session: SessionId) -> list[Message]:
        return self._all(
            Message,
            lambda message: message.state is State.QUEUED,
            among=session,
            by=in_line,
        )

    async def inbox(self, session: SessionId) -> list[Message]:
        return self._all(
            Message,
            _is_unsettled_mail,
            among=session,
            by=lambda message: (message.accepted_at, message.id),
        )

    async def unsettled_of(self, session: SessionId) -> list[Message]:
        return self._all(
            Message,
            lambda message: message.state is not State.SETTLED,
            among=session,
            by=lambda message: (message.accepted_at, message.id),
        )

    async def taken(self, turn: TurnId) -> list[Message]:
        return self._all(
            Message,
            lambda message: message.state is State.LEASED,
            among=("turn", turn),
            by=lambda message: (message.queued_at, message.id),
        )

    async def read_in(self, turn: TurnId) -> list[Message]:
        return self._read(turn, 0.0)

    async def read_by(self, session: SessionId, since: float) -> list[Message]:
        turns = sorted(self._open().group(Turn, session), key=lambda turn: turn.id, reverse=True)
        readers = [receiver(session)]
        for turn in turns:
            if turn.ended_at is not None and turn.ended_at < since:
                break
            readers.append(turn.id)
        read = [message for reader in readers for message in self._read(reader, since)]
        return sorted(read, key=lambda message: (message.read_at, message.id))

    def _read(self, turn: TurnId, since: float) -> list[Message]:
        def counts(message: Message) -> bool:
            settled = message.settled_at is not None and message.settled_at >= since
            return message.read_at is not None and (settled or message.state is State.LEASED)

        return self._all(Message, counts, among=("turn", turn), by=lambda message: (message.read_at, message.id))

    async def waiting_sessions(self) -> list[SessionId]:
        return sorted({message.recipient for message in self._queued() if message.wake})

    async def ended_lives(self, now: float, limit: int) -> list[Message]:
        return self._all(
            Message,
            lambda message: message.state in _MORTAL and message.expires_at <= now,
            among=GOING,
            by=lambda message: (message.expires_at, message.id),
        )[:limit]

    async def lapsed_leases(self, now: float, limit: int) -> list[Message]:
        return self._all(
            Message,
            lambda message: message.lapsed(now),
            among=GOING,
            by=lambda message: (message.leased_until, message.id),
        )[:limit]

    async def next_due(self, after: float) -> float | None:
        tables = self._open()
        messages = tables.group(Message, GOING)
        times = [
            *(message.due_at for message in self._queued() if message.due_at > message.queued_at),
            *(message.expires_at for message in messages if message.state in _MORTAL),
            *(post.due_at for post in tables.group(Post, GOING)),
            *(request.expires_at for request in tables.group(Request, GOING)),
            *(message.leased_until for message in messages if message.leased_until is not None),
            *(turn.leased_until for turn in tables.group(Turn, GOING)),
            *(one.expires_at for one in tables.group(Approval, GOING) if one.expires_at is not None),
        ]
        return min((time for time in times if time > after), default=None)

    async def due_sessions(self, now: float) -> list[SessionId]:
        return sorted({message.recipient for message in self._queued() if message.wake and message.due_at <= now})

    async def inbox_size(self, session: SessionId) -> int:
        return self._open().inbox_size(session)

    async def unsettled(self) -> dict[SessionId, int]:
        counts: dict[SessionId, int] = {}
        for message in self._open().group(Message, GOING):
            if _is_unsettled_mail(message) and message.state is not State.HELD:
                counts[message.recipient] = counts.get(message.recipient, 0) + 1
        return counts

    async def queued(self) -> tuple[int, float | None]:
        times = [message.queued_at for message in self._queued()]
        return len(times), min(times, default=None)

    # Requests
    async def request(self, message: MessageId) -> Request | None:
        return self._one(Request, message)

    async def requests_for(self, parent: MessageId) -> list[Request]:
        return self._all(Request, lambda request: True, among=parent, by=lambda request: request.id)

    async def open_requests_of(self, asker: SessionId) -> list[Request]:
        return self._all(Request, lambda request: request.asker == asker, among=GOING, by=lambda request: request.id)

    async def overdue_requests(self, now: float, limit: int) -> list[Request]:
        def settled(ident: MessageId) -> bool:
            message = self._one(Message, ident)
            return message is not None and message.state is State.SETTLED

        return self._all(
            Request,
            lambda request: request.expires_at <= now and settled(request.id),
            among=GOING,
            by=lambda request: request.id,
        )[:limit]

    async def open_requests_to(self, asked: SessionId) -> list[Request]:
        return self._all(Request, lambda request: request.asked == asked, among=GOING, by=lambda request: request.id)

    # Turns
    async def turn(self, turn: TurnId) -> Turn | None:
        return self._one(Turn, turn)

    async def live_turn(self, session: SessionId) -> Turn | None:
        return next((turn for turn in await self.live_turns() if turn.session == session), None)

    async def live_turns(self) -> list[Turn]:
        return self._all(Turn, lambda turn: True, among=GOING, by=lambda turn: turn.id)

    async def lapsed_turns(self, now: float) -> list[Turn]:
        return self._all(Turn, lambda turn: turn.lapsed(now), among=GOING, by=lambda turn: (turn.leased_until, turn.id))

    async def last_turns(self) -> list[Turn]:
        every = self._all(Turn, lambda turn: True, by=lambda turn: turn.id)
        newest = {turn.session: turn.id for turn in every if turn.process is not None}
        return [turn for turn in every if turn.live or newest.get(turn.session) == turn.id]

    # Loops and budgets
    async def conversation(self, conversation: ConversationId) -> Conversation | None:
        return self._one(Conversation, conversation)

    async def pair(self, a: SessionId, b: SessionId) -> Pair | None:
        return self._one(Pair, (a, b))

    async def sent_on(self, profile: str, day: int) -> int:
        return self._open().sent_on[day, profile]

    # Outbox and intake
    async def post(self, key: str) -> Post | None:
        return next(iter(self._open().group(Post, key)), None)

    async def pending_posts(self, scheme: str) -> list[Post]:
        return self._all(
            Post,
            lambda post: scheme_of(post.place) == scheme,
            among=GOING,
            by=lambda post: (post.kind is not PostKind.FINAL, post.created_at, post.id),
        )

    async def foremost_posts(self, scheme: str) -> list[Post]:
        seen: set[tuple[Place, Urgency]] = set()
        foremost: list[Post] = []
        for post in await self.pending_posts(scheme):
            unseen_handoff = post.kind is PostKind.HANDOFF and post.receipt is None
            if unseen_handoff or (post.place, post.urgency) not in seen:
                seen.add((post.place, post.urgency))
                foremost.append(post)
        return foremost

    async def sent_post(self, scheme: str, receipt: str) -> Post | None:
        sent = self._all(
            Post,
            lambda post: (scheme_of(post.place), post.receipt) == (scheme, receipt) and post.kind is not PostKind.MARK,
            by=lambda post: post.id,
        )
        return sent[-1] if sent else None

    async def attached(self) -> set[str]:
        every = self._all(Message, lambda message: bool(message.attachments), by=lambda message: message.id)
        return {one.path for message in every for one in message.attachments if one.path is not None}

    async def unhandled(self, source: str) -> list[Update]:
        return self._all(
            Update,
            lambda update: update.source == source and update.handled_at is None and update.error is None,
            by=lambda update: update.number,
        )

    async def updates(self, source: str, numbers: Sequence[int]) -> list[Update]:
        wanted = set(numbers)
        return self._all(
            Update,
            lambda update: update.source == source and update.number in wanted,
            by=lambda update: update.number,
        )

    async def last_update(self, source: str) -> int | None:
        return max((update.number for update in self._open().every(Update) if update.source == source), default=None)

    async def notes(self, source: str) -> list[Note]:
        return self._all(Note, lambda note: note.source == source, by=lambda note: note.key)

    # What people decide
    async def regime(self) -> Regime:
        return self._one(Regime, Regime().id) or Regime()

    async def grant(self, grant: GrantId) -> Grant | None:
        return self._one(Grant, grant)

    async def grants(self) -> list[Grant]:
        return self._all(Grant, lambda grant: True, by=lambda grant: grant.id)

    async def live_grants(self, now: float) -> list[Grant]:
        return self._all(Grant, lambda grant: grant.live(now), by=lambda grant: grant.id)

    async def gateway(self, name: str) -> Gateway | None:
        return self._one(Gateway, name)

    async def gateways(self) -> list[Gateway]:
        return self._all(Gateway, lambda gateway: True, by=lambda gateway: gateway.id)

    async def approval(self, approval: ApprovalId) -> Approval | None:
        return self._one(Approval, approval)

    async def open_approval(self, subject: Subject, about: str) -> Approval | None:
        every = await self.open_approvals()
        return next((one for one in every if (one.subject, one.about) == (subject, about)), None)

    async def open_approvals(self) -> list[Approval]:
        return self._all(Approval, lambda one: True, among=GOING, by=lambda one: one.id)

    async def ended_approvals(self, now: float, limit: int) -> list[Approval]:
        every = await self.open_approvals()
        return [one for one in every if one.expires_at is not None and one.expires_at <= now][:limit]

    async def held(self) -> list[Message]:
        return self._all(
            Message, lambda message: message.state is State.HELD, among=GOING, by=lambda message: message.id
        )

    async def tokens(self, session: SessionId | None = None) -> list[Token]:
        return self._all(
            Token,
            lambda token: session in (None, token.session),
            among=GOING,
            by=lambda token: (token.session, token.name),
        )

    # Records
    async def recent_verdicts(self, before: str | None, limit: int) -> list[Verdict]:
        return self._recent(Verdict, before, limit)

    async def recent_acts(self, before: str | None, limit: int) -> list[Act]:
        return self._recent(Act, before, limit)

    def _recent(self, kind: type[_R], before: str | None, limit: int) -> list[_R]:
        every = self._all(kind, lambda record: record.id < (before or LAST_ID), by=lambda record: record.id)
        return every[::-1][:limit]

    async def verdicts(self, conversation: ConversationId) -> list[Verdict]:
        return self._all(
            Verdict, lambda verdict: verdict.conversation == conversation, by=lambda verdict: (verdict.at, verdict.id)
        )

    async def steps(self, of: str, whose: str = "*", *, withheld: bool = True) -> list[Step]:
        def concerned(step: Step) -> tuple[SessionId, ...]:
            message = self._one(Message, step.message)
            if message is None:
                return (step.session,)
            return (message.sender, message.recipient) if withheld else _may_know(message)

        def wanted(step: Step) -> bool:
            of_it = of in (step.message, step.cause, step.conversation)
            return of_it and any(fnmatchcase(one, whose) for one in concerned(step))

        return self._all(Step, wanted, by=lambda step: (step.at, step.id))

    def _open(self) -> Tables:
        if self._closed:
            raise Refused(Code.UNAVAILABLE, "the store is closed")
        return self._tables

    def _one(self, kind: type[_T], key: object) -> _T | None:
        return self._open().get(kind, key)

    def _all(
        self, kind: type[_T], wanted: Callable[[_T], bool], *, by: Callable[[_T], Any], among: object = None
    ) -> list[_T]:
        """Those of all of a kind, or `among` one group of it, that are wanted."""
        tables = self._open()
        return sorted(filter(wanted, tables.every(kind) if among is None else tables.group(kind, among)), key=by)

    def _queued(self) -> list[Message]:
        return [message for message in self._open().group(Message, GOING) if message.state is State.QUEUED]


def _is_unsettled_mail(message: Message) -> bool:
    return message.state is not State.SETTLED and message.intent is not Intent.INPUT


def _may_know(message: Message) -> tuple[SessionId, ...]:
    return (message.sender,) if message.withheld else (message.sender, message.recipient)
