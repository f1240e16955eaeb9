"""MCP over HTTP on the loopback: for whoever holds a token, and for nobody else."""

import asyncio
from typing import Any

import httpx2
import pytest
from mcp.shared.exceptions import MCPError

from bridge.errors import Code
from tests.adapters.api.memory_exchange import CAREER, DESK, MemoryExchange
from tests.adapters.mcp.web import client, listening

MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])
OPEN = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
ACCEPTS = {"Accept": "application/json, text/event-stream"}
BEARER = {"Authorization": "Bearer desk-token"}


@MODES
async def test_a_call_is_made_in_the_name_of_the_token(exchange: MemoryExchange, mode: str) -> None:
    await exchange.arrive(DESK, "for the desk")
    await exchange.arrive(CAREER, "for career")
    async with (
        listening(exchange) as address,
        client(address, "desk-token", mode) as desk,
        client(address, "career-token", mode) as career,
    ):
        at_desk: Any = (await desk.call_tool("peer_receive", {})).structured_content
        at_career: Any = (await career.call_tool("peer_receive", {})).structured_content
    assert [one["text"] for one in at_desk["messages"]] == ["for the desk"]
    assert [one["text"] for one in at_career["messages"]] == ["for career"]


@MODES
async def test_a_revoked_token_is_dead_at_once(exchange: MemoryExchange, mode: str) -> None:
    async with listening(exchange) as address, client(address, "desk-token", mode) as desk:
        await desk.call_tool("peer_receive", {})
        exchange.revoke("desk-token")
        with pytest.raises(Exception) as refused:  # noqa: PT011 - the package has several for it
            await desk.call_tool("peer_receive", {})
    assert not isinstance(refused.value, TimeoutError)
    assert len(exchange.callers) == 1


@MODES
async def test_a_wait_ends_with_its_token(exchange: MemoryExchange, mode: str) -> None:
    async with listening(exchange) as address, client(address, "desk-token", mode) as desk:
        asking = asyncio.create_task(desk.call_tool("peer_ask", {"to": "career", "text": "?", "timeout_s": 600}))
        await exchange.asked.wait()
        exchange.revoke("desk-token")
        await exchange.abandoned.wait()
        result: Any = await asking
    assert result.is_error
    assert result.structured_content["error"]["code"] == Code.NOT_PERMITTED


async def test_a_stream_and_a_session_end_with_their_token(exchange: MemoryExchange) -> None:
    async with listening(exchange) as address, httpx2.AsyncClient(headers={**ACCEPTS, **BEARER}) as http:
        opened = await http.post(f"{address}/mcp", json=OPEN)
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"], "MCP-Protocol-Version": "2025-06-18"}
        async with http.stream("GET", f"{address}/mcp", headers=session) as stream:
            assert stream.status_code == 200
            exchange.revoke("desk-token")
            with pytest.raises(httpx2.RemoteProtocolError):
                await stream.aread()
        assert (await http.post(f"{address}/mcp", json=OPEN, headers=session)).status_code == 401


async def test_what_one_token_has_begun_another_cannot_go_on_with(exchange: MemoryExchange) -> None:
    async with listening(exchange) as address, httpx2.AsyncClient(headers=ACCEPTS) as http:
        opened = await http.post(f"{address}/mcp", json=OPEN, headers=BEARER)
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"], "MCP-Protocol-Version": "2025-06-18"}
        other = {"Authorization": "Bearer career-token"}
        listed = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        assert (await http.post(f"{address}/mcp", json=listed, headers={**session, **other})).status_code == 404
        assert (await http.post(f"{address}/mcp", json=listed, headers={**session, **BEARER})).status_code == 200


REFUSED: dict[str, tuple[str, dict[str, str], int]] = {
    "no token": ("/mcp", {}, 401),
    "an unknown token": ("/mcp", {"Authorization": "Bearer stolen"}, 401),
    "another scheme": ("/mcp", {"Authorization": "Basic desk-token"}, 401),
    "an empty token": ("/mcp", {"Authorization": "Bearer"}, 401),
    "a token in the address": ("/mcp?token=desk-token", {}, 400),
    "a token in the address beside one": ("/mcp?Access_Token=desk-token", BEARER, 400),
    "another host": ("/mcp", {**BEARER, "Host": "evil.example"}, 421),
    "another port": ("/mcp", {**BEARER, "Host": "127.0.0.1:1"}, 421),
    "a host that begins like ours": ("/mcp", {**BEARER, "Host": "127.0.0.1.evil.example"}, 421),
    "a page of another address": ("/mcp", {**BEARER, "Origin": "https://evil.example"}, 403),
    "a page of another port": ("/mcp", {**BEARER, "Origin": "http://127.0.0.1:1"}, 403),
    "a page of no address": ("/mcp", {**BEARER, "Origin": "null"}, 403),
    "the control API without a token": ("/v1/send", {}, 401),
    "its description without a token": ("/openapi.json", {}, 401),
    "the control API under another host": ("/v1/send", {**BEARER, "Host": "evil.example"}, 421),
}


