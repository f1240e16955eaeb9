"""`tieline gateway check COMMAND …`: a scripted bridge that drives a gateway through what the link asks of it.

The command is started with `TIELINE_HOME`, where the link is, and `TIELINE_GATEWAY_TOKEN`. It reads from its stdin what
people do, a JSON object a line: `{"do": "hold", "key": K}`, so that whatever begins in that session goes on until
`{"do": "go", "key": K}`; and `{"do": "person", "key": K}`, a person writes there. Once that is done it says so on its
stdout: `{"did": "hold"}`. It is killed and started again.
"""

import argparse
import asyncio
import contextlib
import json
import os
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from adapters.gateway.frames import MOST_BYTES, PROTOCOL, BadFrame, Frame, read, written

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


async def _idle(bench: Bench) -> None:
    turn = bench.work()
    await bench.next("accepted", turn=turn)
    await bench.next("started", turn=turn)
    end = await bench.ended(turn)
    if end.get("outcome") != "completed" or not isinstance(end.get("text"), str):
        raise Wrong(f"the turn ends as {end.get('outcome')!r}, without a text")


async def _twice(bench: Bench) -> None:
    await bench.people("hold", bench.keys[0])
    turn = bench.work()
    await bench.next("started", turn=turn)
    bench.work(turn=turn)
    await bench.next("started", turn=turn)
    await bench.people("go", bench.keys[0])
    await bench.next("finished", turn=turn)
    bench.work(turn=turn)
    end = await bench.ended(turn)
    if end.get("outcome") != "completed":
        raise Wrong("work that is told again does not end as it had ended")
    await bench.never("started", turn, "work that was acknowledged is begun again")


async def _stale(bench: Bench) -> None:
    await bench.people("hold", bench.keys[0])
    turn = bench.work(epoch=2)
    await bench.next("started", turn=turn)
    bench.say("cancel", turn=turn, epoch=1)
    await bench.never("finished", turn, "a cancel of an earlier epoch ends the turn")
    bench.say("claim", turn=turn, epoch=3)
    if (await bench.next("started", turn=turn)).get("epoch") != 3:
        raise Wrong("a turn that is claimed does not go on under the new epoch")
    await bench.people("go", bench.keys[0])
    end = await bench.ended(turn)
    if (end.get("outcome"), end.get("epoch")) != ("completed", 3):
        raise Wrong("a turn that is claimed does not end under the new epoch")


async def _person_first(bench: Bench) -> None:
    key = bench.keys[0]
    await bench.people("hold", key)
    await bench.people("person", key)
    own = await bench.next("turn_begun")
    turn = bench.work()
    await bench.next("accepted", turn=turn)
    await bench.never("started", turn, "work begins while a person has a turn there")
    bench.say("withdraw", turn=turn, epoch=1)
    await bench.next("withdrawn", turn=turn)
    again = bench.work()
    await bench.next("accepted", turn=again)
    await bench.people("go", key)
    end = await bench.next("turn_ended", turn=own["turn"])
    bench.say("ack", turn=own["turn"], epoch=0)
    if end.get("outcome") != "completed":
        raise Wrong(f"a person's turn ends as {end.get('outcome')!r}")
    await bench.next("started", turn=again)
    await bench.ended(again)
    await bench.never("started", turn, "work that was given back is begun")


async def _cancel(bench: Bench) -> None:
    await bench.people("hold", bench.keys[0])
    turn = bench.work()
    await bench.next("started", turn=turn)
    bench.say("cancel", turn=turn, epoch=1)
    end = await bench.ended(turn)
    await bench.people("go", bench.keys[0])
    if end.get("outcome") != "interrupted":
        raise Wrong(f"a turn that is stopped ends as {end.get('outcome')!r}")
    await _idle(bench)


