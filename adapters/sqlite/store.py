"""The store in one SQLite file: one writer that commits in groups, and a reader beside it."""

import asyncio
import json
import sqlite3
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from adapters.sqlite.ballast import Ballast
from adapters.sqlite.database import Connect, connect, open_reader, open_writer
from adapters.sqlite.lock import HomeLock
from adapters.sqlite.migrate import migrate, refuse_newer
from adapters.sqlite.reader import Reader
from adapters.sqlite.removal import Removal
from adapters.sqlite.room import Room
from adapters.sqlite.writer import Writer
from bridge.approval import Approval, ApprovalId, Subject
from bridge.audit import Act
from bridge.conversation import Conversation, Pair, pair_of
from bridge.decision import Verdict
from bridge.errors import Code, Refused
from bridge.gateway import Gateway
from bridge.grant import Grant, GrantId
from bridge.ids import LAST_ID, ConversationId, MessageId, Place, SessionId, TurnId, profile_of, receiver
from bridge.intake import Note, Update
from bridge.message import Message
from bridge.move import Move
from bridge.ports.store import Change, Key, Parties
from bridge.post import Post
from bridge.regime import Regime
from bridge.request import Request
from bridge.session import Binding, Session
from bridge.token import Token
from bridge.trace import Step
from bridge.turn import Turn


async def open_store(
    path: Path, *, busy_timeout_s: float = 5, connect: Connect = connect, ballast: Ballast | None = None
) -> "SqliteStore":
    """Opens the database, made or migrated where needed, for this process alone; `close` the store at the end.

    Raises `HomeLocked` when another bridge has it, `NewerSchema` when a newer Tieline made it, and
    `Refused(unavailable)` when the file cannot be used. `busy_timeout_s` is how long a write waits for a
    foreign program that holds the file, `ballast` what may be given up when the disk is full.
    """
    ballast = ballast or Ballast(path.with_name("ballast"))
    async with AsyncExitStack() as resources:
        try:
            resources.callback(HomeLock(path.with_suffix(".lock")).release)
            short = ballast.exhausted and ballast.free()
            await asyncio.to_thread(_prepare, path)
            database = await open_writer(path, busy_timeout_s=busy_timeout_s, connect=connect)
            resources.push_async_callback(database.close)
            await database.run(migrate)
            reader = await open_reader(path, busy_timeout_s=busy_timeout_s, connect=connect)
            resources.push_async_callback(reader.close)
        except (OSError, sqlite3.Error) as error:
            raise Refused(
                Code.UNAVAILABLE, f"{path} cannot be opened: {error}", remedy="Check the file, its folder and the disk."
            ) from error
        writer = Writer(database)
        resources.push_async_callback(writer.close)
        return SqliteStore(Room(writer, ballast, short=short), Reader(reader), Removal(database), resources.pop_all())


def _prepare(path: Path) -> None:
    """Looks at the file before anything may write to it, and makes a new one readable by its owner only."""
    if path.exists():
        refuse_newer(path)
    else:
        path.touch(mode=0o600)


