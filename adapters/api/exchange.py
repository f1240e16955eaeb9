"""What the control API asks of the core."""

from collections.abc import Sequence
from typing import Protocol

from bridge.caller import Caller
from bridge.ids import SessionId
from bridge.message import Origin
from bridge.trace import Step
from bridge.views import AnswerView, Mail, Receipt, Send, SessionView, StatusView


class Exchange(Protocol):
    """Every method raises `Refused` for what it does not admit. Waits end when their caller is cancelled."""

    async def send(self, caller: Caller, send: Send) -> Receipt: ...

    async def ask(self, caller: Caller, send: Send, timeout_s: float) -> AnswerView: ...

    async def answer(self, caller: Caller, message_id: str, timeout_s: float) -> AnswerView: ...

    async def read_answer(self, caller: Caller, message_id: str) -> None: ...

    async def cancel(self, caller: Caller, message_id: str) -> AnswerView: ...

    async def ack(self, caller: Caller, message_ids: list[str]) -> list[str]: ...

    async def inbox(self, caller: Caller, session: str | None, take: bool) -> list[Mail]: ...

    async def wait_inbox(
        self, caller: Caller, session: str | None, known: set[str], timeout_s: float
    ) -> list[Mail]: ...

    async def sessions(
        self, caller: Caller, active: bool, limit: int = 50, cursor: str | None = None
    ) -> tuple[list[SessionView], str | None]: ...

    async def new_session(
        self, caller: Caller, handle: str, agent: str | None, cwd: str | None, place: str | None, title: str | None
    ) -> SessionView: ...

    async def trace(self, caller: Caller, ident: str) -> list[Step]: ...

    async def status(self, caller: Caller) -> StatusView: ...

    async def caller(self, session_name: str | None, *, origin: Origin, bound: SessionId | None) -> Caller: ...

    def token_session(self, token: str) -> SessionId | None: ...

    def agent_session(self, pids: Sequence[int]) -> SessionId | None: ...
