"""One MCP connection over a pair of streams: the session that its token stands for, and the tools in its name."""

import asyncio
import contextlib

import mcp_types

from adapters.mcp.exchange import Exchange
from adapters.mcp.service import NOT_ADMITTED, Service, unknown_token
from adapters.mcp.stream import messages, write_error
from bridge.errors import Refused

FAREWELL_S = 2.0
"""So long whoever is not admitted, or not any more, is told so, before the connection ends."""


async def serve(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: str, exchange: Exchange, version: str
) -> None:
    """Serves until the client is gone, which ends its waits too, or its token has ended. An unknown token is told so
    and turned away."""
    if exchange.token_ended(token).is_set():
        refusal = unknown_token()
        await exchange.turned_away(None, "connect to the tools", refusal)
        await _turn_away(reader, writer, refusal)
        return
    server = Service(exchange, token, version).server
    with exchange.tools(token):
        async with messages(reader, writer) as (incoming, outgoing):
            running = asyncio.ensure_future(server.run(incoming, outgoing, server.create_initialization_options()))
            ending = asyncio.ensure_future(_farewell(exchange.token_ended(token)))
            try:
                await asyncio.wait({running, ending}, return_when=asyncio.FIRST_COMPLETED)
                if running.done():
                    running.result()
            finally:
                ending.cancel()
                running.cancel()
                await asyncio.wait({running})


async def _farewell(ended: asyncio.Event) -> None:
    await ended.wait()
    await asyncio.sleep(FAREWELL_S)


async def _turn_away(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, refusal: Refused) -> None:
    """Refuses whatever is asked for a moment: an error that carries no request's id would reach nobody."""
    text, data = f"{refusal.code}: {refusal.reason}", {"error": refusal.as_json()}
    with contextlib.suppress(TimeoutError, ValueError, ConnectionError):
        async with asyncio.timeout(FAREWELL_S):
            while line := await reader.readline():
                message = mcp_types.jsonrpc_message_adapter.validate_json(line)
                if isinstance(message, mcp_types.JSONRPCRequest):
                    write_error(writer, message.id, NOT_ADMITTED, text, data)
                    await writer.drain()
