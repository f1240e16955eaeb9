"""A turn of a gateway's session, as far as the gateway tells of it."""

import asyncio
from collections import deque
from dataclasses import dataclass, field

from adapters.gateway.frames import Frame, flag, text
from bridge.ids import Place, SessionId, TurnId
from bridge.phrases import short
from bridge.ports.runtime import Listener, Result
from bridge.turn import Failure, FailureKind

_DETAIL_CHARS = 4_000
PERSON_FIRST = "a person was first at the gateway; it waits"


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


def result_of(frame: Frame, job: Job | None, failure: Failure | None) -> Result:
    """How a gateway says that a turn has ended. `failure` is what the final text tells of, where it is no answer. It
    would say the same again and again: however long its texts are, they break nothing."""
    outcome, final = text(frame, "outcome"), frame.get("text")
    detail = short(str(frame.get("detail") or ""), _DETAIL_CHARS)
    if outcome == "completed":
        return Result(final if isinstance(final, str) else "", "end_turn", failure)
    if outcome == "interrupted":
        began_tools = flag(frame, "tools") or (job is not None and job.tools)
        stopped = flag(frame, "stopped") or (job is not None and job.own is not None)
        return cancelled() if stopped or began_tools else unbegun(PERSON_FIRST)
    if outcome == "failed":
        kind = frame.get("kind")
        known = FailureKind(kind) if kind in {each.value for each in FailureKind} else FailureKind.CRASH
        temporary = known in (FailureKind.RATE_LIMIT, FailureKind.CAPACITY, FailureKind.TIMEOUT, FailureKind.CRASH)
        return Result("", "failed", Failure(known, detail or "the gateway says no more", retryable=temporary))
    return lost(detail or "the gateway had ended in the middle of the turn")
