"""A small gateway for tests: topics in which people and the bridge have turns, one after the other.

What it keeps over a restart is in `Kept`, as a real one has it on its disk.
"""

import asyncio
import json
import socket
import subprocess
import sys
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

Frame = dict[str, Any]

_CONNECTS = """
import socket, sys
opened = socket.socket(socket.AF_UNIX)
opened.connect(sys.argv[1])
socket.send_fds(socket.socket(fileno=int(sys.argv[2])), [b"x"], [opened.fileno()])
opened.close()
sys.stdin.read()
"""


@dataclass
class Turn:
    """`own` turns are those of its people."""

    key: str
    name: str
    epoch: int = 0
    notice: str = ""
    own: bool = False
    state: str = "accepted"
    end: Frame | None = None
    task: "asyncio.Task[None] | None" = None

    def told(self, kind: str, **fields: Any) -> Frame:
        where = {"key": self.key} if self.own else {"epoch": self.epoch}
        return {"type": kind, "turn": self.name, **where, **fields}


@dataclass
class Kept:
    turns: dict[str, Turn] = field(default_factory=dict)
    posted: dict[str, str] = field(default_factory=dict)
    file: Path | None = None

    def save(self) -> None:
        if self.file is not None:
            begun = [one for one in self.turns.values() if not one.own and one.state != "accepted"]
            turns = [[one.key, one.name, one.epoch, one.end] for one in begun]
            self.file.write_text(json.dumps({"turns": turns, "posted": self.posted}))

    @classmethod
    def of(cls, file: Path) -> "Kept":
        """What an earlier process has left: what it had begun and not ended is lost."""
        kept = cls(file=file)
        found = json.loads(file.read_text()) if file.exists() else {"turns": [], "posted": {}}
        kept.posted = found["posted"]
        for key, name, epoch, end in found["turns"]:
            turn = kept.turns[name] = Turn(key, name, epoch, state="over")
            turn.end = end or turn.told("finished", outcome="lost")
        return kept


Model = Callable[["Gateway", Turn], Awaitable[str]]


class Stopped(Exception):
    """A person has stopped the turn."""


