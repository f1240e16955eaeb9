"""What the tools ask of the core."""

from contextlib import AbstractContextManager
from typing import Protocol

from bridge.caller import Caller
from bridge.ids import SessionId
from bridge.message import Origin
from bridge.views import AnswerView, Receipt, Received, Send, SessionView


class Exchange(Protocol):
    """Every method raises `Refused` for what it does not admit. Waits end when their caller is cancelled."""

    async def send(self, caller: Caller, send: Send) -> Receipt: ...

    async def ask(self, caller: Caller, send: Send, timeout_s: float) -> AnswerView: ...

    async def cancel(self, caller: Caller, message_id: str) -> AnswerView: ...

    async def receive(self, caller: Caller, limit: int) -> Received: ...

    async def ack(self, caller: Caller, message_ids: list[str]) -> list[str]: ...

    async def reply(self, caller: Caller, message_id: str, text: str, kind: str) -> Receipt: ...

    async def defer(self, caller: Caller, message_id: str) -> None: ...

    async def sessions(
        self, caller: Caller, active: bool, limit: int = 50, cursor: str | None = None
    ) -> tuple[list[SessionView], str | None]: ...

    async def caller(self, session_name: str | None, *, origin: Origin, bound: SessionId | None) -> Caller: ...

    def token_session(self, token: str) -> SessionId | None: ...

    def tools(self, token: str) -> AbstractContextManager[None]: ...
