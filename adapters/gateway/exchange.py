"""What the link asks of the core."""

from collections.abc import Callable
from typing import Protocol

from bridge.errors import Refused
from bridge.gateway import Standing
from bridge.ids import MessageId, Place, SessionId, TurnId
from bridge.ports.chat import Chat
from bridge.turn import Failure


class Begun(Protocol):
    @property
    def input(self) -> MessageId: ...

    @property
    def turn(self) -> TurnId | None: ...

    @property
    def over(self) -> bool: ...


class Gateways(Protocol):
    """Every method raises `Refused` for what it does not admit."""

    def attach(self, standing: Callable[[str], Standing], dropped: Callable[[str], None]) -> None: ...

    async def admitted(self, token: str) -> str | None: ...

    async def seen(self, name: str) -> None: ...

    async def turned_away(self, wish: str, refused: Refused) -> None: ...

    async def paired(self) -> list[str]: ...

    async def register(self, gateway: str, key: str, title: str, alias: str | None) -> SessionId: ...

    async def begun(self, session: SessionId, place: Place, own: str, person: str | None) -> Begun | None: ...

    async def returned(self, turn: TurnId) -> None: ...

    async def stopped(self, session: SessionId) -> None: ...

    async def reset(self, session: SessionId) -> None: ...

    async def close(self, session: SessionId, reason: str) -> None: ...

    async def hint(self, name: str) -> None: ...


class Exchange(Protocol):
    @property
    def gateways(self) -> Gateways: ...

    def join(self, chat: Chat) -> None: ...


FailureOf = Callable[[str, float], Failure | None]
"""The failure that a final text tells of at that time; None where it is an answer."""