class Gateway:
    """`topics` are titles by key, and `models` what their agents do in a turn."""

    def __init__(
        self,
        home: Path,
        token: str,
        topics: dict[str, str],
        kept: Kept | None = None,
        hello: Frame | None = None,
    ) -> None:
        self.home = home
        self.token = token
        self.topics = topics
        self.models: dict[str, Model] = {}
        self.kept = kept or Kept()
        self.hello = {"type": "hello", "protocol": 1, "software": "reference", **(hello or {})}
        self.busy: dict[str, asyncio.Event] = {}
        self.heard: list[Frame] = []
        self.posts: list[Frame] = []
        self.sessions: dict[str, str] = {}
        self.started: list[str] = []
        self._changed = asyncio.Condition()
        self._answers: dict[str, asyncio.Future[Frame]] = {}
        self._queue: dict[str, list[Turn]] = defaultdict(list)
        self._door: subprocess.Popen[bytes] | None = None
        self._writer: asyncio.StreamWriter | None = None
        self.reading: asyncio.Task[None] | None = None
        self._ids = count(1)
        self._tasks: set[asyncio.Task[Any]] = set()

    # The link

    async def link(self) -> None:
        opened = await asyncio.to_thread(self._connect)
        reader, self._writer = await asyncio.open_unix_connection(sock=opened, limit=2**22)
        self._writer.write(f"TIELINE-GATEWAY 1 {self.token}\n".encode())
        self._send(self.hello)
        for key, title in self.topics.items():
            self._send({"type": "session", "key": key, "title": title, "alias": f"context-{key}"})
        for turn in self.kept.turns.values():
            if turn.own:
                self._send(turn.told("turn_begun"))
                if turn.end is not None:
                    self._send(turn.end)
        self._send({"type": "ready"})
        self.reading = asyncio.create_task(self._read(reader))

    def _connect(self) -> socket.socket:
        """By a process of its own, so that what the test itself starts is not taken for the gateway's."""
        ours, theirs = socket.socketpair()
        path = str(self.home / "run" / "control.sock")
        with ours, theirs:
            command = [sys.executable, "-c", _CONNECTS, path, str(theirs.fileno())]
            self._door = subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[theirs.fileno()])
            theirs.close()
            found = socket.recv_fds(ours, 1, 1)[1]
        if not found:
            raise ConnectionError(path)
        return socket.socket(fileno=found[0])

    async def linked(self) -> None:
        await self.link()
        await self.saw(lambda: len(self.sessions) == len(self.topics))

    async def unlink(self) -> None:
        """What has not begun is dropped with the link. It has read all by then: a link that is closed over something
        unread is cut, and nobody knows what it had still to say."""
        writer, self._writer = self._writer, None
        if writer is not None and not writer.is_closing():
            with suppress(OSError):
                writer.write_eof()
        await self._leave(writer)

    async def _leave(self, writer: asyncio.StreamWriter | None) -> None:
        if self.reading is not None:
            with suppress(asyncio.CancelledError):
                await self.reading
        if writer is not None:
            writer.close()
        if self._door is not None:
            self._door.communicate()

    async def die(self) -> None:
        """As if it were killed: no turn of its goes on."""
        for turn in self.kept.turns.values():
            if turn.task is not None:
                turn.task.cancel()
        if self._writer is not None:
            self._writer.close()
        await self._leave(self._writer)

    def _send(self, frame: Frame) -> bool:
        if self._writer is None or self._writer.is_closing():
            return False
        self._writer.write(json.dumps(frame).encode() + b"\n")
        return True

    send = _send

    async def _read(self, reader: asyncio.StreamReader) -> None:
        with suppress(OSError):
            while line := await reader.readline():
                frame = json.loads(line)
                self.heard.append(frame)
                self._act(frame)
                await self._note()
        for key, waiting in self._queue.items():
            for turn in waiting:
                if turn.state == "accepted":
                    self.kept.turns.pop(turn.name, None)
            self._queue[key] = [turn for turn in waiting if turn.state != "accepted"]

    async def _note(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def saw(self, held: Callable[[], object], timeout_s: float = 20) -> None:
        async with asyncio.timeout(timeout_s), self._changed:
            await self._changed.wait_for(lambda: bool(held()))

    async def got(self, kind: str, times: int = 1) -> Frame:
        """The newest frame of a kind, once there are that many."""
        await self.saw(lambda: sum(one["type"] == kind for one in self.heard) >= times)
        found: list[Frame] = [one for one in self.heard if one["type"] == kind]
        return found[times - 1]

    def _act(self, frame: Frame) -> None:
        kept = self.kept.turns
        match frame["type"]:
            case "registered":
                self.sessions[frame["key"]] = frame["session"]
            case "work":
                self._work(frame)
            case "claim":
                turn = kept.get(frame["turn"])
                if turn is None:
                    self._send({"type": "unknown", "turn": frame["turn"], "epoch": frame["epoch"]})
                else:
                    turn.epoch = max(turn.epoch, frame["epoch"])
                    self._send(turn.told("accepted" if turn.state == "accepted" else "started"))
                    if turn.end is not None:
                        self._send({**turn.end, "epoch": turn.epoch})
            case "withdraw" | "cancel":
                turn = kept.get(frame["turn"])
                if turn is None or frame["epoch"] < turn.epoch:
                    return
                if turn.state == "accepted":
                    del kept[turn.name]
                    self._queue[turn.key].remove(turn)
                    self._send(turn.told("withdrawn"))
                elif frame["type"] == "cancel" and turn.task is not None:
                    turn.task.cancel()
            case "ack":
                kept.pop(frame["turn"], None)
                self.kept.save()
            case "post":
                receipt = self.kept.posted.get(frame["id"])
                if receipt is None or frame["receipt"]:
                    self.posts.append(frame)
                receipt = self.kept.posted.setdefault(frame["id"], receipt or str(len(self.kept.posted) + 1))
                self.kept.save()
                self._send({"type": "posted", "id": frame["id"], "receipt": receipt})
            case "result":
                answer = self._answers.pop(frame["id"], None)
                if answer is not None and not answer.done():
                    answer.set_result(frame)
            case "ping":
                self._send({"type": "pong"})

    def _work(self, frame: Frame) -> None:
        known = self.kept.turns.get(frame["turn"])
        if known is not None and frame["epoch"] < known.epoch:
            return
        turn = known or Turn(frame["key"], frame["turn"], frame["epoch"], frame["notice"])
        turn.epoch = frame["epoch"]
        self.kept.turns[turn.name] = turn
        self._send(turn.told("accepted" if turn.state == "accepted" else "started"))
        if turn.end is not None:
            self._send({**turn.end, "epoch": turn.epoch})
        if known is None:
            self._queue[turn.key].append(turn)
            self.next(turn.key)

    # Topics

    def idle(self, key: str) -> bool:
        held = self.busy.get(key)
        running = any(turn.key == key and turn.state == "started" for turn in self.kept.turns.values())
        return not running and (held is None or held.is_set())

    def next(self, key: str) -> None:
        """Begins what waits in a topic, if it is idle and the bridge hears of it first."""
        if self._queue[key] and self.idle(key):
            turn = self._queue[key].pop(0)
            turn.state = "started"
            self.kept.save()
            if not self._send(turn.told("started")):
                self.kept.turns.pop(turn.name, None)
                return
            self.started.append(turn.name)
            turn.task = asyncio.create_task(self._run(turn))

    def person(self, key: str, model: Model) -> Turn:
        """A person writes in an idle topic."""
        turn = Turn(key, f"own-{next(self._ids)}", own=True, state="started")
        self.kept.turns[turn.name] = turn
        self._send(turn.told("turn_begun", person="7"))
        turn.task = asyncio.create_task(self._run(turn, model))
        return turn

    async def _run(self, turn: Turn, model: Model | None = None) -> None:
        end = "turn_ended" if turn.own else "finished"
        try:
            said = await (model or self.models[turn.key])(self, turn)
            turn.end = turn.told(end, outcome="completed", text=said)
        except Stopped:
            turn.end = turn.told(end, outcome="interrupted", stopped=True)
        except asyncio.CancelledError:
            turn.end = turn.told(end, outcome="interrupted", stopped=False)
        turn.state = "over"
        self.kept.save()
        self._send(turn.end)
        self.next(turn.key)

    # The tools

    async def call(self, turn: Turn, tool: str, **arguments: Any) -> Frame:
        ident = f"call-{next(self._ids)}"
        answer = self._answers[ident] = asyncio.get_running_loop().create_future()
        self._send({"type": "call", "id": ident, "turn": turn.name, "tool": tool, "arguments": arguments})
        async with asyncio.timeout(10):
            result: Frame = await answer
        return result

    async def mail(self, turn: Turn) -> list[Frame]:
        read = await self.call(turn, "peer_receive")
        assert read["ok"], read
        messages: list[Frame] = read["value"]["messages"]
        return messages


async def answers(gateway: Gateway, turn: Turn) -> str:
    """Reads its mail, and says what it had asked for."""
    mail = await gateway.mail(turn)
    return f"the answer to: {mail[0]['text']}" if mail else ""
