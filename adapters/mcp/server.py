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


async def _connection() -> Any:
    return await asyncio.to_thread(importlib.import_module, "adapters.mcp.connection")
