"""An agent as the bridge sees it: the official MCP client over the real `tieline mcp` process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

from adapters.mcp.server import serve
from tests.adapters.api.live import serving
from tests.adapters.api.memory_exchange import MemoryExchange
from tests.adapters.cli.shell import COMMAND, Shell


def pipe(home: Path, token: str | None) -> StdioServerParameters:
    command, *arguments = COMMAND
    environ = Shell(home).environment(**({"TIELINE_TOKEN": token} if token else {}))
    return StdioServerParameters(command=command, args=[*arguments, "mcp"], env=environ)


@asynccontextmanager
async def bridge(exchange: MemoryExchange, home: Path) -> AsyncIterator[Path]:
    async with serving(exchange, home, partial(serve, exchange=exchange, version="0.1.0")):
        yield home


@asynccontextmanager
async def agent(
    exchange: MemoryExchange, home: Path, token: str = "desk-token", mode: str = "auto", **more: Any
) -> AsyncIterator[Client]:
    async with bridge(exchange, home), Client(pipe(home, token), mode=mode, **more) as client:
        yield client
