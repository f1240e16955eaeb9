"""Serving a gateway's link: who it is, and what becomes of each frame."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from adapters import sockets
from adapters.gateway.calls import Calls, CallTool
from adapters.gateway.chat import GatewayChat
from adapters.gateway.exchange import Exchange, FailureOf
from adapters.gateway.frames import PROTOCOL, BadFrame, Frame, maybe, number, text, texts, written
from adapters.gateway.hub import Hub
from adapters.gateway.job import Job, Seat, result_of
from adapters.gateway.link import BEAT_S, Link, farewell
from adapters.process import birth_of
from bridge.errors import Code, Refused
from bridge.gateway import place_of
from bridge.phrases import one_line
from bridge.ports.clock import Clock
from bridge.turn import Process

log = logging.getLogger(__name__)

_HELLO_S = 10.0
_TITLE_CHARS = 1_000
_BEGUN_MOST = 16
"""So many turns of a session's people may wait for the bridge to take them in."""
_SESSIONS_MOST = 1_000
_SEE = "See gateway-link.md."

Aside = Callable[[Coroutine[Any, Any, None]], object]
"""Begins what the next frame need not wait for."""


class GatewayServer:
    def __init__(
        self,
        hub: Hub,
        exchange: Exchange,
        call: CallTool,
        failure_of: FailureOf,
        clock: Clock,
        version: str,
    ) -> None:
        self._hub = hub
        self._exchange = exchange
        self._calls = Calls(hub, call)
        self._failure_of = failure_of
        self._clock = clock
        self._version = version
        self._chats: dict[str, GatewayChat] = {}
        exchange.gateways.attach(hub.standing, hub.drop)

    async def open(self) -> None:
        """Knows the places of all that are paired, so that what is to be shown there waits for them."""
        for name in await self._exchange.gateways.paired():
            self._chat(name)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: str) -> None:
        """Serves one connection until it ends."""
        try:
            name = await self._admitted(token)
        except Refused as refused:
            writer.write(written("refused", **_told(refused)))
            await farewell(reader, writer)
            return
        link = Link(name, reader, writer, self._clock, _process(writer))
        try:
            await self._greeted(link)
            self._make_room(link)
            self._hub.join(link)
            # Only what is linked is cut off once it is paired no more.
            await self._admitted(token)
            await self._linked(link)
        except BadFrame as bad:
            await self._turn_away(link, Refused(Code.INVALID_REQUEST, f"it breaks the protocol: {bad}", remedy=_SEE))
        except Refused as refused:
            await self._turn_away(link, refused)
        finally:
            self._left(link)
        await self._exchange.gateways.seen(name)

    async def _admitted(self, token: str) -> str:
        name = await self._exchange.gateways.admitted(token)
        if name is not None:
            return name
        refused = Refused(
            Code.NOT_PERMITTED,
            "the token of this link is unknown, or not accepted yet, or was revoked",
            remedy="An operator pairs a gateway with: tieline gateway pair NAME",
        )
        await self._exchange.gateways.turned_away("link a gateway", refused)
        raise refused

    def _make_room(self, link: Link) -> None:
        """Its own link of before gives way; that of another process does not, while this lives."""
        rival = self._hub.link(link.name)
        if rival is not None and _lives_elsewhere(rival.process, link.process):
            raise Refused(Code.BUSY, f"another process is linked as {link.name}", remedy="Let one of them end.")
        if rival is not None:
            self._left(rival)

    async def _greeted(self, link: Link) -> None:
        try:
            async with asyncio.timeout(_HELLO_S):
                hello = await link.receive()
        except TimeoutError:
            hello = None
        if hello is None or hello["type"] != "hello":
            raise BadFrame("a link begins with hello")
        link.software = one_line(maybe(hello, "software", most=200) or "") or None
        link.advice = tuple(one_line(one) for one in texts(hello, "advice"))
        spoken = number(hello, "protocol")
        if spoken != PROTOCOL:
            reason = f"it speaks the protocol {spoken}, and this bridge {PROTOCOL}"
            raise Refused(Code.INVALID_REQUEST, reason, remedy="Bring the older of them up to date.")
        if unfit := maybe(hello, "unfit", most=1_000):
            remedy = "Install what fits; the gateway tries again by itself."
            raise Refused(Code.INVALID_REQUEST, one_line(unfit), remedy=remedy)

    async def _linked(self, link: Link) -> None:
        log.info("the gateway %s is linked: %s", link.name, link.software or "no name")
        await self._exchange.gateways.seen(link.name)
        self._chat(link.name)
        link.send("welcome", protocol=PROTOCOL, name=link.name, version=self._version, beat_s=BEAT_S)
        async with asyncio.TaskGroup() as tasks:
            watch = tasks.create_task(link.watch())
            try:
                bad = await self._heard_all(link, lambda work: tasks.create_task(_logged(work)))
            finally:
                watch.cancel()
        if bad is not None:
            raise bad

    async def _heard_all(self, link: Link, aside: Aside) -> BadFrame | None:
        """Until the link ends. What breaks the protocol is returned, for a group of tasks would wrap it up."""
        try:
            while (frame := await link.receive()) is not None:
                await self._heard(link, frame, aside)
                await asyncio.sleep(0)  # Of what has come at once, each is read without a wait.
        except BadFrame as bad:
            return bad
        return None

    async def _turn_away(self, link: Link, refused: Refused) -> None:
        if refused.reason != self._hub.standing(link.name).trouble:  # It tries again and again.
            log.warning("the gateway %s is turned away: %s", link.name, refused.reason)
        if self._hub.link(link.name) in (None, link):
            self._hub.troubled(link.name, refused.reason)
        link.send("refused", **_told(refused))
        link.cut = True
        self._unlinked(link)
        await link.farewell()

    def _left(self, link: Link) -> None:
        link.close()
        self._unlinked(link)

    def _unlinked(self, link: Link) -> None:
        if self._hub.leave(link):
            log.info("the link of the gateway %s has ended", link.name)
            self._chat(link.name).gone()

    async def _heard(self, link: Link, frame: Frame, aside: Aside) -> None:
        match frame["type"]:
            case "ping":
                link.send("pong")
            case "pong":
                pass
            case "session":
                await self._session(link, frame)
            case "ready":
                for turn in self._hub.begin(link):
                    await self._exchange.gateways.returned(turn)
                await self._exchange.gateways.hint(link.name)
            case "gone" | "reset":
                seat = self._seat(link, frame)
                if seat is not None:
                    aside(self._changed(seat, gone=frame["type"] == "gone"))
            case "turn_begun":
                await self._begun(link, frame)
            case "finished" | "turn_ended":
                await self._finished(link, frame)
            case "accepted" | "started" | "tool" | "withdrawn" | "unknown":
                await self._hub.told(link, frame)
            case "posted" | "not_posted":
                self._chat(link.name).told(frame)
            case "call":
                self._calls.begin(link, frame)
            case other:
                raise BadFrame(f"there is no frame {other[:40]!r}")

    async def _session(self, link: Link, frame: Frame) -> None:
        key, title = text(frame, "key", most=200), text(frame, "title", most=_TITLE_CHARS)
        alias = maybe(frame, "alias", most=200)
        try:
            if self._hub.seat_of(link.name, key) is None and self._hub.seats(link.name) >= _SESSIONS_MOST:
                raise Refused(Code.TOO_LARGE, f"a gateway has at most {_SESSIONS_MOST} sessions")
            session = await self._exchange.gateways.register(link.name, key, title, alias)
        except Refused as refused:
            link.send("unregistered", key=key, **_told(refused))
            return
        self._hub.sit(Seat(link.name, key, session, place_of(link.name, key), alias or key))
        link.send("registered", key=key, session=session)

    async def _changed(self, seat: Seat, *, gone: bool) -> None:
        if not gone:
            await self._exchange.gateways.reset(seat.session)
            return
        self._hub.unseat(seat)
        await self._exchange.gateways.close(seat.session, "session_closed: its gateway has it no more")

    async def _begun(self, link: Link, frame: Frame) -> None:
        """People of a session have begun a turn there, or the gateway tells again of one that runs."""
        seat, own = self._seat(link, frame), text(frame, "turn")
        if seat is None or self._hub.goes_on(link.name, own, None):
            return
        if len(seat.begun) >= _BEGUN_MOST:
            raise BadFrame("a session has one turn at a time")
        job = Job(seat.session, link.name, own=own)
        self._hub.began(job)
        begun = await self._exchange.gateways.begun(seat.session, seat.place, own, maybe(frame, "person", most=100))
        if begun is None or begun.over or (begun.turn is not None and job in seat.begun):
            # Nothing will stand for it, or what an earlier bridge had of it does.
            if job in seat.begun:
                seat.begun.remove(job)
            if begun is not None and not begun.over:
                self._hub.goes_on(link.name, own, begun.turn)

    async def _finished(self, link: Link, frame: Frame) -> None:
        name = text(frame, "turn")
        job = self._hub.job_called(link.name, name)
        final = frame.get("text")
        failure = self._failure_of(final, self._clock.now()) if isinstance(final, str) else None
        result = result_of(frame, job, failure)
        if job is not None and frame.get("stopped") is True:
            # Stored before its end is, so that nothing begins in between.
            await self._exchange.gateways.stopped(job.session)
        self._hub.finished(link, frame, result)

    def _seat(self, link: Link, frame: Frame) -> Seat | None:
        return self._hub.seat_of(link.name, text(frame, "key", most=200))

    def _chat(self, name: str) -> GatewayChat:
        if name not in self._chats:
            self._chats[name] = GatewayChat(name, self._hub, self._clock.now)
            self._exchange.join(self._chats[name])
        return self._chats[name]


async def _logged(work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    except Refused as refused:
        log.warning("what a gateway told could not be done: %s", refused.reason)


def _told(refused: Refused) -> Frame:
    return {"code": refused.code.value, "reason": refused.reason, "remedy": refused.remedy}


def _process(writer: asyncio.StreamWriter) -> Process | None:
    connection = writer.get_extra_info("socket")
    told = sockets.peer_of(connection) if connection is not None else None
    birth = birth_of(told[0]) if told is not None else None
    return Process(told[0], birth) if told is not None and birth is not None else None


def _lives_elsewhere(rival: Process | None, own: Process | None) -> bool:
    return rival is not None and rival != own and birth_of(rival.pid) == rival.birth
