"""The control server: the API, the MCP streams and the links of gateways on one unix socket."""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from uvicorn.config import Config
from uvicorn.server import ServerState

from adapters.api.app import create_app
from adapters.api.exchange import Exchange
from adapters.api.listener import SocketTaken, listen, remove
from adapters.api.protocol import GATEWAY_GREETING, ControlProtocol
from adapters.api.who import DescentOf, of_none
from bridge.errors import Code, Refused

log = logging.getLogger(__name__)

ServeStream = Callable[[asyncio.StreamReader, asyncio.StreamWriter, str], Awaitable[None]]

_GRACE_S = 0.5


class ControlServer:
    """Serves from `serve()` until `close()`. `accepting` is set once clients can connect. Every `look_s` seconds it
    looks whether its socket is still there, and makes it again where somebody has removed it. `descent_of` tells
    where a process comes from above which no agent is known."""

    def __init__(
        self,
        exchange: Exchange,
        socket_path: Path,
        mcp: ServeStream | None = None,
        look_s: float = 5,
        descent_of: DescentOf = of_none,
        gateway: ServeStream | None = None,
    ) -> None:
        self.accepting = asyncio.Event()
        self._path = socket_path
        self._mcp = mcp
        self._gateway = gateway
        self._look_s = look_s
        self._app = create_app(exchange, descent_of)
        self._state = ServerState()
        self._streams: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()
        self._stopped = asyncio.Event()
        self._stopped.set()

    async def serve(self) -> None:
        """Runs until `close()` or until it is cancelled. Raises `SocketTaken` or `Refused` at the start.

        Requests that are being answered get half a second to end; waits are cut off, and what they waited
        for stays as it is.
        """
        config = Config(self._app, http=ControlProtocol, ws="none", lifespan="off", log_config=None, access_log=False)
        config.load()
        self._stopped.clear()
        try:
            if self._stopping.is_set():
                return
            await self._serve_socket(config)
            while not self._stopping.is_set():
                try:
                    await self._serve_socket(config)
                except (SocketTaken, Refused) as error:
                    log.error("It could not be made again: %s", error)
                    await self._stops_within(self._look_s)
        finally:
            await self._end_connections()
            self._stopped.set()

    async def _serve_socket(self, config: Config) -> None:
        """Accepts until it is told to stop, or the socket is lost."""
        listener = self._listen()
        inode = self._path.stat().st_ino
        server = await asyncio.get_running_loop().create_unix_server(
            lambda: ControlProtocol(config, self._state, {}, self._begin_stream), sock=listener
        )
        try:
            self.accepting.set()
            while not await self._stops_within(self._look_s):
                if self._is_lost(inode):
                    log.error("%s was removed, and is made again", self._path)
                    return
        finally:
            self.accepting.clear()
            remove(self._path, inode)
            server.close()

    async def _stops_within(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        return self._stopping.is_set()

    def _is_lost(self, inode: int) -> bool:
        """A home that is gone as a whole is not made again at its old place."""
        try:
            return self._path.stat().st_ino != inode
        except OSError:
            return self._path.parent.parent.is_dir()

    def _listen(self) -> socket.socket:
        try:
            return listen(self._path)
        except OSError as error:
            remedy = f"Look at what is in the way in {self._path.parent}, and at who owns it."
            raise Refused(Code.UNAVAILABLE, f"{self._path} cannot be made: {error}", remedy=remedy) from error

    async def close(self) -> None:
        """Ends `serve()` and waits for it. Safe to call twice, and before it."""
        self._stopping.set()
        await self._stopped.wait()

    def _begin_stream(
        self, greeting: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: str
    ) -> None:
        serve = self._gateway if greeting == GATEWAY_GREETING else self._mcp
        stream = asyncio.create_task(self._serve_stream(serve, reader, writer, token))
        self._streams.add(stream)
        stream.add_done_callback(self._streams.discard)

    async def _serve_stream(
        self, serve: ServeStream | None, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: str
    ) -> None:
        try:
            if serve is not None:
                await serve(reader, writer, token)
        except Exception:  # the boundary of one connection
            log.exception("a connection failed")
        finally:
            writer.close()

    async def _end_connections(self) -> None:
        for connection in list(self._state.connections):
            connection.shutdown()
        for stream in list(self._streams):
            stream.cancel()
        tasks = self._state.tasks | self._streams
        if tasks:
            await asyncio.wait(tasks, timeout=_GRACE_S)
        for connection in list(self._state.connections):
            connection.transport.abort()
        if self._state.tasks:
            await asyncio.wait(set(self._state.tasks), timeout=_GRACE_S)