@pytest.mark.parametrize("which", REFUSED)
async def test_nobody_else_is_let_in(exchange: MemoryExchange, which: str) -> None:
    path, headers, status = REFUSED[which]
    async with listening(exchange) as address, httpx2.AsyncClient() as http:
        answer = await http.post(f"{address}{path}", json=OPEN, headers={**ACCEPTS, **headers})
    assert answer.status_code == status
    assert set(answer.json()["error"]) == {"code", "reason", "rule", "remedy"}
    assert "desk-token" not in answer.text
    assert exchange.callers == []


async def test_a_page_of_the_loopback_itself_is_let_in(exchange: MemoryExchange) -> None:
    async with listening(exchange) as address, httpx2.AsyncClient(headers=BEARER) as http:
        port = address.rpartition(":")[2]
        for name in ("127.0.0.1", "localhost"):
            headers = {"Host": f"{name}:{port}", "Origin": f"http://{name}:{port}"}
            assert (await http.get(f"{address}/v1/sessions", headers=headers)).status_code == 200


async def test_a_wrong_token_is_in_the_audit_but_no_flood_of_them(exchange: MemoryExchange) -> None:
    async with listening(exchange) as address, httpx2.AsyncClient() as http:
        for _ in range(5):
            await http.get(f"{address}/v1/status", headers={"Authorization": "Bearer stolen"})
    assert exchange.turned == [(None, "GET /v1/status over the loopback")]


async def test_the_control_api_speaks_as_the_token_alone(exchange: MemoryExchange) -> None:
    async with listening(exchange) as address, httpx2.AsyncClient(headers=BEARER) as http:
        sent = await http.post(f"{address}/v1/send", json={"to": "career", "text": "hello"})
        other = await http.post(f"{address}/v1/send", json={"to": "career", "text": "hello", "from": "build"})
        made = await http.post(f"{address}/v1/sessions", json={"handle": "more"})
    assert (sent.status_code, other.status_code, made.status_code) == (200, 403, 403)
    assert [(by.session, by.bound) for by in exchange.callers] == [(DESK, True)]


async def test_a_wait_of_the_control_api_ends_with_its_token(exchange: MemoryExchange) -> None:
    async with listening(exchange) as address, httpx2.AsyncClient(headers=BEARER, timeout=60) as http:
        body = {"to": "career", "text": "?", "timeout_s": 600}
        asking = asyncio.create_task(http.post(f"{address}/v1/ask", json=body))
        await exchange.asked.wait()
        exchange.revoke("desk-token")
        await exchange.abandoned.wait()
        assert (await asking).status_code == 401


async def test_a_client_that_goes_ends_its_wait(exchange: MemoryExchange) -> None:
    async with listening(exchange) as address, client(address, "desk-token") as desk:
        asking = asyncio.create_task(desk.call_tool("peer_ask", {"to": "career", "text": "?", "timeout_s": 600}))
        await exchange.asked.wait()
        asking.cancel()
        await exchange.abandoned.wait()


async def test_the_listener_ends_with_what_is_open(exchange: MemoryExchange) -> None:
    async with listening(exchange) as address, client(address, "desk-token") as desk:
        asking = asyncio.create_task(desk.call_tool("peer_ask", {"to": "career", "text": "?", "timeout_s": 600}))
        await exchange.asked.wait()
    await exchange.abandoned.wait()
    await asyncio.gather(asking, return_exceptions=True)
    with pytest.raises((MCPError, ExceptionGroup, httpx2.HTTPError)):
        async with client(address, "desk-token"):
            pass


async def test_connections_that_say_nothing_shut_nobody_out(exchange: MemoryExchange) -> None:
    async with listening(exchange) as address, httpx2.AsyncClient(headers={**ACCEPTS, **BEARER}) as http:
        opened = await http.post(f"{address}/mcp", json=OPEN)
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"], "MCP-Protocol-Version": "2025-06-18"}
        host, port = address.removeprefix("http://").split(":")
        async with http.stream("GET", f"{address}/mcp", headers=session) as stream:
            silent = [await asyncio.open_connection(host, int(port)) for _ in range(300)]
            silent[-1][1].write(b"GET / HTTP/1.1\r\nX-")
            async with httpx2.AsyncClient(headers=BEARER) as another:
                assert (await another.get(f"{address}/v1/sessions")).status_code == 200
            assert await silent[0][0].read() == b""
            assert not stream.is_closed
            exchange.revoke("desk-token")  # which the stream, where it is still open, ends by
            with pytest.raises(httpx2.RemoteProtocolError):
                await stream.aread()
        for _, writer in silent:
            writer.close()
