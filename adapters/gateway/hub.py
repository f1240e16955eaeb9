"""What the bridge knows of its gateways: who is linked, which sessions they have, and how the turns with them stand.

A turn's work has begun once the gateway says so. Until then it may be taken back, by the gateway's own word
(`withdrawn`) or where its link ends: what it had not begun by then it must not begin. After that the turn is waited
for, also while the gateway is away: only what it tells when it is back, or that it is not back in time, ends it.
"""

import asyncio
import logging
from collections.abc import Iterator

from adapters.gateway.frames import Frame, flag, number, text
from adapters.gateway.job import PERSON_FIRST, Job, Seat, cancelled, lost, unbegun
from adapters.gateway.link import Link
from bridge.gateway import Standing
from bridge.ids import SessionId, TurnId
from bridge.ports.runtime import Prompt, Result, ToolBegun, ToolEnded
from bridge.turn import Process

log = logging.getLogger(__name__)

_READING = frozenset({"peer_receive", "peer_sessions"})
_NATIVE_RETURN_S = 30.0
_GONE = "the gateway went away before it had begun with it"


class Hub:
    """`return_s` is how long a turn that a gateway has begun is waited for while it is away."""

    def __init__(self, return_s: float) -> None:
        self._return_s = return_s
        self._links: dict[str, Link] = {}
        self._seats: dict[SessionId, Seat] = {}
        self._jobs: dict[TurnId, Job] = {}
        self._timers: dict[Job, asyncio.TimerHandle] = {}
        self._came: dict[str, asyncio.Event] = {}
        self._troubles: dict[str, str] = {}

    # Links

    def standing(self, name: str) -> Standing:
        link = self.link(name)
        if link is None:
            return Standing(trouble=self._troubles.get(name))
        return Standing(link.ready, link.software, advice=link.advice)

    def troubled(self, name: str, why: str) -> None:
        """Why it cannot be linked, as far as is known, until it is."""
        self._troubles[name] = why

    def link(self, name: str) -> Link | None:
        link = self._links.get(name)
        return link if link is not None and not link.closed else None

    def linked(self, name: str) -> bool:
        """Whether it may be given work."""
        link = self.link(name)
        return link is not None and link.ready

    async def ready(self, name: str) -> Link:
        """Its link, once it is there and ready."""
        while not self.linked(name):
            event = self._came.setdefault(name, asyncio.Event())
            event.clear()
            await event.wait()
        return self._links[name]

    def join(self, link: Link) -> None:
        self._links[link.name] = link
        self._troubles.pop(link.name, None)

    def begin(self, link: Link) -> list[TurnId]:
        """The gateway has told of all that it has: it is asked how what was left with it stands. Returns what it is
        asked about."""
        link.ready, asked = True, []
        for job in self._of(link.name):
            if not job.away:
                continue
            if job.own is None and job.turn is not None:
                link.send("claim", turn=job.turn, epoch=job.epoch)
                asked.append(job.turn)
            else:
                # It has not named the turn of its people again, so there is none any more.
                self._back(job)
                job.end(cancelled())
        self._came.setdefault(link.name, asyncio.Event()).set()
        return asked

    def leave(self, link: Link) -> bool:
        """A link has ended. Where it was read to its end, the gateway has begun nothing but what it told; one that was
        cut had more to say, perhaps. False where another one has taken its place already."""
        if self._links.get(link.name) is not link:
            return False
        del self._links[link.name]
        for job in self._of(link.name):
            if job.own is None and not job.started and not link.cut:
                job.end(unbegun(_GONE))
            else:
                self._await_return(job)
        return True

    def drop(self, name: str) -> None:
        """Whoever is linked under that name may not be any more."""
        link = self._links.get(name)
        if link is not None:
            link.send("refused", code="not_permitted", reason="the gateway was paired anew, or removed")
            link.close()

    def processes(self) -> list[Process]:
        """The gateways that are linked."""
        return [link.process for link in self._links.values() if link.process is not None]

    def close(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        for link in list(self._links.values()):
            link.close()

    # Sessions

    def seat(self, session: SessionId) -> Seat | None:
        return self._seats.get(session)

    def seat_of(self, gateway: str, key: str) -> Seat | None:
        return next((one for one in self._seats.values() if (one.gateway, one.key) == (gateway, key)), None)

    def seats(self, gateway: str) -> int:
        return sum(seat.gateway == gateway for seat in self._seats.values())

    def sit(self, seat: Seat) -> None:
        earlier = self._seats.get(seat.session)
        if earlier is not None:
            seat.begun = earlier.begun
        self._seats[seat.session] = seat

    def unseat(self, seat: Seat) -> None:
        self._seats.pop(seat.session, None)

    # Turns, as the bridge has them

    def offer(self, job: Job, prompt: Prompt) -> str | None:
        """Sends a turn as work. Returns why it could not."""
        seat, link = self._seats.get(job.session), self.link(job.gateway)
        if seat is None or link is None or not link.ready:
            return "the gateway is away"
        if seat.begun:
            return PERSON_FIRST
        assert job.turn is not None
        if not link.send("work", key=seat.key, turn=job.turn, epoch=job.epoch, notice=prompt.notice):
            return "the gateway is away"
        self._jobs[job.turn] = job
        return None

    def expect(self, job: Job) -> None:
        """An earlier bridge has left it with the gateway."""
        assert job.turn is not None
        self._jobs[job.turn] = job
        self._await_return(job)

    def taken(self, session: SessionId) -> Job | None:
        """The turn that its people have begun, for a turn of the bridge's to stand for it."""
        seat = self._seats.get(session)
        return seat.begun.popleft() if seat is not None and seat.begun else None

    def enter(self, job: Job) -> None:
        assert job.turn is not None
        self._jobs[job.turn] = job

    def cancel(self, job: Job) -> None:
        link = self.link(job.gateway)
        job.cancelling = True
        if link is not None and job.turn is not None:
            link.send("cancel", turn=job.own or job.turn, epoch=job.epoch)
        elif link is None and not job.started:
            job.end(cancelled())

    def settled(self, job: Job) -> None:
        """Its end is stored, and need not be told again."""
        self._back(job)
        if job.turn is not None and self._jobs.get(job.turn) is job:
            del self._jobs[job.turn]
        link = self.link(job.gateway)
        if link is not None:
            link.send("ack", turn=job.own or job.turn, epoch=job.epoch)

    # Turns, as a gateway tells of them

    def job_called(self, gateway: str, name: str) -> Job | None:
        """By the bridge's name of the turn, or by the gateway's own."""
        for job in self._of(gateway):
            if name in (job.turn, job.own):
                return job
        return None

    def began(self, job: Job) -> None:
        """People of a session have begun a turn, so that what waits for it there makes way."""
        seat, link = self._seats.get(job.session), self.link(job.gateway)
        if seat is not None:
            seat.begun.append(job)
        for other in self._of(job.gateway):
            if other.session == job.session and other.own is None and not other.started and link is not None:
                link.send("withdraw", turn=other.turn, epoch=other.epoch)

    def goes_on(self, gateway: str, own: str, turn: TurnId | None) -> bool:
        """The gateway tells again of a turn of its people that runs. False where nothing stands for it here."""
        job = self.job_called(gateway, own) or (self._jobs.get(turn) if turn is not None else None)
        if job is None or job.over.done():
            return False
        job.own = own
        self._back(job)
        return True

    async def told(self, link: Link, frame: Frame) -> None:
        """What the gateway says of a turn. What names an older epoch, or a turn that is over, changes nothing."""
        name = text(frame, "turn")
        job = self.job_called(link.name, name)
        if job is None:
            if frame["type"] in ("accepted", "started"):
                link.send("cancel", turn=name, epoch=number(frame, "epoch"))
            return
        if job.over.done():
            return
        if job.own is None and number(frame, "epoch") != job.epoch:
            return
        self._back(job)
        match frame["type"]:
            case "started":
                job.started = True
                job.tools = job.tools or flag(frame, "tools")
            case "tool":
                await self._tool(job, frame)
            case "withdrawn":
                job.end(cancelled() if job.cancelling else unbegun(PERSON_FIRST))
            case "unknown":
                known = "the gateway does not know any more how far it came"
                job.end(lost(known) if job.started else unbegun(_GONE))

    async def _tool(self, job: Job, frame: Frame) -> None:
        name, ident = text(frame, "name", most=200), text(frame, "id")
        reading = name in _READING
        job.tools = job.tools or not reading
        if job.listener is None:
            return
        if flag(frame, "ended"):
            await job.listener.happened(ToolEnded(ident, not flag(frame, "failed"), name))
        else:
            await job.listener.happened(ToolBegun(ident, name, reading))

    def finished(self, link: Link, frame: Frame, result: Result) -> None:
        """Where nothing waits for it any more, its end has been stored, and the gateway may forget it."""
        job = self.job_called(link.name, text(frame, "turn"))
        if job is None:
            link.send("ack", turn=frame["turn"], epoch=frame.get("epoch", 0))
        elif job.own is not None or number(frame, "epoch") == job.epoch:
            self._back(job)
            if job.cancelling and not result.cancelled:
                result = cancelled()
            job.end(result)

    # While a gateway is away

    def _await_return(self, job: Job) -> None:
        self._back(job)
        job.away = True
        after = _NATIVE_RETURN_S if job.own is not None else self._return_s
        loop = asyncio.get_running_loop()
        self._timers[job] = loop.call_later(after, self._given_up, job)

    def _given_up(self, job: Job) -> None:
        self._timers.pop(job, None)
        job.end(cancelled() if job.own is not None else lost("the gateway went away, and did not come back in time"))

    def _back(self, job: Job) -> None:
        job.away = False
        timer = self._timers.pop(job, None)
        if timer is not None:
            timer.cancel()

    def _of(self, gateway: str) -> Iterator[Job]:
        yield from [job for job in self._jobs.values() if job.gateway == gateway]
        for seat in self._seats.values():
            if seat.gateway == gateway:
                yield from list(seat.begun)
