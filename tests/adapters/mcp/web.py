"""The loopback listener around an exchange, and the official client over it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from adapters.api.web import WebServer
from adapters.mcp.server import Web


@asynccontextmanager
async def listening(exchange: Any) -> AsyncIterator[str]:
    """Yields the address."""
    over_http = Web(exchange, "0.1.0")
    server = WebServer(exchange, "127.0.0.1", 0, over_http.serve)
    serving = asyncio.create_task(server.serve())
    try:
        yield server.address
    finally:
        await over_http.close()
        await server.close()
        await serving


@asynccontextmanager
async def client(address: str, token: str, mode: str = "auto", **more: Any) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=httpx2.Timeout(30, read=300)) as http,
        Client(streamable_http_client(f"{address}/mcp", http_client=http), mode=mode, **more) as one,
    ):
        yield one
