"""An exchange in memory that keeps what it was told, for tests of the interfaces."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from bridge.caller import Caller
from bridge.errors import Code, Refused
from bridge.ids import ConversationId, MessageId, Place, SessionId, address
from bridge.launching import Options
from bridge.message import Intent, Origin, State
from bridge.request import Answer
from bridge.session import Kind
from bridge.trace import Step, StepKind
from bridge.views import (
    AnswerView,
    Mail,
    Receipt,
    Received,
    RenewedView,
    ReplyView,
    ResumedView,
    Send,
    SessionView,
    StatusView,
    TokenView,
    TopicView,
)

SHELL = SessionId("default/shell")
CAREER = SessionId("default/career")
DESK = SessionId("default/desk")
BUILD = SessionId("default/build")
NOON = 1_790_000_000.5


@dataclass
class MemoryExchange:
    """Sending to a session that is named after a refusal code, with `-` for `_`, is refused with that code.

    `asked` is set by each question; a test answers it with `close`. `waits` is whether a tool's result says that mail
    does, `asked_at` where an operator must accept what a shell would widen.
    """

    oversight: Any = None
    gateways: Any = None
    terminals: Any = None
    kinds: dict[SessionId, Kind] = field(
        default_factory=lambda: {
            BUILD: Kind.SHELL,
            CAREER: Kind.CHAT,
            DESK: Kind.CHAT,
            SHELL: Kind.SHELL,
        }
    )
    tokens: dict[str, SessionId] = field(default_factory=dict)
    threads: dict[str, SessionId] = field(default_factory=dict)
    hosted: set[int] = field(default_factory=set)
    ended: dict[str, asyncio.Event] = field(default_factory=dict)
    agents: dict[int, SessionId] = field(default_factory=dict)
    callers: list[Caller] = field(default_factory=list)
    sends: list[Send] = field(default_factory=list)
    acked: list[str] = field(default_factory=list)
    deferred: list[str] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    listed: list[bool] = field(default_factory=list)
    made: list[tuple[Options, str | None]] = field(default_factory=list)
    topics: list[tuple[str, str | None]] = field(default_factory=list)
    asked_at: tuple[str, ...] = ()
    mail: dict[SessionId, list[Mail]] = field(default_factory=dict)
    answers: dict[str, AnswerView] = field(default_factory=dict)
    keys: dict[str, Receipt] = field(default_factory=dict)
    lines: list[Step] = field(default_factory=list)
    waits: bool = False
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    turned: list[tuple[SessionId | None, str]] = field(default_factory=list)
    abandoned: asyncio.Event = field(default_factory=asyncio.Event)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    fault: Exception | None = None
    moved: asyncio.Event = field(default_factory=asyncio.Event)

    async def send(self, caller: Caller, send: Send) -> Receipt:
        self.callers.append(caller)
        if self.fault:
            raise self.fault
        if send.key in self.keys:
            return replace(self.keys[send.key], duplicate=True)
        to = self._recipient(caller, send)
        self.sends.append(send)
        number = len(self.sends)
        receipt = Receipt(
            MessageId(f"m{number}"), ConversationId(f"c{number}"), to, State.QUEUED, number, send.wake, False, 1
        )
        if send.key:
            self.keys[send.key] = receipt
        self.answers[receipt.message_id] = AnswerView(
            receipt.message_id, receipt.conversation_id, State.QUEUED, Answer.OPEN, None, None, number
        )
        return receipt

    async def spawn(self, caller: Caller, agent: str, title: str, task: str) -> Receipt:
        send = Send(agent, task, Intent.REQUEST, wake=True, spawns=agent)
        return await self.send(caller, send)

    async def ask(self, caller: Caller, send: Send, timeout_s: float) -> AnswerView:
        receipt = await self.send(caller, send)
        self.asked.set()
        return await self.answer(caller, receipt.message_id, timeout_s)

    async def answer(self, caller: Caller, message_id: str, timeout_s: float) -> AnswerView:
        self._known(message_id)
        try:
            async with asyncio.timeout(timeout_s), self.changed:
                await self.changed.wait_for(lambda: self.answers[message_id].answer is not Answer.OPEN)
        except TimeoutError:
            pass
        except asyncio.CancelledError:
            self.abandoned.set()
            raise
        return self.answers[message_id]

    async def close(self, message_id: str, answer: Answer, text: str | None = None, reason: str | None = None) -> None:
        reply = None if text is None else ReplyView(MessageId("r1"), CAREER, text, False)
        async with self.changed:
            view = self.answers[message_id]
            self.answers[message_id] = replace(view, state=State.SETTLED, answer=answer, reply=reply, reason=reason)
            self.changed.notify_all()

    async def read_answer(self, caller: Caller, message_id: str) -> None:
        self._known(message_id)
        self.read.append(message_id)

    async def cancel(self, caller: Caller, message_id: str) -> AnswerView:
        self._known(message_id)
        await self.close(message_id, Answer.CANCELLED)
        return self.answers[message_id]

    async def mail_waits(self, caller: Caller) -> bool:
        return self.waits

    async def receive(self, caller: Caller, limit: int) -> Received:
        self.callers.append(caller)
        waiting = self.mail.get(caller.session, [])
        return Received(tuple(waiting[:limit]), len(waiting[limit:]))

    async def ack(self, caller: Caller, message_ids: list[str]) -> list[str]:
        known = {mail.message_id for mail in self.mail.get(caller.session, [])}
        settled = [ident for ident in message_ids if ident in known]
        self.acked += settled
        return settled

    async def reply(self, caller: Caller, message_id: str, text: str, kind: str) -> Receipt:
        self._known(message_id)
        await self.close(message_id, Answer.ANSWERED if kind == "answer" else Answer.INPUT_REQUIRED, text)
        return Receipt(MessageId("r1"), ConversationId("c1"), DESK, State.QUEUED, 0, True, False, 1)

    async def defer(self, caller: Caller, message_id: str) -> None:
        self._known(message_id)
        self.deferred.append(message_id)

    async def arrive(self, session: SessionId, text: str, intent: Intent = Intent.REQUEST) -> Mail:
        number = sum(len(one) for one in self.mail.values()) + 1
        mail = Mail(
            MessageId(f"in{number}"),
            DESK,
            intent,
            text,
            Origin.PEER,
            ConversationId("c9"),
            None,
            1,
            NOON,
            State.QUEUED,
            False,
        )
        async with self.changed:
            self.mail.setdefault(session, []).append(mail)
            self.changed.notify_all()
        return mail

    async def inbox(self, caller: Caller, session: str | None, take: bool) -> list[Mail]:
        self.callers.append(caller)
        mail = self.mail.get(self._owner(caller, session), [])
        return [replace(one, state=State.LEASED) for one in mail] if take else list(mail)

    async def wait_inbox(self, caller: Caller, session: str | None, known: set[str], timeout_s: float) -> list[Mail]:
        owner = self._owner(caller, session)

        def fresh() -> list[Mail]:
            return [mail for mail in self.mail.get(owner, []) if mail.message_id not in known]

        try:
            async with asyncio.timeout(timeout_s), self.changed:
                return await self.changed.wait_for(fresh)
        except TimeoutError:
            return []

    @contextmanager
    def changes(self) -> Iterator[asyncio.Event]:
        yield self.moved

    async def sessions(
        self, caller: Caller, active: bool, limit: int = 50, cursor: str | None = None, *, every: bool = False
    ) -> tuple[list[SessionView], str | None]:
        self.listed.append(every)
        names = sorted(name for name in self.kinds if name > (cursor or "") and (name == CAREER or not active))
        page = [self._view(name) for name in names[:limit]]
        return page, (names[limit - 1] if len(names) > limit else None)

    async def new_session(
        self,
        caller: Caller,
        handle: str,
        agent: str | None,
        cwd: str | None,
        place: str | None,
        title: str | None,
        options: Options,
        key: str | None,
        topic: str | None,
    ) -> SessionView:
        if caller.bound:
            raise Refused(Code.NOT_PERMITTED, "an agent may not make sessions")
        self.made.append((options, key))
        self.topics.append((handle, topic))
        name = SessionId(f"default/{handle}")
        self.kinds[name] = Kind.CHAT
        made = replace(self._view(name), cwd=cwd, title=title or handle, places=(place,) if place else ())
        return replace(made, waits_for=self.asked_at)

    async def stop(self, caller: Caller, session: str, everything: bool) -> tuple[bool, int]:
        self.callers.append(caller)
        self.stopped.append(session)
        return True, 2 if everything else 0

    async def resume(self, caller: Caller, session: str) -> ResumedView:
        self.callers.append(caller)
        return ResumedView(session in self.stopped and not self.asked_at, self.asked_at)

    async def renew(self, caller: Caller, session: str) -> RenewedView:
        self.callers.append(caller)
        return RenewedView(0 if self.asked_at else 1, self.asked_at)

    async def make_topic(self, caller: Caller, session: str, chat: str | None) -> TopicView:
        self.topics.append((session, chat))
        place = None if self.asked_at else Place("telegram:-1001234/7")
        return TopicView(SessionId(session), place, "https://t.me/c/1234/7" if place else None, self.asked_at)

    async def make_token(self, caller: Caller, session: str, name: str) -> TokenView:
        owner = self._owner(caller, session)
        self.tokens[name] = owner
        return TokenView(owner, name, NOON, None, name, self.asked_at)

    async def tokens_of(self, caller: Caller, session: str) -> list[TokenView]:
        owner = self._owner(caller, session)
        return [TokenView(of, name, NOON, NOON) for name, of in self.tokens.items() if of == owner]

    async def revoke_token(self, caller: Caller, session: str, name: str) -> TokenView:
        owner = self._owner(caller, session)
        self.revoke(name)
        return TokenView(owner, name, NOON, NOON)

    def revoke(self, name: str) -> None:
        del self.tokens[name]
        if name in self.ended:
            self.ended.pop(name).set()

    def token_ended(self, token: str) -> asyncio.Event:
        if token in self.tokens:
            return self.ended.setdefault(token, asyncio.Event())
        over = asyncio.Event()
        over.set()
        return over

    async def trace(self, caller: Caller, ident: str) -> list[Step]:
        if not self.lines:
            raise Refused(Code.UNKNOWN_MESSAGE, f"there is no message or conversation {ident}")
        return self.lines

    async def status(self, caller: Caller) -> StatusView:
        if self.fault:
            raise self.fault
        return StatusView(4711, "0.1.0", "default", 2.5, "memory", {"ok": True, "last_poll_age_s": 1.0}, 4, 1, 2, 3.5)

    async def caller(self, session_name: str | None, *, origin: Origin, bound: SessionId | None) -> Caller:
        if bound is not None:
            return Caller(bound, origin, bound=True)
        session = address(session_name, "default") if session_name else SHELL
        if session is None or session not in self.kinds:
            raise Refused(Code.UNKNOWN_SESSION, f"there is no session {session_name}")
        if origin is Origin.PEER and self.kinds[session] is not Kind.SHELL:
            raise Refused(Code.NOT_PERMITTED, "a program may speak as a shell session only")
        return Caller(session, origin)

    async def turned_away(self, session: SessionId | None, wish: str, refused: Refused) -> None:
        self.turned.append((session, wish))

    def tools(self, token: str) -> AbstractContextManager[None]:
        return nullcontext()

    def token_session(self, token: str) -> SessionId | None:
        return self.tokens.get(token)

    async def thread_session(self, token: str, thread: str | None) -> SessionId | None:
        return self.threads.get(thread or "") or self.tokens.get(token)

    def below_host(self, pids: Sequence[int]) -> int | None:
        return next((pid for pid in pids if pid in self.hosted), None)

    def agent_session(self, pids: Sequence[int], thread: str | None = None) -> SessionId | None:
        return next((self.agents[pid] for pid in pids if pid in self.agents), None)

    def step(self, kind: StepKind, **detail: object) -> None:
        number = len(self.lines)
        self.lines.append(
            Step(f"s{number}", NOON + number, kind, CAREER, MessageId("m1"), ConversationId("c1"), detail=detail)
        )

    def _recipient(self, caller: Caller, send: Send) -> SessionId:
        to = address(send.to, "default")
        handle = (to or "").partition("/")[2].replace("-", "_")
        if handle in [code.value for code in Code]:
            raise Refused(Code(handle), f"refused as {handle}", rule="rule:1")
        if to is None or to not in self.kinds:
            raise Refused(Code.UNKNOWN_SESSION, f"there is no session {send.to}")
        if to == caller.session:
            raise Refused(Code.SELF_SEND, "that is the sender")
        return to

    def _known(self, message_id: str) -> None:
        if message_id not in self.answers:
            raise Refused(Code.UNKNOWN_MESSAGE, f"there is no message {message_id}")

    def _owner(self, caller: Caller, session: str | None) -> SessionId:
        owner = address(session, "default") if session else caller.session
        if owner is None or owner not in self.kinds:
            raise Refused(Code.UNKNOWN_SESSION, f"there is no session {session}")
        if caller.origin is Origin.PEER and owner != caller.session:
            raise Refused(Code.NOT_PERMITTED, "a program reads its own mail only")
        return owner

    def _view(self, name: SessionId) -> SessionView:
        return SessionView(
            name, name.partition("/")[2].title(), self.kinds[name], "idle", True, None, "/srv", None, None,
            ("telegram:-100/42",), NOON, 0, "wake",
        )  # fmt: skip
