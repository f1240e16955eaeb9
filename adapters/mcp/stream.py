"""JSON-RPC lines over a byte stream, as the MCP server wants them: two streams of messages."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

_UNREADABLE = "this line is no JSON-RPC message, or its text is not valid Unicode"

Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]


@asynccontextmanager
async def messages(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Ends the incoming stream when the other side is gone, or sends a line that is longer than the reader takes.

    A line that is no JSON-RPC message, or holds half of a surrogate pair, is answered as such and skipped.
    """
    into, incoming = anyio.create_memory_object_stream[SessionMessage | Exception]()
    outgoing, out_of = anyio.create_memory_object_stream[SessionMessage]()

    async def read() -> None:
        async with into:
            while line := await _line(reader):
                try:
                    message = mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValidationError:
                    write_error(writer, _asked_by(line), mcp_types.PARSE_ERROR, _UNREADABLE)
                    await writer.drain()
                    continue
                await into.send(SessionMessage(message))

    async def write() -> None:
        async with out_of:
            async for item in out_of:
                writer.write(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
                await writer.drain()

    async def until_gone(copy: Any) -> None:
        try:
            await copy()
        except (ConnectionError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await into.aclose()

    async with anyio.create_task_group() as group:
        group.start_soon(until_gone, read)
        group.start_soon(until_gone, write)
        yield incoming, outgoing
        group.cancel_scope.cancel()


async def _line(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readline()
    except ValueError:  # longer than the reader's limit
        return b""


def _asked_by(line: bytes) -> str | int | None:
    """The id of a request that cannot be read as a whole, so that whoever sent it does not wait for ever."""
    try:
        ident = json.loads(line)["id"]
    except (ValueError, TypeError, LookupError, RecursionError):
        return None
    return ident if isinstance(ident, str | int) else None


def write_error(writer: asyncio.StreamWriter, ident: str | int | None, code: int, text: str, data: Any = None) -> None:
    error = {"code": code, "message": text} | ({} if data is None else {"data": data})
    writer.write(json.dumps({"jsonrpc": "2.0", "id": ident, "error": error}).encode() + b"\n")
