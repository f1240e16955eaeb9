"""A real control server around an exchange in memory, and a plain HTTP client for its socket."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from adapters.api.server import ControlServer, ServeStream
from adapters.api.who import DescentOf, of_none
from tests.adapters.api.memory_exchange import MemoryExchange


def socket_of(home: Path) -> Path:
    return home / "run" / "control.sock"


@asynccontextmanager
async def serving(
    exchange: MemoryExchange,
    home: Path,
    mcp: ServeStream | None = None,
    look_s: float = 5,
    descent_of: DescentOf = of_none,
) -> AsyncIterator[ControlServer]:
    server = ControlServer(exchange, socket_of(home), mcp, look_s, descent_of)
    async with asyncio.TaskGroup() as group:
        group.create_task(server.serve())
        await server.accepting.wait()
        try:
            yield server
        finally:
            await server.close()


async def http(
    home: Path, method: str, target: str, body: bytes | None = None, headers: dict[str, str] | None = None
) -> tuple[int, Any]:
    """One request; returns the status and the JSON of the answer."""
    fields = {"Host": "tieline", "Connection": "close", **(headers or {})}
    if body is not None:
        fields = {"Content-Type": "application/json", "Content-Length": str(len(body)), **fields}
    head = "".join([f"{method} {target} HTTP/1.1\r\n", *(f"{name}: {value}\r\n" for name, value in fields.items())])
    reader, writer = await asyncio.open_unix_connection(socket_of(home))
    try:
        writer.write(head.encode() + b"\r\n" + (body or b""))
        received = await reader.read()
    finally:
        writer.close()
    top, _, content = received.partition(b"\r\n\r\n")
    return int(top.split()[1]), json.loads(content)


async def post(home: Path, target: str, body: object, **headers: str) -> tuple[int, Any]:
    return await http(home, "POST", target, json.dumps(body).encode(), headers)
