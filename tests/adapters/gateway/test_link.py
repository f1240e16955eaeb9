"""A gateway's link with the bridge's own core behind it: what breaks it, what it is cut for, and what it holds up."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import pytest

from adapters.gateway import server
from adapters.gateway.frames import MOST_BYTES
from adapters.gateway.hub import Hub
from adapters.gateway.runtime import WithGateways
from adapters.gateway.server import GatewayServer
from adapters.mcp import direct
from bridge.message import Origin
from bridge.views import GatewayView, SessionView
from tests.fakes.clock import ManualClock
from tests.fakes.runtime import FakeRuntime
from tests.flow.stage import Stage, person, stage

Json = dict[str, Any]
KEY = "topic"
HELLO: Json = {"type": "hello", "protocol": 1, "software": "test"}


class Wire:
    """One connection, as the gateway has it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, serving: asyncio.Task[None]) -> None:
        self._reader = reader
        self.writer = writer
        self.serving = serving

    def say(self, kind: str, /, **fields: Any) -> None:
        self.writer.write(json.dumps({"type": kind, **fields}).encode() + b"\n")

    async def hears(self, *kinds: str) -> Json:
        """The next frame of these kinds."""
        async with asyncio.timeout(20):
            while line := await self._reader.readline():
                frame: Json = json.loads(line)
                if frame["type"] in kinds:
                    return frame
        raise AssertionError(f"the link ended before {kinds}")

    async def ended(self) -> list[Json]:
        """What had still come, once the link has ended."""
        async with asyncio.timeout(20):
            came = [json.loads(line) async for line in self._reader]
            await self.serving
        return came

    def end(self) -> None:
        self.writer.close()


class Links:
    """A bridge to which gateways link themselves."""

    def __init__(self, on: Stage, hub: Hub) -> None:
        self.on = on
        self._server = GatewayServer(
            hub, on.exchange, partial(direct.call, on.exchange), lambda text, now: None, on.clock, "test"
        )
        self._open: list[Wire] = []
        self.token = ""

    async def pair(self) -> str:
        self.token = (await self.on.exchange.gateways.pair(await person(self.on), "hermes")).token
        return self.token

    async def connect(self, token: str | None = None) -> Wire:
        ours, theirs = socket.socketpair()
        reader, writer = await asyncio.open_unix_connection(sock=theirs, limit=MOST_BYTES)
        serving = asyncio.create_task(self._serve(reader, writer, token or self.token))
        wire = Wire(*await asyncio.open_unix_connection(sock=ours, limit=2 * MOST_BYTES), serving)
        self._open.append(wire)
        return wire

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: str) -> None:
        try:
            await self._server.serve(reader, writer, token)
        finally:
            writer.close()

    async def linked(self, **hello: Any) -> Wire:
        wire = await self.connect()
        wire.say(**{"kind": "hello"} | {k: v for k, v in (HELLO | hello).items() if k != "type"})
        await wire.hears("welcome")
        wire.say("session", key=KEY, title="Career")
        await wire.hears("registered")
        wire.say("ready")
        return wire

    async def close(self) -> None:
        for wire in self._open:
            wire.serving.cancel()
            with suppress(asyncio.CancelledError):
                await wire.serving

    async def view(self) -> GatewayView:
        (one,) = (await self.on.exchange.status(await person(self.on))).gateways
        return one

    async def session(self) -> SessionView:
        every = (await self.on.exchange.sessions(await person(self.on))).sessions
        return next(one for one in every if one.id == "default/career")


@asynccontextmanager
async def links() -> AsyncIterator[Links]:
    hub = Hub(900)
    runtime = WithGateways(FakeRuntime(), hub)
    async with stage(runtime=runtime, confirm_in_chat=False, present=runtime.present) as on:  # type: ignore[arg-type]
        one = Links(on, hub)
        await one.pair()
        try:
            yield one
        finally:
            await one.close()
            hub.close()
