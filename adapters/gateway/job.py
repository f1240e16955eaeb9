"""A turn of a gateway's session, as far as the gateway tells of it."""

import asyncio
from collections import deque
from dataclasses import dataclass, field

from bridge.ids import Place, SessionId, TurnId
from bridge.ports.runtime import Listener, Result
from bridge.turn import Failure, FailureKind


@dataclass(eq=False)
class Job:
    """`own` is the gateway's name of it where its people have begun it; else the bridge has sent it as work. It is
    `away` while nobody is there who could tell how it stands. Once it is `over`, that is how it ended."""

    session: SessionId
    gateway: str
    turn: TurnId | None = None
    epoch: int = 0
    own: str | None = None
    started: bool = False
    tools: bool = False
    away: bool = False
    cancelling: bool = False
    listener: Listener | None = None
    over: "asyncio.Future[Result]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    entered: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the bridge's turn runs, so that calls in it have their cause."""

    def end(self, result: Result) -> None:
        if not self.over.done():
            self.over.set_result(result)


@dataclass(eq=False)
class Seat:
    """A session that a gateway has registered. `begun` are the turns of its people that no turn of the bridge's stands
    for yet."""

    gateway: str
    key: str
    session: SessionId
    place: Place
    alias: str
    begun: deque[Job] = field(default_factory=deque)


def unbegun(why: str) -> Result:
    return Result(why, "unbegun", unbegun=True)


def cancelled() -> Result:
    return Result("", "cancelled", cancelled=True)


def lost(why: str) -> Result:
    return Result("", "lost", Failure(FailureKind.CRASH, why), unsure=True)
