"""What the control API asks of the core."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from bridge.audit import Act
from bridge.caller import Caller
from bridge.decision import Effect, Verb, Verdict
from bridge.errors import Refused
from bridge.grant import Scope
from bridge.ids import SessionId
from bridge.launching import Options
from bridge.message import Origin
from bridge.terminal import Happening, Joining, Told
from bridge.trace import Step
from bridge.turn import Process
from bridge.views import (
    AnswerView,
    DecidedView,
    DecisionView,
    GatewayView,
    GrantView,
    HeldView,
    Mail,
    PairedView,
    Receipt,
    RegimeView,
    RenewedView,
    ResumedView,
    Send,
    SessionView,
    StatusView,
    TokenView,
    TopicView,
)


class Oversight(Protocol):
    """What people decide. Every method raises `Refused(not_permitted)` for whoever is none."""

    async def approvals(self, caller: Caller) -> list[HeldView]: ...

    async def approve(self, caller: Caller, message_id: str, scope: Scope) -> DecidedView: ...

    async def deny(self, caller: Caller, message_id: str) -> DecidedView: ...

    async def grants(self, caller: Caller) -> list[GrantView]: ...

    async def grant(
        self,
        caller: Caller,
        sender: str,
        recipient: str,
        verbs: Sequence[Verb],
        scope: Scope,
        *,
        effect: Effect,
        conversation: str | None,
        life_s: float | None,
    ) -> GrantView: ...

    async def revoke(self, caller: Caller, ident: str) -> GrantView: ...

    async def decision(self, caller: Caller, sender: str, recipient: str, verb: Verb) -> DecisionView: ...

    async def pause(self, caller: Caller) -> RegimeView: ...

    async def resume(self, caller: Caller) -> RegimeView: ...

    async def audit(self, caller: Caller, before: str | None, limit: int) -> tuple[list[Verdict | Act], str | None]: ...


class Gateways(Protocol):
    """Every method raises `Refused(not_permitted)` for whoever is no operator."""

    async def every(self, caller: Caller) -> list[GatewayView]: ...

    async def pair(self, caller: Caller, name: str) -> PairedView: ...

    async def remove(self, caller: Caller, name: str) -> GatewayView: ...


class Terminals(Protocol):
    """The agents in persons' terminals. `Told.ended` where the caller is none."""

    async def join(self, pids: Sequence[int], joining: Joining) -> tuple[SessionId | None, str]: ...

    async def appears(self, pids: Sequence[int], joining: Joining) -> SessionId: ...

    def process(self, session: SessionId) -> Process | None: ...

    def hosts(self, process: Process) -> bool: ...

    def token(self, caller: Caller) -> str: ...

    async def happened(self, caller: Caller, happening: Happening, seats: Sequence[Process] | None = None) -> Told: ...

    async def wait(self, caller: Caller) -> Told: ...


class Exchange(Protocol):
    """Every method raises `Refused` for what it does not admit. Waits end when their caller is cancelled."""

    @property
    def oversight(self) -> Oversight: ...

    @property
    def gateways(self) -> Gateways: ...

    @property
    def terminals(self) -> Terminals: ...

    async def send(self, caller: Caller, send: Send) -> Receipt: ...

    async def ask(self, caller: Caller, send: Send, timeout_s: float) -> AnswerView: ...

    async def spawn(self, caller: Caller, agent: str, title: str, task: str) -> Receipt: ...

    async def answer(self, caller: Caller, message_id: str, timeout_s: float) -> AnswerView: ...

    async def read_answer(self, caller: Caller, message_id: str) -> None: ...

    async def cancel(self, caller: Caller, message_id: str) -> AnswerView: ...

    async def ack(self, caller: Caller, message_ids: list[str]) -> list[str]: ...

    async def inbox(self, caller: Caller, session: str | None, take: bool) -> list[Mail]: ...

    async def wait_inbox(
        self, caller: Caller, session: str | None, known: set[str], timeout_s: float
    ) -> list[Mail]: ...

    async def sessions(
        self, caller: Caller, active: bool, limit: int = 50, cursor: str | None = None, *, every: bool = False
    ) -> tuple[list[SessionView], str | None]: ...

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
    ) -> SessionView: ...

    async def stop(self, caller: Caller, session: str, everything: bool) -> tuple[bool, int]: ...

    async def resume(self, caller: Caller, session: str) -> ResumedView: ...

    async def renew(self, caller: Caller, session: str) -> RenewedView: ...

    async def make_topic(self, caller: Caller, session: str, chat: str | None) -> TopicView: ...

    async def make_token(self, caller: Caller, session: str, name: str) -> TokenView: ...

    async def tokens_of(self, caller: Caller, session: str) -> list[TokenView]: ...

    async def revoke_token(self, caller: Caller, session: str, name: str) -> TokenView: ...

    async def trace(self, caller: Caller, ident: str) -> list[Step]: ...

    async def status(self, caller: Caller) -> StatusView: ...

    async def caller(self, session_name: str | None, *, origin: Origin, bound: SessionId | None) -> Caller: ...

    async def turned_away(self, session: SessionId | None, wish: str, refused: Refused) -> None: ...

    def token_ended(self, token: str) -> asyncio.Event: ...

    def token_session(self, token: str) -> SessionId | None: ...

    def agent_session(self, pids: Sequence[int], thread: str | None = None) -> SessionId | None: ...

    def below_host(self, pids: Sequence[int]) -> int | None: ...
