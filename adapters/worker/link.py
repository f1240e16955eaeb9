"""Frames between a bridge and a worker: one JSON object a line over a stream socket."""

import asyncio
import json
import socket
from collections.abc import Mapping
from typing import Any

MAX_FRAME = 16 * 2**20
"""In bytes. What is longer ends the link: nothing that either side sends comes near it."""

Frame = dict[str, Any]


class Link:
    """Sending returns once there is room, and drops what nobody reads any more: the other end has gone then, and
    `receive` tells."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.open = True

    @classmethod
    async def over(cls, connection: socket.socket) -> "Link":
        return cls(*await asyncio.open_connection(sock=connection, limit=MAX_FRAME))

    async def send(self, frame: Mapping[str, Any]) -> None:
        if not self.open:
            return
        try:
            self._write(frame)
            await self._writer.drain()
        except ConnectionError:
            self.open = False

    async def receive(self) -> Frame | None:
        """The next frame, or None once the other end has gone, or sends what is no frame."""
        try:
            line = await self._reader.readline()
            frame = json.loads(line) if line.endswith(b"\n") else None
        except (ValueError, RecursionError, ConnectionError):
            frame = None
        if not isinstance(frame, dict):
            self.open = False
            return None
        return frame

    def close(self, last: Mapping[str, Any] | None = None) -> None:
        """`last` is sent, if that needs no waiting. Whoever waits to send goes on: to an end that reads nothing, what
        it has not taken by now is lost."""
        if last is not None and self.open:
            self._write(last)
        self.open = False
        self._writer.close()
        transport = self._writer.transport
        if transport.get_write_buffer_size() > 0:
            transport.abort()

    def _write(self, frame: Mapping[str, Any]) -> None:
        self._writer.write(json.dumps(frame, separators=(",", ":")).encode("utf-8", "replace") + b"\n")