async def _cut(bench: Bench) -> None:
    key = bench.keys[0]
    await bench.people("hold", key)
    await bench.people("person", key)
    own = await bench.next("turn_begun")
    turn = bench.work()
    await bench.next("accepted", turn=turn)
    bench.cut()
    await bench.link()
    bench.say("claim", turn=turn, epoch=2)
    await bench.next("unknown", turn=turn)
    await bench.people("go", key)
    await bench.next("turn_ended", turn=own["turn"])
    bench.say("ack", turn=own["turn"], epoch=0)
    await bench.never("started", turn, "work is begun that had not begun as its link ended")


async def _end_kept(bench: Bench) -> None:
    turn = bench.work()
    await bench.next("finished", turn=turn)
    await bench.kill()
    await bench.start()
    bench.say("claim", turn=turn, epoch=2)
    if (await bench.ended(turn)).get("outcome") != "completed":
        raise Wrong("what had ended before a restart is told otherwise after it")
    bench.say("claim", turn=turn, epoch=3)
    await bench.next("unknown", turn=turn)


async def _killed(bench: Bench) -> None:
    await bench.people("hold", bench.keys[0])
    turn = bench.work()
    await bench.next("started", turn=turn)
    await bench.kill()
    await bench.start()
    bench.say("claim", turn=turn, epoch=2)
    told = await bench.next("started", "finished", "unknown", turn=turn)
    if told["type"] == "unknown":
        raise Wrong("a turn that had begun is not known any more after a restart")
    end = told if told["type"] == "finished" else await bench.next("finished", turn=turn)
    bench.say("ack", turn=turn, epoch=2)
    if end.get("outcome") not in ("lost", "completed"):
        raise Wrong(f"a turn that was cut off ends as {end.get('outcome')!r}")


async def _posts(bench: Bench) -> None:
    shown = []
    for _ in range(2):
        bench.say("post", id="post-1", key=bench.keys[0], text="shown once", kind="notice", receipt=None)
        shown.append((await bench.next("posted")).get("receipt"))
    if shown[0] != shown[1]:
        raise Wrong("a post that is told again is shown twice, or has another receipt")


Scenes = Sequence[tuple[str, Callable[[Bench], Awaitable[None]]]]

SCENES: Scenes = (
    ("an idle session runs its work", _idle),
    ("work that is told twice runs once", _twice),
    ("an older epoch changes nothing, and a newer one goes on", _stale),
    ("a person is first, and work makes way", _person_first),
    ("a stop ends a turn, and the next one works", _cancel),
    ("the end of a link drops what has not begun", _cut),
    ("an end is kept over a restart until it is acknowledged", _end_kept),
    ("a turn that a restart cuts off is told of", _killed),
    ("a post is shown once", _posts),
)


async def checked(
    command: Sequence[str], environ: Mapping[str, str], say: Callable[[Frame], None], scenes: Scenes = SCENES
) -> bool:
    """Runs the scenes against the gateway, and says of each what was seen. False where anything was wrong."""
    well = True
    for name, scene in scenes:
        with tempfile.TemporaryDirectory(prefix="tieline-") as folder:
            home = Path(folder)
            (home / "run").mkdir()
            bench = Bench(home, command, environ)
            server = await asyncio.start_unix_server(
                bench.took, path=str(home / "run" / "control.sock"), limit=MOST_BYTES
            )
            wrong = None
            try:
                await bench.start()
                await scene(bench)
            except Wrong as found:
                wrong, well = str(found), False
            finally:
                server.close()
                await bench.kill()
            say({"scene": name, "ok": wrong is None, "wrong": wrong})
    return well


def check(options: argparse.Namespace) -> int:
    """The command. Exits with 70 where the gateway does anything wrong."""

    def say(seen: Frame) -> None:
        if options.json:
            print(json.dumps(seen), flush=True)
        else:
            print(f"ok     {seen['scene']}" if seen["ok"] else f"WRONG  {seen['scene']}: {seen['wrong']}", flush=True)

    return 0 if asyncio.run(checked(options.words, os.environ, say)) else 70
