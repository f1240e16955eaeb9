"""The exchange: the core put together, and the one surface that the shell, the tools and the chats call."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from types import TracebackType
from typing import Self

from bridge.admission import unknown_session
from bridge.caller import Caller
from bridge.errors import Code, Refused
from bridge.flow.admission import Admission
from bridge.flow.agents import Agents
from bridge.flow.approvals import Approvals
from bridge.flow.attempts import record_attempt
from bridge.flow.buttons import Buttons
from bridge.flow.causes import unknown_message
from bridge.flow.charter import Charter
from bridge.flow.commands import Commands
from bridge.flow.control import Control
from bridge.flow.directory import SHELL, Declared, Directory
from bridge.flow.dispatch import Dispatch
from bridge.flow.governance import Governance
from bridge.flow.grants import Grants
from bridge.flow.hints import Hints
from bridge.flow.inbound import Inbound
from bridge.flow.ledger import Ledger
from bridge.flow.mailbox import Mailbox
from bridge.flow.outbox import Outbox
from bridge.flow.oversight import Oversight
from bridge.flow.proposals import Proposals
from bridge.flow.questions import Questions
from bridge.flow.recovery import Recovery
from bridge.flow.redeclaring import redeclare
from bridge.flow.reply import Replies
from bridge.flow.retention import Retention
from bridge.flow.shortage import Shortage
from bridge.flow.steering import Steering
from bridge.flow.timekeeper import Timekeeper
from bridge.flow.turns import Turns
from bridge.flow.unheard import Unheard
from bridge.flow.waits import Waits
from bridge.ids import NodeId, SessionId, address, profile_of
from bridge.limits import Limits
from bridge.message import Origin
from bridge.ports.chat import Chat
from bridge.ports.clock import Clock, Randomness
from bridge.ports.policy import Policy
from bridge.ports.runtime import Runtime
from bridge.ports.store import Store
from bridge.trace import Step
from bridge.views import AnswerView, Mail, Receipt, Received, Send, SessionView, StatusView

_FORBIDDEN = frozenset({Code.NOT_PERMITTED, Code.UNKNOWN_MESSAGE, Code.UNKNOWN_SESSION})

LOCAL = NodeId("local")
"""The only bridge of a store that takes no other."""


class Exchange:
    """Use it as an asynchronous context: `start`, `begin`, and at the end `drain`. Leaving it cuts off what
    still runs, which the next start recovers, and closes the agents.

    `node` is the name under which this bridge holds leases, the same after a restart, and of one bridge at a time.
    `tools` is the environment of the agents' tool server, beside the token of each. `health` is what the
    status shows of the chat, or None where none is configured. With `confirm_in_chat`, what a shell would widen waits
    for an operator's word in a chat.
    """

    def __init__(
        self,
        *,
        profile: str,
        version: str,
        pid: int,
        store: Store,
        store_name: str,
        policy: Policy,
        runtime: Runtime,
        chats: Mapping[str, Chat],
        clock: Clock,
        randomness: Randomness,
        limits: Limits,
        tools: Mapping[str, str],
        node: NodeId = LOCAL,
        health: Callable[[], Mapping[str, object] | None] = lambda: None,
        confirm_in_chat: bool = True,
    ) -> None:
        self._version = version
        self._pid = pid
        self._store_name = store_name
        self._health = health
        self._chats = chats
        self._hints = Hints()
        self._tasks = asyncio.TaskGroup()
        self._ledger = Ledger(store, clock, randomness, self._hints, limits, chats, node)
        self._started_at = clock.now()
        self._background: list[asyncio.Task[None]] = []
        waits = Waits()
        self._agents = Agents(self._ledger, runtime, self._tasks, tools)
        questions = Questions(self._ledger)
        unheard = Unheard()
        self._turns = Turns(self._ledger, self._agents, questions, unheard)
        self._recovery = Recovery(self._ledger, self._agents, self._turns)
        self._dispatch = Dispatch(self._ledger, self._turns, self._recovery, self._tasks)
        proposals = Proposals(self._ledger)
        self._timekeeper = Timekeeper(self._ledger, self._recovery, proposals)
        self._outbox = Outbox(self._ledger, self._hints)
        governance = Governance(self._ledger, policy)
        admission = Admission(self._ledger, governance, self._dispatch)
        self.directory = Directory(self._ledger, governance, self._agents, self._turns, profile)
        approvals = Approvals(self._ledger, governance, self._dispatch, profile)
        self.oversight: Oversight = Oversight(
            self._ledger, approvals, Grants(self._ledger), proposals, self.directory, confirm=confirm_in_chat
        )
        self.charter = Charter(self._ledger, governance, proposals)
        self.control = Control(self._ledger, self._turns, self._recovery, self._agents)
        self._admission = admission
        self._steering = Steering(self._ledger, self._agents)
        self._mailbox = Mailbox(self._ledger, self._hints, unheard, self._steering)
        self._replies = Replies(self._ledger, admission, waits, self._hints)
        commands = Commands(self._ledger, admission, self.directory, self.control, self.oversight)
        self.menu = commands.menu()
        self.inbound = Inbound(
            self._ledger, self._dispatch, commands, Buttons(self._ledger, self.control, questions, approvals, proposals)
        )

    # Life

    async def start(self, declared: Sequence[Declared]) -> None:
        """Recovers what an earlier bridge left, and brings the sessions to what the file says."""
        await self._recovery.restart()
        await self.directory.declare(declared)

    async def begin(self) -> None:
        """Begins to deliver. Agents call back at once, so whatever serves their tools must accept by then."""
        self._hints.attach(self._dispatch.hint, self._timekeeper.at)
        self._dispatch.open()
        self._background.append(self._tasks.create_task(self._timekeeper.run()))
        for task in (Retention(self._ledger), Shortage(self._ledger)):
            self._background.append(self._tasks.create_task(task.run()))
        for chat in self._chats.values():
            self._background.append(self._tasks.create_task(self._outbox.run(chat)))
        for session in (*self._recovery.undecided(), *await self._ledger.store.waiting_sessions()):
            self._dispatch.hint(session)

    async def redeclare(self, declared: Sequence[Declared]) -> None:
        """Brings the sessions to what the file says now, while they are at work."""
        await redeclare(declared, self._ledger, self.directory, self.control, self._turns, self._agents)

    async def drain(self) -> None:
        """Begins no further turn, gives those that run `stop_grace_s` to end, with their tools at hand, and closes
        the agents."""
        await self._dispatch.close(self._ledger.limits.stop_grace_s)
        await self._agents.close()

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._dispatch.close(0)
            await self._agents.close()
        finally:
            for task in self._background:
                task.cancel()
            await self._tasks.__aexit__(kind, error, trace)

    # Messages

    async def send(self, caller: Caller, send: Send) -> Receipt:
        """Sends a message. A shell has no tool to reply with: what it sends to an asker in reply to the asker's
        request is the answer."""
        if send.in_reply_to is not None and await self._replies.answers(caller, send):
            return await self.reply(caller, send.in_reply_to, send.text)
        return await self._admission.send(caller, send)

    async def ask(self, caller: Caller, send: Send, timeout_s: float) -> AnswerView:
        return await self._replies.ask(caller, send, timeout_s)

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
        return await self._mailbox.view(reader.session)

    async def wait_inbox(self, caller: Caller, session: str | None, known: set[str], timeout_s: float) -> list[Mail]:
        reader = await self._reader(caller, session)
        return await self._mailbox.wait(reader.session, known, timeout_s)

    async def _reader(self, caller: Caller, session: str | None) -> Caller:
        if session is None or address(session, self.directory.profile) == caller.session:
            return caller
        async with self._recorded(caller, f"read the mail of {session}"):
            if caller.bound:
                raise Refused(Code.NOT_PERMITTED, "a session reads its own mail only")
            return await self.directory.caller(session, origin=caller.origin, bound=None)

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
        tries = Caller(bound or SessionId(f"{self.directory.profile}/{SHELL}"), origin, bound=bound is not None)
        async with self._recorded(tries, f"speak as {session_name}"):
            return await self.directory.caller(session_name, origin=origin, bound=bound)

    def token_session(self, token: str) -> SessionId | None:
        return self._agents.session_of_token(token)

    def tools(self, token: str) -> AbstractContextManager[None]:
        """Whoever serves an agent's tools tells by it how long they are connected."""
        return self._agents.tools(token)

    def agent_session(self, pids: Sequence[int]) -> SessionId | None:
        return self._agents.session_of(pids)

    async def sessions(
        self, caller: Caller, active: bool, limit: int = 50, cursor: str | None = None
    ) -> tuple[list[SessionView], str | None]:
        return await self.directory.sessions(caller, active=active, limit=limit, cursor=cursor)

    async def new_session(
        self,
        caller: Caller,
        handle: str,
        agent: str | None,
        cwd: str | None,
        place: str | None,
        title: str | None,
    ) -> SessionView:
        """Makes a session, for people only: an agent or a program may not widen what there is."""
        async with self._recorded(caller, f"make the session {handle}"):
            if caller.origin is not Origin.USER:
                raise Refused(
                    Code.NOT_PERMITTED,
                    "only a person may make a session",
                    remedy="Type it in a terminal of your own, or declare the session in tieline.toml.",
                )
        return await self.directory.new(handle, agent=agent, cwd=cwd, place=place, title=title)

    async def stop(self, caller: Caller, session: str, everything: bool) -> tuple[bool, int]:
        """As `/stop` at a place of the session, for a person who is elsewhere or where it has none."""
        return await self.control.stop(await self._governed(caller, session), everything=everything)

    async def resume(self, caller: Caller, session: str) -> bool:
        """As `/resume` at a place of the session."""
        return await self.control.resume(await self._governed(caller, session))

    async def _governed(self, caller: Caller, name: str) -> SessionId:
        async with self._recorded(caller, f"stop or resume {name}"):
            if caller.origin is not Origin.USER:
                remedy = "Type it in a terminal of your own."
                raise Refused(Code.NOT_PERMITTED, "only a person may stop or resume a session", remedy=remedy)
        ident = address(name, self.directory.profile)
        session = await self._ledger.store.session(ident) if ident else None
        if session is None or profile_of(session.id) != self.directory.profile:
            raise unknown_session()
        if session.closed_at is not None:
            raise Refused(Code.SESSION_CLOSED, f"{session.id} has been closed")
        return session.id

    async def trace(self, caller: Caller, ident: str) -> list[Step]:
        """The steps of a message, of what it caused, or of a conversation. A person sees all of the profile,
        everybody else what the own session sent or received."""
        whose = f"{self.directory.profile}/*" if caller.origin is Origin.USER else caller.session
        steps = await self._ledger.store.steps(ident, whose)
        async with self._recorded(caller, f"trace {ident}"):
            if not steps:
                raise unknown_message()
        return steps

    async def status(self, caller: Caller) -> StatusView:
        """An agent's counts are of what its session may discover (invariant 12), everybody else's of all."""
        store, now = self._ledger.store, self._ledger.clock.now()
        if caller.bound:
            sessions = await self.directory.discoverable(caller)
            turns = sum(turn.session in sessions for turn in await store.live_turns())
            waiting = [message.queued_at for one in sessions for message in await store.queue(one)]
            queued, oldest = len(waiting), min(waiting, default=None)
        else:
            sessions = await self.directory.open_sessions()
            turns = self._turns.running()
            queued, oldest = await store.queued()
        health = self._health()
        return StatusView(
            pid=self._pid,
            version=self._version,
            profile=self.directory.profile,
            uptime_s=round(now - self._started_at, 3),
            store=f"{self._store_name}, without room" if await store.short() else self._store_name,
            telegram=dict(health) if health is not None else None,
            sessions=len(sessions),
            turns=turns,
            queued=queued,
            oldest_queued_s=round(now - oldest, 3) if oldest is not None else None,
            paused_by=(await self._ledger.regime()).paused_by,
        )
