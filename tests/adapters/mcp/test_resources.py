"""What a client may look at, and how it hears of changes: over both transports, by both generations of the protocol."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from bridge.session import Kind
from tests.adapters.api.memory_exchange import CAREER, DESK, MemoryExchange
from tests.adapters.mcp.agent import agent
from tests.adapters.mcp.web import client, listening

TRANSPORTS = pytest.mark.parametrize("transport", ["stdio", "http"])
MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])
pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
INBOX, SESSIONS = "tieline://inbox", "tieline://sessions"


@asynccontextmanager
async def connected(
    exchange: MemoryExchange, home: Path, transport: str, mode: str = "auto", **more: Any
) -> AsyncIterator[Client]:
    if transport == "stdio":
        async with agent(exchange, home, mode=mode, **more) as one:
            yield one
    else:
        async with listening(exchange) as address, client(address, "desk-token", mode, **more) as one:
            yield one


async def read(of: Client, uri: str) -> Any:
    (content,) = (await of.read_resource(uri)).contents
    assert isinstance(content, mcp_types.TextResourceContents)
    return json.loads(content.text)


class Told:
    """The updates that a client of the older protocol is told of."""

    def __init__(self) -> None:
        self.uris: asyncio.Queue[str] = asyncio.Queue()

    async def __call__(self, message: Any) -> None:
        if isinstance(message, mcp_types.ResourceUpdatedNotification):
            self.uris.put_nowait(str(message.params.uri))


@MODES
@TRANSPORTS
async def test_the_inbox_shows_what_waits_without_its_texts(
    tmp_path: Path, exchange: MemoryExchange, transport: str, mode: str
) -> None:
    await exchange.arrive(DESK, "the secret text")
    await exchange.arrive(CAREER, "for career")
    async with connected(exchange, tmp_path, transport, mode) as desk:
        listed = [str(one.uri) for one in (await desk.list_resources()).resources]
        inbox = await read(desk, INBOX)
        sessions = await read(desk, SESSIONS)
    assert listed == [INBOX, SESSIONS]
    assert inbox["waiting"] == 1
    assert inbox["messages"] == [
        {
            "message_id": "in1",
            "from": "default/desk",
            "intent": "request",
            "origin": "peer",
            "state": "queued",
            "in_reply_to": None,
            "conversation_id": "c9",
            "accepted_at": "2026-09-21T14:13:20.500Z",
        }
    ]
    assert "secret" not in str(inbox)
    assert [one["id"] for one in sessions["sessions"]] == sorted(exchange.kinds)


@TRANSPORTS
async def test_a_subscriber_of_the_older_protocol_hears_of_mail(
    tmp_path: Path, exchange: MemoryExchange, transport: str
) -> None:
    told = Told()
    async with connected(exchange, tmp_path, transport, "legacy", message_handler=told) as desk:
        await desk.subscribe_resource(INBOX)
        await exchange.arrive(DESK, "one")
        assert await told.uris.get() == INBOX
        await exchange.arrive(CAREER, "for another")
        await exchange.arrive(DESK, "two")
        assert await told.uris.get() == INBOX
        await desk.unsubscribe_resource(INBOX)
        await exchange.arrive(DESK, "three")
        await desk.call_tool("peer_receive", {})
        assert told.uris.empty()


@TRANSPORTS
async def test_a_listener_of_the_newer_protocol_hears_of_mail_until_its_token_ends(
    tmp_path: Path, exchange: MemoryExchange, transport: str
) -> None:
    async with (
        connected(exchange, tmp_path, transport) as desk,
        desk.listen(resource_subscriptions=[INBOX]) as stream,
    ):
        await exchange.arrive(DESK, "one")
        event = await anext(stream)
        exchange.revoke("desk-token")
        with pytest.raises(StopAsyncIteration):
            await anext(stream)
    assert getattr(event, "uri", None) == INBOX


@TRANSPORTS
async def test_a_subscriber_hears_that_a_session_has_changed(
    tmp_path: Path, exchange: MemoryExchange, transport: str
) -> None:
    async with (
        connected(exchange, tmp_path, transport) as desk,
        desk.listen(resource_subscriptions=[SESSIONS]) as stream,
    ):
        exchange.kinds[type(DESK)("default/more")] = Kind.SHELL
        exchange.moved.set()
        event = await anext(stream)
    assert getattr(event, "uri", None) == SESSIONS


@TRANSPORTS
async def test_no_other_resource_is_there(tmp_path: Path, exchange: MemoryExchange, transport: str) -> None:
    async with connected(exchange, tmp_path, transport, "legacy") as desk:
        with pytest.raises(MCPError, match="there is no resource"):
            await desk.read_resource("tieline://inbox/default/career")
        with pytest.raises(MCPError, match="there is no resource"):
            await desk.subscribe_resource("tieline://nothing")


@MODES
@TRANSPORTS
async def test_a_call_that_waits_tells_how_long_it_has_waited(
    tmp_path: Path, exchange: MemoryExchange, transport: str, mode: str
) -> None:
    heard: asyncio.Queue[float] = asyncio.Queue()

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        heard.put_nowait(progress)

    async with connected(exchange, tmp_path, transport, mode) as desk:
        call = desk.call_tool("peer_ask", {"to": "career", "text": "?", "timeout_s": 600}, progress_callback=progress)
        asking = asyncio.create_task(call)
        assert await heard.get() < 1
        await exchange.asked.wait()
        exchange.revoke("desk-token")
        result: Any = await asking
    assert result.structured_content["error"]["code"] == "not_permitted"
    assert exchange.abandoned.is_set()


async def test_nothing_runs_for_a_client_that_has_gone(exchange: MemoryExchange) -> None:
    async with listening(exchange) as address:
        async with client(address, "desk-token", "legacy") as desk:
            await desk.subscribe_resource(INBOX)
            watches = _watches()
        assert watches
        await asyncio.wait(watches)
        assert not _watches()


def _watches() -> list[asyncio.Task[Any]]:
    return [task for task in asyncio.all_tasks() if "Subscriptions._" in repr(task.get_coro())]
