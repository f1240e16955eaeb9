"""Serving a gateway's link: who it is, and what becomes of each frame."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import Any

from adapters import sockets
from adapters.gateway.chat import GatewayChat
from adapters.gateway.exchange import CallTool, Exchange, FailureOf
from adapters.gateway.frames import PROTOCOL, BadFrame, Frame, maybe, number, text, written
from adapters.gateway.hub import Hub, result_of
from adapters.gateway.job import Job, Seat
from adapters.gateway.link import BEAT_S, Link
from adapters.process import birth_of
from bridge.errors import Code, Refused
from bridge.gateway import place_of
from bridge.turn import Process

log = logging.getLogger(__name__)

_HELLO_S = 10.0
_CAUSE_S = 3.0
_TITLE_CHARS = 1_000
_CALLS_KEPT = 256


class GatewayServer:
    """`now` is the time of the clock that posts and failures are dated by."""

    def __init__(
        self,
        hub: Hub,
        exchange: Exchange,
        call: CallTool,
        failure_of: FailureOf,
        now: Callable[[], float],
        version: str,
    ) -> None:
        self._hub = hub
        self._exchange = exchange
        self._call = call
        self._failure_of = failure_of
        self._now = now
        self._version = version
        self._chats: dict[str, GatewayChat] = {}
        self._answers: OrderedDict[tuple[str, str], asyncio.Task[Frame]] = OrderedDict()
        exchange.gateways.attach(hub.linked, hub.drop)

    async def open(self) -> None:
        """Knows the places of all that are paired, so that what is to be shown there waits for them."""
        for name in await self._exchange.gateways.paired():
            self._chat(name)

    def processes(self) -> list[int]:
        """The gateways that are linked, by pid: what comes of them is no person."""
        return [process.pid for process in self._hub.processes()]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: str) -> None:
        """Serves one connection until it ends."""
        name = await self._exchange.gateways.admitted(token)
        if name is None:
            refused = Refused(
                Code.NOT_PERMITTED,
                "the token of this link is unknown, or not accepted yet, or was revoked",
                remedy="An operator pairs a gateway with: tieline gateway pair NAME",
            )
            await self._exchange.gateways.turned_away("link a gateway", refused)
            _refuse(writer, refused)
            return
        process = _process(writer)
        rival = self._hub.link(name)
        if rival is not None and _lives_elsewhere(rival.process, process):
            _refuse(writer, Refused(Code.BUSY, f"another process is linked as {name}"))
            return
        if rival is not None:
            rival.close()
            self._hub.leave(rival)
        link = Link(name, reader, writer, process)
        try:
            await self._serve(link)
        except BadFrame as bad:
            log.warning("the gateway %s breaks the protocol, and its link is cut: %s", name, bad)
            link.send("refused", code=Code.INVALID_REQUEST.value, reason=str(bad), remedy="See gateway-link.md.")
        finally:
            log.info("the link of the gateway %s has ended", name)
            self._hub.leave(link)
            self._chat(name).gone()
            link.close()

    async def _serve(self, link: Link) -> None:
        async with asyncio.timeout(_HELLO_S):
            hello = await link.receive()
        if hello is None:
            return
        if hello["type"] != "hello" or number(hello, "protocol") != PROTOCOL:
            raise BadFrame(f"a link begins with hello of protocol {PROTOCOL}")
        log.info("the gateway %s is linked: %s", link.name, maybe(hello, "software", most=200) or "no name")
        self._chat(link.name)
        self._hub.join(link)
        link.send("welcome", protocol=PROTOCOL, name=link.name, version=self._version, beat_s=BEAT_S)
        async with asyncio.TaskGroup() as tasks:
            beside = [tasks.create_task(link.watch())]

            def aside(work: Coroutine[Any, Any, None]) -> None:
                beside.append(tasks.create_task(_guarded(work)))
                beside[:] = [task for task in beside if not task.done()]

            while (frame := await link.receive()) is not None:
                await self._heard(link, frame, aside)
            for task in beside:
                task.cancel()

    async def _heard(self, link: Link, frame: Frame, aside: Callable[[Coroutine[Any, Any, None]], None]) -> None:
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
                aside(self._changed(link, frame))
            case "turn_begun":
                await self._begun(link, frame)
            case "finished" | "turn_ended":
                await self._finished(link, frame)
            case "accepted" | "started" | "tool" | "withdrawn" | "unknown":
                await self._hub.told(link, frame)
            case "posted" | "not_posted":
                self._chat(link.name).told(frame)
            case "call":
                aside(self._called(link, frame))
            case other:
                raise BadFrame(f"there is no frame {other[:40]!r}")

    async def _session(self, link: Link, frame: Frame) -> None:
        key, title = text(frame, "key", most=200), text(frame, "title", most=_TITLE_CHARS)
        alias = maybe(frame, "alias", most=200)
        try:
            session = await self._exchange.gateways.register(link.name, key, title, alias)
        except Refused as refused:
            link.send("unregistered", key=key, code=refused.code.value, reason=refused.reason, remedy=refused.remedy)
            return
        self._hub.sit(Seat(link.name, key, session, place_of(link.name, key), alias or key))
        link.send("registered", key=key, session=session)

    async def _changed(self, link: Link, frame: Frame) -> None:
        seat = self._seat(link, frame)
        if seat is None:
            return
        if frame["type"] == "reset":
            await self._exchange.gateways.reset(seat.session)
        else:
            self._hub.unseat(seat)
            await self._exchange.gateways.close(seat.session, "session_closed: its gateway has it no more")

    async def _begun(self, link: Link, frame: Frame) -> None:
        """People of a session have begun a turn there, or the gateway tells again of one that runs."""
        seat, own = self._seat(link, frame), text(frame, "turn")
        if seat is None or self._hub.goes_on(link.name, own, None):
            return
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
        failure = self._failure_of(final, self._now()) if isinstance(final, str) else None
        result = result_of(frame, job, failure)
        if job is not None and frame.get("stopped") is True:
            # Stored before its end is, so that nothing begins in between.
            await self._exchange.gateways.stopped(job.session)
        self._hub.finished(link, frame, result)

    async def _called(self, link: Link, frame: Frame) -> None:
        """A tool is called in a turn. The same call told again, after its answer was lost, has the same answer."""
        ident = text(frame, "id")
        known = self._answers.get((link.name, ident))
        if known is None:
            known = asyncio.ensure_future(self._answer(link.name, frame))
            self._answers[link.name, ident] = known
            while len(self._answers) > _CALLS_KEPT:
                self._answers.popitem(last=False)
        link.send("result", id=ident, **await asyncio.shield(known))

    async def _answer(self, gateway: str, frame: Frame) -> Frame:
        tool, turn = text(frame, "tool", most=100), text(frame, "turn")
        arguments = frame.get("arguments") or {}
        job = self._hub.job_called(gateway, turn)
        try:
            if not isinstance(arguments, dict):
                raise Refused(Code.INVALID_REQUEST, "the arguments of a tool are an object")
            if job is None or job.over.done():
                raise Refused(Code.STALE_EPOCH, "the turn that calls is over, or is not known here")
            async with asyncio.timeout(_CAUSE_S):
                await job.entered.wait()
            assert job.turn is not None
            ok, value = await self._call(job.session, job.turn, tool, arguments)
        except TimeoutError:
            ok, value = False, {"error": Refused(Code.UNAVAILABLE, "the turn has not come to the bridge").as_json()}
        except Refused as refused:
            ok, value = False, {"error": refused.as_json()}
        return {"ok": ok, "value": dict(value)}

    def _seat(self, link: Link, frame: Frame) -> Seat | None:
        return self._hub.seat_of(link.name, text(frame, "key", most=200))

    def _chat(self, name: str) -> GatewayChat:
        if name not in self._chats:
            self._chats[name] = GatewayChat(name, self._hub, self._now)
            self._exchange.join(self._chats[name])
        return self._chats[name]


async def _guarded(work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    except BadFrame as bad:
        log.warning("a gateway breaks the protocol: %s", bad)
    except Refused as refused:
        log.warning("what a gateway told could not be done: %s", refused.reason)


def _refuse(writer: asyncio.StreamWriter, refused: Refused) -> None:
    told = {"code": refused.code.value, "reason": refused.reason, "remedy": refused.remedy}
    writer.write(written("refused", **told))


def _process(writer: asyncio.StreamWriter) -> Process | None:
    connection = writer.get_extra_info("socket")
    told = sockets.peer_of(connection) if connection is not None else None
    birth = birth_of(told[0]) if told is not None else None
    return Process(told[0], birth) if told is not None and birth is not None else None


def _lives_elsewhere(rival: Process | None, own: Process | None) -> bool:
    return rival is not None and rival != own and birth_of(rival.pid) == rival.birth
