"""Frames between the bridge and an agent: one JSON object a line."""

import asyncio
import json
import logging
import re
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

logger = logging.getLogger(__name__)

MAX_FRAME = 64 * 2**20
"""In bytes. A longer line is dropped."""
_HIGH = 8 * 2**20
_LOW = 2**20
_AT_ONCE = 100
"""How many useless lines in a row may keep everybody else waiting."""
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_WANTED = frozenset(
    {
        "agent_message_chunk",
        "agent_thought_chunk",
        "config_option_update",
        "current_mode_update",
        "session_info_update",
        "tool_call",
        "tool_call_update",
        "usage_update",
        "user_message_chunk",
    }
)


class Frames:
    """A transport for `acp`, which takes whatever an agent prints.

    Lines that are no frames are dropped, and so are updates of which Tieline makes no use, before they cost a
    validation. Reading is held while many bytes wait to be handled. `answered` is told what the agent answers, before
    `acp` takes from it what it knows.
    """

    def __init__(
        self,
        write: Callable[[bytes], Awaitable[None]],
        hold: Callable[[bool], None],
        answered: Callable[[dict[str, Any]], None] = lambda _: None,
    ) -> None:
        self._write = write
        self._hold = hold
        self._answered = answered
        self._chunks: deque[bytes] = deque()
        self._at = 0
        self._waiting = 0
        self._held = False
        self._partial: list[bytes] = []
        self._partial_size = 0
        self._ended = False
        self._arrived = asyncio.Event()
        self._dropped = 0

    def feed(self, data: bytes) -> None:
        self._chunks.append(data)
        self._waiting += len(data)
        self._pace()
        self._arrived.set()

    def end(self) -> None:
        self._ended = True
        self._arrived.set()

    async def receive(self) -> dict[str, Any] | None:
        """The next frame, or None after the last one."""
        useless = 0
        while True:
            while (line := self._line()) is not None:
                frame = _frame(line)
                if frame is None:
                    self._drop(line)
                elif _is_wanted(frame):
                    if isinstance(result := frame.get("result"), dict):
                        self._answered(result)
                    return frame
                useless += 1
                if useless % _AT_ONCE == 0:
                    await asyncio.sleep(0)
            if self._ended:
                return None
            self._arrived.clear()
            await self._arrived.wait()

    async def send(self, message: dict[str, Any]) -> None:
        """Raises `ConnectionError` where a request can no longer reach the agent; an answer is dropped then."""
        # What is wrong with a request is told with whatever was in it, which need not be JSON any more.
        data = json.dumps(message, separators=(",", ":"), default=str).encode() + b"\n"
        try:
            await self._write(data)
        except ConnectionError:
            if "method" in message:
                raise

    async def close(self) -> None:
        self.end()

    def _line(self) -> bytes | None:
        """The next whole line. Lines are parted as they are taken, so that whoever prints many holds up nobody."""
        while self._chunks:
            chunk, start = self._chunks[0], self._at
            end = chunk.find(b"\n", start)
            self._at = end + 1
            if end < 0 or self._at == len(chunk):
                self._chunks.popleft()
                self._waiting -= len(chunk)
                self._at = 0
                self._pace()
            self._extend(chunk[start:] if end < 0 else chunk[start:end])
            if end >= 0 and (line := self._whole()) is not None:
                return line
        return None

    def _extend(self, part: bytes) -> None:
        self._partial_size += len(part)
        if self._partial_size > MAX_FRAME:
            self._partial.clear()
        else:
            self._partial.append(part)

    def _whole(self) -> bytes | None:
        """What has been gathered as a line; None where it is too long."""
        line, size = b"".join(self._partial), self._partial_size
        self._partial.clear()
        self._partial_size = 0
        if size > MAX_FRAME:
            logger.warning("a line of %d bytes by an agent was dropped", size)
            return None
        return line

    def _pace(self) -> None:
        if self._held != (self._waiting > (_LOW if self._held else _HIGH)):
            self._held = not self._held
            self._hold(self._held)

    def _drop(self, line: bytes) -> None:
        if not line or line.isspace():
            return
        # Agents print banners; their text may hold anything and stays out of the log.
        self._dropped += 1
        if self._dropped == 1:
            logger.warning("an agent prints lines that are no ACP frames (the first one has %d bytes)", len(line))


def _frame(line: bytes) -> dict[str, Any] | None:
    """The JSON-RPC frame in a line, with whatever is no Unicode replaced."""
    text = line.decode("utf-8", "replace")
    try:
        frame = json.loads(text)
        if _SURROGATE.search(text):
            frame = json.loads(json.dumps(frame, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(frame, dict) or not isinstance(frame.get("id", 0), int | str):
        return None
    if "method" in frame:
        return frame if isinstance(frame["method"], str) else None
    if "id" not in frame or not isinstance(frame.get("error", {}), dict):
        return None
    return frame


def _is_wanted(frame: dict[str, Any]) -> bool:
    if frame.get("method") != "session/update":
        return True
    params = frame.get("params")
    update = params.get("update") if isinstance(params, dict) else None
    return isinstance(update, dict) and update.get("sessionUpdate") in _WANTED
