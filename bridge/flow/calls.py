"""What the shell, the tools and the chats ask of the core, each for a caller that its channel has established."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import replace

from bridge.admission import closed_session, unknown_session
from bridge.caller import Caller
from bridge.errors import Code, Refused
from bridge.flow.admission import Admission
from bridge.flow.agents import Agents
from bridge.flow.attempts import record_attempt
from bridge.flow.children import Children
from bridge.flow.control import Control
from bridge.flow.directory import Directory
from bridge.flow.hints import Hints
from bridge.flow.insight import Insight
from bridge.flow.ledger import Ledger
from bridge.flow.mailbox import Mailbox
from bridge.flow.reply import Replies
from bridge.flow.roster import Roster
from bridge.flow.sessions import Sessions
from bridge.flow.speakers import Speakers
from bridge.flow.steering import Steering
from bridge.flow.terminals import Terminals
from bridge.flow.tokens import Tokens
from bridge.flow.topics import Topics
from bridge.ids import SHELL, SessionId, address, profile_of, session_id
from bridge.launching import NO_OPTIONS, Options
from bridge.message import Origin
from bridge.trace import Step
from bridge.views import (
    AnswerView,
    Mail,
    Receipt,
    Received,
    RenewedView,
    ResumedView,
    Send,
    SessionView,
    StatusView,
    TokenView,
    TopicView,
)

_FORBIDDEN = frozenset({Code.NOT_PERMITTED, Code.UNKNOWN_MESSAGE, Code.UNKNOWN_SESSION})


class Calls:
    """Every one raises `Refused` for what is not admitted, and what was none of the caller's business is recorded."""

    def __init__(
        self,
        *,
        ledger: Ledger,
        directory: Directory,
        roster: Roster,
        topics: Topics,
        sessions: Sessions,
        speakers: Speakers,
        admission: Admission,
        children: Children,
        replies: Replies,
        mailbox: Mailbox,
        steering: Steering,
        control: Control,
        agents: Agents,
        tokens: Tokens,
        insight: Insight,
        hints: Hints,
        terminals: Terminals,
    ) -> None:
        self._ledger = ledger
        self.directory = directory
        self.roster = roster
        self._topics = topics
        self._sessions = sessions
        self._speakers = speakers
        self._admission = admission
        self._children = children
        self._replies = replies
        self._mailbox = mailbox
        self._steering = steering
        self.control = control
        self._agents = agents
        self._tokens = tokens
        self._insight = insight
        self._hints = hints
        self.terminals = terminals

    # Messages

    async def send(self, caller: Caller, send: Send) -> Receipt:
        """Sends a message. A shell has no tool to reply with: what it sends to an asker in reply to the asker's
        request is the answer."""
        if send.in_reply_to is not None and await self._replies.answers(caller, send):
            return await self.reply(caller, send.in_reply_to, send.text)
        return await self._admission.send(caller, send)

    async def ask(self, caller: Caller, send: Send, timeout_s: float) -> AnswerView:
        return await self._replies.ask(caller, send, timeout_s)

    async def spawn(self, caller: Caller, agent: str, title: str, task: str) -> Receipt:
        """Makes a child of the caller, and hands it its task as a request. Outside of a turn that is an attempt; in one
        it is decided like every message."""
        if caller.turn is None:
            async with self._recorded(caller, f"spawn {agent[:80]}"):
                return await self._children.spawn(caller, agent, title, task)
        return await self._children.spawn(caller, agent, title, task)

    async def answer(self, caller: Caller, message_id: str, timeout_s: float) -> AnswerView:
        async with self._recorded(caller, f"look at {message_id}"):
            return await self._replies.wait(caller, message_id, timeout_s)

    async def read_answer(self, caller: Caller, message_id: str) -> None:
        async with self._recorded(caller, f"read the answer to {message_id}"):
            await self._replies.read_answer(caller, message_id)

    async def cancel(self, caller: Caller, message_id: str) -> AnswerView:
        async with self._recorded(caller, f"cancel {message_id}"):
            return await self._replies.cancel(caller, message_id)

    async def reply(self, caller: Caller, message_id: str, text: str, kind: str = "answer") -> Receipt:
        if kind not in ("answer", "question"):
            raise Refused(Code.INVALID_REQUEST, "the kind of a reply is answer or question")
        async with self._recorded(caller, f"reply to {message_id}"):
            return await self._replies.reply(caller, message_id, text, question=kind == "question")

    async def defer(self, caller: Caller, message_id: str) -> None:
        async with self._recorded(caller, f"defer {message_id}"):
            await self._replies.defer(caller, message_id)

    # Mail

    async def receive(self, caller: Caller, limit: int) -> Received:
        return await self._mailbox.receive(caller, limit)

    async def mail_waits(self, caller: Caller) -> bool:
        """Whether the result of a tool has to say that mail waits which its turn may read."""
        return await self._steering.tells(caller)

    async def ack(self, caller: Caller, message_ids: Sequence[str]) -> list[str]:
        async with self._recorded(caller, f"ack {', '.join(message_ids)}"):
            return await self._mailbox.ack(caller, message_ids)

    async def inbox(self, caller: Caller, session: str | None, take: bool) -> list[Mail]:
        """The mail of the caller's own session; a person may look into any inbox of the profile."""
        reader = await self._reader(caller, session)
        if take:
            return await self._mailbox.take(reader)
        return await self._mailbox.view(reader)

    async def wait_inbox(self, caller: Caller, session: str | None, known: set[str], timeout_s: float) -> list[Mail]:
        reader = await self._reader(caller, session)
        return await self._mailbox.wait(reader, known, timeout_s)

    async def _reader(self, caller: Caller, session: str | None) -> Caller:
        if session is None or address(session, self.directory.profile) == caller.session:
            return caller
        async with self._recorded(caller, f"read the mail of {session}"):
            if caller.bound:
                raise Refused(Code.NOT_PERMITTED, "a session reads its own mail only")
            return await self._speakers.caller(session, origin=caller.origin, bound=None)

    @asynccontextmanager
    async def _recorded(self, caller: Caller, what: str) -> AsyncIterator[None]:
        """That somebody has tried what was none of its business is in the audit. Refusals to send are there already."""
        try:
            yield
        except Refused as refused:
            if refused.code in _FORBIDDEN:
                await record_attempt(self._ledger, caller, what, refused)
            raise

    # Looking around

    async def caller(self, session_name: str | None, *, origin: Origin, bound: SessionId | None) -> Caller:
        tries = Caller(session_id(self.directory.profile, SHELL), origin)
        async with self._recorded(tries, f"speak as {session_name}"):
            return await self._speakers.caller(session_name, origin=origin, bound=bound)

    async def turned_away(self, session: SessionId | None, wish: str, refused: Refused) -> None:
        """Records that whoever asked was refused at the door. `session` is who it is, or None where it is nobody."""
        shell = session_id(self.directory.profile, SHELL)
        tries = Caller(session, Origin.PEER, bound=True) if session else Caller(shell, Origin.PEER, person="nobody")
        await record_attempt(self._ledger, tries, wish, refused)

    def token_session(self, token: str) -> SessionId | None:
        return (
            self._agents.session_of_token(token)
            or self._tokens.session_of(token)
            or self.terminals.session_of_token(token)
        )

    async def thread_session(self, token: str, thread: str | None) -> SessionId | None:
        """As `token_session`, for a call that tells which of the agents that share one process it is of."""
        session = await self.terminals.thread_session(token, thread) if thread is not None else None
        return session or self.token_session(token)

    def token_ended(self, token: str) -> asyncio.Event:
        """Set once the token stands for nobody any more: whatever is open by it is to end then."""
        event = self._tokens.ended(token) or self._agents.ended(token) or self.terminals.ended(token)
        if event is None:
            event = asyncio.Event()
            event.set()
        return event

    def tools(self, token: str) -> AbstractContextManager[None]:
        """Whoever serves an agent's tools tells by it how long they are connected."""
        return self._agents.tools(token)

    def agent_session(self, pids: Sequence[int], thread: str | None = None) -> SessionId | None:
        """`thread` is what the caller says of itself: it chooses among agents that share one process only."""
        return self._agents.session_of(pids) or self.terminals.session_of(pids, thread)

    def below_host(self, pids: Sequence[int]) -> int | None:
        return self.terminals.below_host(pids)

    def changes(self) -> AbstractContextManager[asyncio.Event]:
        """Set whenever any session has changed. Whoever watches looks then what it may see of it, and clears it."""
        return self._hints.watch_sessions()

    async def sessions(
        self, caller: Caller, active: bool, limit: int = 50, cursor: str | None = None, *, every: bool = False
    ) -> tuple[list[SessionView], str | None]:
        return await self.directory.sessions(caller, active=active, every=every, limit=limit, cursor=cursor)

    async def new_session(
        self,
        caller: Caller,
        handle: str,
        agent: str | None,
        cwd: str | None,
        place: str | None,
        title: str | None,
        options: Options = NO_OPTIONS,
        key: str | None = None,
        topic: str | None = None,
    ) -> SessionView:
        """Makes a session, for people only: an agent or a program may not widen what there is. What a shell would make
        may have to wait for an operator's word. With the same key the same again is the same session. With `topic` it
        gets a topic of its own in that chat; an empty text means the only chat with topics."""
        async with self._recorded(caller, f"make the session {handle}"):
            if caller.origin is not Origin.USER:
                raise Refused(
                    Code.NOT_PERMITTED,
                    "only a person may make a session",
                    remedy="Type it in a terminal of your own, or declare the session in tieline.toml.",
                )
        new = self.roster.new(handle, agent=agent, cwd=cwd, place=place, title=title, options=options)
        if topic is not None:
            new = replace(new, near=await self._topics.forum(topic))
        return await self._sessions.make(caller, new, key)

    async def stop(self, caller: Caller, session: str, everything: bool) -> tuple[bool, int]:
        """As `/stop` at a place of the session, for a person who is elsewhere or where it has none."""
        return await self.control.stop(await self._governed(caller, session), everything=everything)

    async def resume(self, caller: Caller, session: str) -> ResumedView:
        """As `/resume` at a place of the session. From a shell it may have to wait for an operator's word."""
        return await self._sessions.resume(caller, await self._governed(caller, session))

    async def renew(self, caller: Caller, session: str) -> RenewedView:
        """As `/new` at a place of the session. From a shell it may have to wait for an operator's word."""
        return await self._sessions.renew(caller, await self._governed(caller, session))

    async def make_topic(self, caller: Caller, session: str, chat: str | None) -> TopicView:
        """Makes a topic for a session, in that chat or in the only one with topics. From a shell it may have to wait
        for an operator's word."""
        return await self._sessions.topic(caller, await self._governed(caller, session), chat)

    async def make_token(self, caller: Caller, session: str, name: str) -> TokenView:
        """Makes a capability token for a client of a person's own. It is told this once; from a shell it may have to
        wait for an operator's word before it holds."""
        return await self._sessions.entrust(caller, await self._governed(caller, session), name)

    async def tokens_of(self, caller: Caller, session: str) -> list[TokenView]:
        """Those that hold, by name, without what they are."""
        return await self._sessions.tokens(await self._governed(caller, session))

    async def revoke_token(self, caller: Caller, session: str, name: str) -> TokenView:
        return await self._sessions.distrust(caller, await self._governed(caller, session), name)

    async def _governed(self, caller: Caller, name: str) -> SessionId:
        async with self._recorded(caller, f"govern {name}"):
            if caller.origin is not Origin.USER:
                remedy = "Type it in a terminal of your own."
                what = "stop, resume or renew a session, or make tokens for it"
                raise Refused(Code.NOT_PERMITTED, f"only a person may {what}", remedy=remedy)
        ident = address(name, self.directory.profile)
        session = await self._ledger.store.session(ident) if ident else None
        if session is None or profile_of(session.id) != self.directory.profile:
            raise unknown_session()
        if session.closed_at is not None:
            raise closed_session(session.id)
        return session.id

    async def trace(self, caller: Caller, ident: str) -> list[Step]:
        """The steps of a message, of what it caused, or of a conversation. A person sees all of the profile,
        everybody else what the own session sent or received."""
        async with self._recorded(caller, f"trace {ident}"):
            return await self._insight.trace(caller, ident)

    async def status(self, caller: Caller) -> StatusView:
        return await self._insight.status(caller)
