"""The tools of the bridge that gateways call for their agents, each in a turn."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from adapters.gateway.frames import BadFrame, Frame, text
from adapters.gateway.hub import Hub
from adapters.gateway.link import Link
from bridge.errors import Code, Refused
from bridge.ids import SessionId, TurnId

CallTool = Callable[[SessionId, TurnId, str, Mapping[str, Any]], Awaitable[tuple[bool, Mapping[str, Any]]]]
"""Calls a tool of the bridge in a turn of a session: whether it did what was asked, and what it gave or why not."""

_CAUSE_S = 3.0
_KEPT = 256
_MOST = 64
"""So many calls may be under way at once."""


class Calls:
    """A call that is told again, after its answer was lost, is not carried out again, and has the same answer."""

    def __init__(self, hub: Hub, call: CallTool) -> None:
        self._hub = hub
        self._call = call
        self._answers: OrderedDict[tuple[str, str], asyncio.Task[Frame]] = OrderedDict()

    def begin(self, link: Link, frame: Frame) -> None:
        """Its result is sent once it is there."""
        ident, tool, turn = text(frame, "id"), text(frame, "tool", most=100), text(frame, "turn")
        arguments = frame.get("arguments") or {}
        if not isinstance(arguments, dict):
            raise BadFrame("call: arguments must be an object")
        answer = self._answers.get((link.name, ident))
        if answer is None:
            if sum(not one.done() for one in self._answers.values()) >= _MOST:
                busy = Refused(Code.BUSY, f"{_MOST} calls of gateways are under way")
                link.send("result", id=ident, ok=False, value={"error": busy.as_json()})
                return
            answer = asyncio.ensure_future(self._answer(link.name, turn, tool, arguments))
            self._answers[link.name, ident] = answer
            while len(self._answers) > _KEPT:
                self._answers.popitem(last=False)
        answer.add_done_callback(lambda done: done.cancelled() or link.send("result", id=ident, **done.result()))

    async def _answer(self, gateway: str, turn: str, tool: str, arguments: Frame) -> Frame:
        job = self._hub.job_called(gateway, turn)
        try:
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
