"""MCP over HTTP: the package's own transport, once for each token that is used, so that no token reaches what another
has begun."""

import asyncio
import logging
from contextlib import suppress

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Receive, Scope, Send

from adapters.mcp.exchange import Exchange
from adapters.mcp.service import Service

log = logging.getLogger(__name__)

_SESSIONS = 16
_FAREWELL_S = 0.5
"""What waits when a token ends is told so, before its transport goes."""


class _Transport:
    """It takes requests once it is `ready`."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        self.manager = manager
        self.ready = asyncio.Event()
        self.task: asyncio.Task[None] | None = None


class Web:
    """`serve` answers one request in the name of a token that is known. What it has begun ends with that token, or with
    `close`."""

    def __init__(self, exchange: Exchange, version: str) -> None:
        self._exchange = exchange
        self._version = version
        self._transports: dict[str, _Transport] = {}

    async def serve(self, token: str, scope: Scope, receive: Receive, send: Send) -> None:
        transport = self._transports.get(token)
        if transport is None:
            service = Service(self._exchange, token, self._version)
            transport = _Transport(StreamableHTTPSessionManager(service.server, max_sessions=_SESSIONS))
            transport.task = asyncio.create_task(self._run(token, transport))
            self._transports[token] = transport
        await transport.ready.wait()
        await transport.manager.handle_request(scope, receive, send)

    async def close(self) -> None:
        tasks = [one.task for one in self._transports.values() if one.task is not None]
        for task in tasks:
            task.cancel()
        with suppress(ValueError):  # there is none
            await asyncio.wait(tasks)

    async def _run(self, token: str, transport: _Transport) -> None:
        try:
            async with transport.manager.run():
                transport.ready.set()
                await self._exchange.token_ended(token).wait()
                await asyncio.sleep(_FAREWELL_S)
        except Exception:
            # A task of its own: the next request begins another.
            log.exception("MCP over HTTP failed for one token")
        finally:
            transport.ready.set()
            self._transports.pop(token, None)