class SqliteStore:
    """Implements `bridge.ports.store.Store`. Text with lone surrogates is `Refused(invalid_request)`, and an
    entity whose state contradicts itself `IllegalMove`; either leaves the changes beside it alone."""

    def __init__(self, room: Room, reader: Reader, removal: Removal, resources: AsyncExitStack) -> None:
        self._room = room
        self._reader = reader
        self._removal = removal
        self._resources = resources

    async def commit(self, change: Change) -> None:
        await self._room.write(change)

    async def close(self) -> None:
        await self._resources.aclose()

    async def short(self) -> bool:
        return await self._room.short()

    async def remove(self, before: float, keys_before: float, limit: int) -> tuple[int, bool]:
        return await self._removal.remove(before, keys_before, limit)

    # Sessions and places
    async def session(self, session: SessionId) -> Session | None:
        return await self._reader.one(Session, "session", session=session)

    async def sessions(self) -> list[Session]:
        return await self._reader.all(Session, "sessions")

    async def children(self, parent: SessionId | None = None) -> list[Session]:
        if parent is None:
            return await self._reader.all(Session, "all_children")
        return await self._reader.all(Session, "children", parent=parent)

    async def binding(self, place: Place) -> Binding | None:
        return await self._reader.one(Binding, "binding", place=place)

    async def bindings(self) -> list[Binding]:
        return await self._reader.all(Binding, "bindings")

    async def places(self, session: SessionId) -> list[Binding]:
        return await self._reader.all(Binding, "places", session=session)

    async def moves(self) -> list[Move]:
        return await self._reader.all(Move, "moves")

    async def parties(self, sender: SessionId, recipient: SessionId | None, day: int) -> Parties:
        to = recipient or SessionId("")
        a, b = pair_of(sender, to)
        return await self._reader.visit(
            lambda look: Parties(
                sender=look.one(Session, "session", session=sender),
                recipient=look.one(Session, "session", session=to),
                pair=look.one(Pair, "pair", a=a, b=b),
                inbox=look.value("inbox_size", session=to) or 0,
                open_requests=look.value("open_request_count", asker=sender) or 0,
                busy=look.one(Turn, "live_turn", session=to) is not None,
                places=look.all(Binding, "places", session=to),
                sender_places=look.all(Binding, "places", session=sender),
                today=look.value("sent_on", profile=profile_of(sender), day=day) or 0,
            )
        )

    # Messages
    async def message(self, message: MessageId) -> Message | None:
        return await self._reader.one(Message, "message", message=message)

    async def mail(self, message: MessageId, session: SessionId) -> Message | None:
        return await self._reader.one(Message, "mail", message=message, session=session)

    async def key(self, sender: SessionId, key: str) -> Key | None:
        return await self._reader.one(Key, "key", sender=sender, key=key)

    async def queue(self, session: SessionId) -> list[Message]:
        return await self._reader.all(Message, "queue", session=session)

    async def inbox(self, session: SessionId) -> list[Message]:
        return await self._reader.all(Message, "inbox", session=session)

    async def unsettled_of(self, session: SessionId) -> list[Message]:
        return await self._reader.all(Message, "unsettled_of", session=session)

    async def taken(self, turn: TurnId) -> list[Message]:
        return await self._reader.all(Message, "taken", turn=turn)

    async def read_in(self, turn: TurnId) -> list[Message]:
        return await self._reader.all(Message, "read_in", turn=turn)

    async def read_by(self, session: SessionId, since: float) -> list[Message]:
        return await self._reader.all(Message, "read_by", session=session, receiver=receiver(session), since=since)

    async def waiting_sessions(self) -> list[SessionId]:
        return [recipient for (recipient,) in await self._reader.values("waiting_sessions")]

    async def ended_lives(self, now: float, limit: int) -> list[Message]:
        return await self._reader.first(limit, Message, "ended_lives", now=now)

    async def lapsed_leases(self, now: float, limit: int) -> list[Message]:
        return await self._reader.first(limit, Message, "lapsed_leases", now=now)

    async def next_due(self, after: float) -> float | None:
        due: float | None = await self._reader.value("next_due", after=after)
        return due

    async def due_sessions(self, now: float) -> list[SessionId]:
        return [recipient for (recipient,) in await self._reader.values("due_sessions", now=now)]

    async def inbox_size(self, session: SessionId) -> int:
        size: int | None = await self._reader.value("inbox_size", session=session)
        return size or 0

    async def unsettled(self) -> dict[SessionId, int]:
        return dict(await self._reader.values("unsettled"))

    async def queued(self) -> tuple[int, float | None]:
        ((count, oldest),) = await self._reader.values("queued")
        return count, oldest

    # Requests
    async def request(self, message: MessageId) -> Request | None:
        return await self._reader.one(Request, "request", message=message)

    async def requests_for(self, parent: MessageId) -> list[Request]:
        return await self._reader.all(Request, "requests_for", parent=parent)

    async def open_requests_of(self, asker: SessionId) -> list[Request]:
        return await self._reader.all(Request, "open_requests_of", asker=asker)

    async def overdue_requests(self, now: float, limit: int) -> list[Request]:
        return await self._reader.first(limit, Request, "overdue_requests", now=now)

    async def open_requests_to(self, asked: SessionId) -> list[Request]:
        return await self._reader.all(Request, "open_requests_to", asked=asked)

    # Turns
    async def turn(self, turn: TurnId) -> Turn | None:
        return await self._reader.one(Turn, "turn", turn=turn)

    async def live_turn(self, session: SessionId) -> Turn | None:
        return await self._reader.one(Turn, "live_turn", session=session)

    async def live_turns(self) -> list[Turn]:
        return await self._reader.all(Turn, "live_turns")

    async def lapsed_turns(self, now: float) -> list[Turn]:
        return await self._reader.all(Turn, "lapsed_turns", now=now)

    async def last_turns(self) -> list[Turn]:
        return await self._reader.all(Turn, "last_turns")

    # Loops and budgets
    async def conversation(self, conversation: ConversationId) -> Conversation | None:
        return await self._reader.one(Conversation, "conversation", conversation=conversation)

    async def pair(self, a: SessionId, b: SessionId) -> Pair | None:
        return await self._reader.one(Pair, "pair", a=a, b=b)

    async def sent_on(self, profile: str, day: int) -> int:
        sent: int | None = await self._reader.value("sent_on", profile=profile, day=day)
        return sent or 0

    # Outbox and intake
    async def post(self, key: str) -> Post | None:
        return await self._reader.one(Post, "post", key=key)

    async def pending_posts(self, scheme: str) -> list[Post]:
        return await self._reader.all(Post, "pending_posts", scheme=scheme)

    async def foremost_posts(self, scheme: str) -> list[Post]:
        return await self._reader.all(Post, "foremost_posts", scheme=scheme)

    async def sent_post(self, scheme: str, receipt: str) -> Post | None:
        return await self._reader.one(Post, "sent_post", scheme=scheme, receipt=receipt)

    async def attached(self) -> set[str]:
        return {path for (path,) in await self._reader.values("attached")}

    async def unhandled(self, source: str) -> list[Update]:
        return await self._reader.all(Update, "unhandled", source=source)

    async def updates(self, source: str, numbers: Sequence[int]) -> list[Update]:
        return await self._reader.all(Update, "updates", source=source, numbers=json.dumps(list(numbers)))

    async def last_update(self, source: str) -> int | None:
        last: int | None = await self._reader.value("last_update", source=source)
        return last

    async def notes(self, source: str) -> list[Note]:
        return await self._reader.all(Note, "notes", source=source)

    # What people decide
    async def regime(self) -> Regime:
        return await self._reader.one(Regime, "regime") or Regime()

    async def grant(self, grant: GrantId) -> Grant | None:
        return await self._reader.one(Grant, "grant", grant=grant)

    async def grants(self) -> list[Grant]:
        return await self._reader.all(Grant, "grants")

    async def live_grants(self, now: float) -> list[Grant]:
        return await self._reader.all(Grant, "live_grants", now=now)

    async def gateway(self, name: str) -> Gateway | None:
        return await self._reader.one(Gateway, "gateway", name=name)

    async def gateways(self) -> list[Gateway]:
        return await self._reader.all(Gateway, "gateways")

    async def approval(self, approval: ApprovalId) -> Approval | None:
        return await self._reader.one(Approval, "approval", approval=approval)

    async def open_approval(self, subject: Subject, about: str) -> Approval | None:
        return await self._reader.one(Approval, "open_approval", subject=subject.value, about=about)

    async def open_approvals(self) -> list[Approval]:
        return await self._reader.all(Approval, "open_approvals")

    async def ended_approvals(self, now: float, limit: int) -> list[Approval]:
        return await self._reader.first(limit, Approval, "ended_approvals", now=now)

    async def held(self) -> list[Message]:
        return await self._reader.all(Message, "held")

    async def tokens(self, session: SessionId | None = None) -> list[Token]:
        if session is None:
            return await self._reader.all(Token, "all_tokens")
        return await self._reader.all(Token, "tokens", session=session)

    # Records
    async def recent_verdicts(self, before: str | None, limit: int) -> list[Verdict]:
        return await self._reader.first(limit, Verdict, "recent_verdicts", before=before or LAST_ID)

    async def recent_acts(self, before: str | None, limit: int) -> list[Act]:
        return await self._reader.first(limit, Act, "recent_acts", before=before or LAST_ID)

    async def verdicts(self, conversation: ConversationId) -> list[Verdict]:
        return await self._reader.all(Verdict, "verdicts", conversation=conversation)

    async def steps(self, of: str, whose: str = "*", *, withheld: bool = True) -> list[Step]:
        return await self._reader.all(Step, "steps", of=of, whose=whose, withheld=withheld)
