"""One connection to the control socket: HTTP, or a stream where its first line says so: of MCP, or a gateway's link."""

import asyncio
from collections.abc import Callable
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from adapters.api.guard import MAX_BODY
from adapters.api.processes import peer_of

GREETING = b"TIELINE-MCP 1 "
"""An MCP client sends this, its capability token and a line feed before anything else."""

GATEWAY_GREETING = b"TIELINE-GATEWAY 1 "
"""The same of a gateway."""

_GREETINGS = (GREETING, GATEWAY_GREETING)

_LONGEST_GREETING = 1024

Stream = Callable[[bytes, asyncio.StreamReader, asyncio.StreamWriter, str], None]
"""Called with the greeting that a client began with, and its token."""


class ControlProtocol(H11Protocol):
    """Tells HTTP from MCP by the first bytes, and notes who connected as `peer` in the ASGI scope's state."""

    def __init__(self, config: Config, server_state: ServerState, state: dict[str, Any], stream: Stream) -> None:
        super().__init__(config, server_state, state)
        self._stream = stream
        self._first: bytes | None = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {**self.app_state, "peer": peer_of(transport.get_extra_info("socket"))}

    def data_received(self, data: bytes) -> None:
        if self._first is None:
            super().data_received(data)
            return
        self._first += data
        if not any(self._first.startswith(one) or one.startswith(self._first) for one in _GREETINGS):
            self._as_http(self._first)
        elif b"\n" in self._first:
            self._as_stream(*self._first.split(b"\n", 1))
        elif len(self._first) > _LONGEST_GREETING:
            self.transport.abort()

    def _as_http(self, first: bytes) -> None:
        self._first = None
        super().data_received(first)

    def _as_stream(self, greeting: bytes, rest: bytes) -> None:
        self.connections.discard(self)
        reader = asyncio.StreamReader(limit=MAX_BODY, loop=self.loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=self.loop)
        self.transport.set_protocol(protocol)
        protocol.connection_made(self.transport)
        if rest:
            reader.feed_data(rest)
        writer = asyncio.StreamWriter(self.transport, protocol, reader, self.loop)
        kind = next((one for one in _GREETINGS if greeting.startswith(one)), GREETING)
        self._stream(kind, reader, writer, greeting.removeprefix(kind).decode("ascii", "replace").strip())
