"""The listener of the loopback: off unless [web] is configured, and gone with the bridge."""

import asyncio
import logging
import socket
from contextlib import suppress

from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from adapters.api.app import create_app
from adapters.api.exchange import Exchange
from adapters.api.loopback import Loopback, ServeWeb, authorities
from bridge.errors import Code, Refused

log = logging.getLogger(__name__)

_GRACE_S = 0.5
_CONNECTIONS = 256
_SILENT = 128


class WebServer:
    """Listens from its making on, and serves from `serve()` until `close()`. Port 0 takes any free one; `address` tells
    which. Raises `Refused` where it cannot listen."""

    def __init__(self, exchange: Exchange, host: str, port: int, mcp: ServeWeb | None = None) -> None:
        self._exchange = exchange
        self._listener = _listen(host, port)
        taken, self._port = self._listener.getsockname()[:2]
        self._host = taken
        self._mcp = mcp
        self._state = ServerState()
        self._stopping = asyncio.Event()
        self._stopped = asyncio.Event()
        self._stopped.set()

    @property
    def address(self) -> str:
        shown = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{shown}:{self._port}"

    async def serve(self) -> None:
        """Runs until `close()` or until it is cancelled."""
        if self._stopping.is_set():
            return
        self._stopped.clear()
        app = Loopback(self._exchange, create_app(self._exchange), self._mcp, authorities(self._host, self._port))
        config = Config(
            app,
            http=H11Protocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=_CONNECTIONS,
        )
        config.load()
        every: dict[_Connection, None] = {}
        server = await asyncio.get_running_loop().create_server(
            lambda: _Connection(config, self._state, every), sock=self._listener
        )
        try:
            await self._stopping.wait()
        finally:
            server.close()
            await self._end_connections()
            self._stopped.set()

    async def close(self) -> None:
        """Ends `serve()` and waits for it. Safe to call twice, and before it."""
        self._stopping.set()
        await self._stopped.wait()
        self._listener.close()

    async def _end_connections(self) -> None:
        for connection in list(self._state.connections):
            connection.shutdown()
        if self._state.tasks:
            await asyncio.wait(set(self._state.tasks), timeout=_GRACE_S)
        for connection in list(self._state.connections):
            connection.transport.abort()
        for task in list(self._state.tasks):
            task.cancel()
        with suppress(ValueError):  # none is left
            await asyncio.wait(set(self._state.tasks), timeout=_GRACE_S)


class _Connection(H11Protocol):
    """Anybody on this machine can connect, and say nothing. Of connections without a request under way the oldest makes
    room where there are too many, so that they neither shut others out nor use up the bridge's files."""

    def __init__(self, config: Config, state: ServerState, every: "dict[_Connection, None]") -> None:
        super().__init__(config, state, {})
        self._every = every

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._every[self] = None
        silent = [one for one in self._every if one.silent]
        if len(silent) > _SILENT:
            silent[0].transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._every.pop(self, None)
        super().connection_lost(exc)

    @property
    def silent(self) -> bool:
        answered: bool = self.cycle is None or self.cycle.response_complete
        return answered and not self.transport.is_closing()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        remedy = "Choose another port in listen of [web] in tieline.toml, or end what has it."
        raise Refused(Code.UNAVAILABLE, f"{host}:{port} cannot be listened at: {error}", remedy=remedy) from error
    listener.setblocking(False)
    return listener
