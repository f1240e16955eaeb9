"""Entry of the MCP server. The `mcp` package takes long to import, so it is loaded when it is first needed."""

import asyncio
import importlib
from typing import Any

from adapters.mcp.exchange import Exchange


async def preload() -> None:
    """Imports what a connection needs, in a thread, so that the first one need not wait for it."""
    await _connection()


async def serve(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: str, exchange: Exchange, version: str = ""
) -> None:
    """Serves one connection, in the name of the session that `token` stands for, until either side ends it."""
    connection = await _connection()
    await connection.serve(reader, writer, token, exchange, version)


class Web:
    """MCP over HTTP, for `adapters.api`: nothing of it is there before the first request."""

    def __init__(self, exchange: Exchange, version: str = "") -> None:
        self._exchange = exchange
        self._version = version
        self._web: Any = None

    async def serve(self, token: str, scope: Any, receive: Any, send: Any) -> None:
        """Answers one request in the name of the session that `token`, which is known, stands for."""
        web = await asyncio.to_thread(importlib.import_module, "adapters.mcp.web")
        if self._web is None:
            self._web = web.Web(self._exchange, self._version)
        await self._web.serve(token, scope, receive, send)

    async def close(self) -> None:
        if self._web is not None:
            await self._web.close()


async def _connection() -> Any:
    return await asyncio.to_thread(importlib.import_module, "adapters.mcp.connection")
