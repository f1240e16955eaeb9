"""A gateway that is driven: its command as a process, what its people do, and a bridge's side of its link."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from adapters.gateway.frames import PROTOCOL, BadFrame, Frame, read, written

_TOKEN = "a-token-for-the-check"
_PATIENCE_S = 20.0
_QUIET_S = 1.0
"""So long nothing may come that must not come."""


class Wrong(Exception):
    """What the gateway does wrong."""


class Bench:
    """The command, and the link that it makes."""

    def __init__(self, home: Path, command: Sequence[str], environ: Mapping[str, str]) -> None:
        self._home = home
        self._command = command
        self._environ = {**environ, "TIELINE_HOME": str(home), "TIELINE_GATEWAY_TOKEN": _TOKEN}
        self._links: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._told: list[Frame] = []
        self._numbers = count(1)
        self.keys: list[str] = []

    async def start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *self._command, env=self._environ, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        await self.link()

    async def kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()
        self.cut()

    def cut(self) -> None:
        if self._writer is not None:
            self._writer.close()

    async def people(self, what: str, key: str) -> None:
        """They do it, and the gateway has seen it."""
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": what, "key": key}).encode() + b"\n")
        async with _patience(f"it does not say that it did {what!r}"):
            while (line := await self._process.stdout.readline()).strip() != json.dumps({"did": what}).encode():
                if not line:
                    raise Wrong("it has ended")

    async def took(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._links.put_nowait((reader, writer))

    async def link(self) -> None:
        """The next link that the gateway makes, up to its `ready`."""
        async with _patience("the gateway does not link itself"):
            self._reader, self._writer = await self._links.get()
            greeting = await self._reader.readline()
        if greeting != f"TIELINE-GATEWAY 1 {_TOKEN}\n".encode():
            raise Wrong(f"it greets with {greeting[:60]!r}")
        hello = await self.next("hello")
        if hello.get("protocol") != PROTOCOL:
            raise Wrong(f"it speaks the protocol {hello.get('protocol')!r}, and not {PROTOCOL}")
        self.say("welcome", protocol=PROTOCOL, name="check", version="check", beat_s=10)
        self.keys.clear()
        while (frame := await self.next())["type"] != "ready":
            if frame["type"] == "session":
                self.keys.append(str(frame["key"]))
                self.say("registered", key=frame["key"], session=f"default/session-{len(self.keys)}")
        if not self.keys:
            raise Wrong("it has no session before it is ready")

    def say(self, kind: str, /, **fields: Any) -> None:
        assert self._writer is not None
        self._writer.write(written(kind, **fields))

    async def next(self, *kinds: str, turn: str | None = None) -> Frame:
        """The next frame of these kinds and that turn; others are passed over, but pings answered."""
        wanted = " or ".join(kinds) or "frame"
        async with _patience(f"no {wanted} came"):
            while True:
                frame = await self._frame()
                if frame is None:
                    raise Wrong(f"it ends the link, where a {wanted} should come")
                if (not kinds or frame["type"] in kinds) and turn in (None, frame.get("turn")):
                    return frame

    async def never(self, kind: str, turn: str, why: str) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_QUIET_S):
                while (frame := await self._frame()) is not None:
                    if frame["type"] == kind and frame.get("turn") == turn:
                        raise Wrong(why)

    async def _frame(self) -> Frame | None:
        assert self._reader is not None
        try:
            line = await self._reader.readline()
            frame = read(line) if line else None
        except (ValueError, BadFrame, OSError) as error:
            raise Wrong(f"what it says is no frame: {error}") from None
        if frame is not None and frame["type"] == "ping":
            self.say("pong")
        return frame

    def work(self, epoch: int = 1, turn: str | None = None, key: str | None = None) -> str:
        turn = turn or f"turn-{next(self._numbers)}"
        notice = "[Tieline] This is a check. Answer with any word."
        self.say("work", key=key or self.keys[0], turn=turn, epoch=epoch, notice=notice)
        return turn

    async def ended(self, turn: str) -> Frame:
        end = await self.next("finished", turn=turn)
        self.say("ack", turn=turn, epoch=end["epoch"])
        return end


@contextlib.asynccontextmanager
async def _patience(why: str) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(_PATIENCE_S):
            yield
    except TimeoutError:
        raise Wrong(f"{why} within {_PATIENCE_S:g} s") from None
