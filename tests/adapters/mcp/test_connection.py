"""A connection lives as long as its token and its two ends, and no wait outlives it."""

import asyncio
import json
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from tests.adapters.api.memory_exchange import CAREER, DESK, MemoryExchange
from tests.adapters.cli.shell import Shell
from tests.adapters.mcp.agent import agent, bridge, pipe


async def test_an_unknown_token_is_turned_away(tmp_path: Path, exchange: MemoryExchange) -> None:
    async with bridge(exchange, tmp_path):
        with pytest.raises((MCPError, ExceptionGroup)) as refused:
            async with Client(pipe(tmp_path, "stolen")):
                pass
    assert "not_permitted" in _texts(refused.value)
    assert exchange.turned == [(None, "connect to the tools")]


async def test_a_revoked_token_stops_working_at_once(tmp_path: Path, exchange: MemoryExchange) -> None:
    async with agent(exchange, tmp_path) as client:
        before = await client.call_tool("peer_receive", {})
        del exchange.tokens["desk-token"]
        after = await client.call_tool("peer_receive", {})
    content: Any = after.structured_content
    assert not before.is_error
    assert (after.is_error, content["error"]["code"]) == (True, "not_permitted")
    assert exchange.turned == [(None, "call peer_receive")]


async def test_a_cancelled_call_ends_its_wait(tmp_path: Path, exchange: MemoryExchange) -> None:
    async with agent(exchange, tmp_path) as client:
        asking = asyncio.create_task(client.call_tool("peer_ask", {"to": "career", "text": "?", "timeout_s": 600}))
        await exchange.asked.wait()
        asking.cancel()
        await exchange.abandoned.wait()
        assert not (await client.call_tool("peer_receive", {})).is_error


async def test_the_end_of_the_agent_ends_its_wait(tmp_path: Path, exchange: MemoryExchange) -> None:
    async with bridge(exchange, tmp_path), Shell(tmp_path).started("mcp", TIELINE_TOKEN="desk-token") as process:
        assert process.stdin
        for line in _opening(("peer_ask", {"to": "career", "text": "?", "timeout_s": 600})):
            process.stdin.write(line)
        await exchange.asked.wait()
        process.stdin.close()
        await exchange.abandoned.wait()
        assert await process.wait() == 0


async def test_the_pipe_goes_on_with_the_next_bridge(tmp_path: Path, exchange: MemoryExchange) -> None:
    async with AsyncExitStack() as running:
        await running.enter_async_context(bridge(exchange, tmp_path))
        async with Shell(tmp_path).started("mcp", TIELINE_TOKEN="desk-token") as process:
            assert process.stdin
            assert process.stdout
            for line in _opening():
                process.stdin.write(line)
            await process.stdout.readline()
            await running.aclose()
            process.stdin.write(_request(7, "tools/list"))
            async with bridge(exchange, tmp_path):
                answer = json.loads(await process.stdout.readline())
                process.stdin.close()
                assert await process.wait() == 0
    assert answer["id"] == 7
    assert answer["result"]["tools"]


async def test_a_bridge_that_does_not_know_the_agent_any_more_ends_the_pipe(
    tmp_path: Path, exchange: MemoryExchange
) -> None:
    async with AsyncExitStack() as running:
        await running.enter_async_context(bridge(exchange, tmp_path))
        async with Shell(tmp_path).started("mcp", TIELINE_TOKEN="desk-token") as process:
            assert process.stdin
            assert process.stdout
            process.stdin.write(_opening()[0])
            await process.stdout.readline()
            await running.aclose()
            async with bridge(MemoryExchange(tokens={}), tmp_path):
                assert await process.wait() == 69


async def test_a_pipe_that_waits_for_a_bridge_ends_with_its_client(tmp_path: Path, exchange: MemoryExchange) -> None:
    async with AsyncExitStack() as running:
        await running.enter_async_context(bridge(exchange, tmp_path))
        async with Shell(tmp_path).started("mcp", TIELINE_TOKEN="desk-token") as process:
            assert process.stdin
            assert process.stdout
            process.stdin.write(_opening()[0])
            await process.stdout.readline()
            await running.aclose()
            process.stdin.close()
            assert await process.wait() == 0


async def test_what_was_under_way_is_asked_again_only_where_that_changes_nothing(tmp_path: Path) -> None:
    exchange = MemoryExchange(tokens={"desk-token": DESK})
    socket = tmp_path / "run" / "control.sock"
    socket.parent.mkdir()
    heard = asyncio.Queue[bytes]()
    ends: list[asyncio.StreamWriter] = []

    async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends.append(writer)
        while line := await reader.readline():
            heard.put_nowait(line)
            if b'"initialize"' in line:
                writer.write(b'{"jsonrpc":"2.0","id":0,"result":{}}\n')

    server = await asyncio.start_unix_server(deaf, socket)
    async with Shell(tmp_path).started("mcp", TIELINE_TOKEN="desk-token") as process:
        assert process.stdin
        assert process.stdout
        opening = _opening()
        process.stdin.write(opening[0])
        await process.stdout.readline()
        for line in opening[1:]:
            process.stdin.write(line)
        receive = {"name": "peer_receive", "arguments": {}}
        send = {"name": "peer_send", "arguments": {"to": CAREER, "text": "x"}}
        process.stdin.write(_request(7, "tools/call", receive))
        process.stdin.write(_request(8, "tools/call", send))
        while b'"id": 8' not in await heard.get():
            pass
        server.close()
        socket.unlink()
        for end in ends:
            end.close()
        async with bridge(exchange, tmp_path):
            answers = {one["id"]: one for one in [json.loads(await process.stdout.readline()) for _ in range(2)]}
    assert answers[7]["result"]["structuredContent"]["messages"] == []
    assert answers[8]["result"]["structuredContent"]["error"]["code"] == "unavailable"


async def test_a_line_that_is_no_message_is_answered_and_skipped(tmp_path: Path, exchange: MemoryExchange) -> None:
    async with bridge(exchange, tmp_path), Shell(tmp_path).started("mcp", TIELINE_TOKEN="desk-token") as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(b"{not json}\n\xff\n" + _opening()[0])
        answers = [json.loads(await process.stdout.readline()) for _ in range(3)]
    assert [answer.get("error", {}).get("code") for answer in answers] == [-32700, -32700, None]
    assert answers[2]["result"]["serverInfo"]["name"] == "tieline"


async def test_a_call_with_half_a_character_is_answered_to_whoever_made_it(
    tmp_path: Path, exchange: MemoryExchange
) -> None:
    async with bridge(exchange, tmp_path), Shell(tmp_path).started("mcp", TIELINE_TOKEN="desk-token") as process:
        assert process.stdin
        assert process.stdout
        for line in _opening(("peer_send", {"to": "career", "text": "\ud83d"})):
            process.stdin.write(line)
        answers = {answer["id"]: answer for answer in [json.loads(await process.stdout.readline()) for _ in range(2)]}
    assert answers[1]["error"]["code"] == -32700
    assert "Unicode" in answers[1]["error"]["message"]
    assert exchange.sends == []


@pytest.mark.parametrize(("token", "code"), [("with space", 78), ("desk-token", 69)])
async def test_the_pipe_says_what_is_missing(tmp_path: Path, token: str, code: int) -> None:
    done = await Shell(tmp_path).run("mcp", TIELINE_TOKEN=token)
    assert (done.code, done.out) == (code, "")
    assert done.err
    assert "desk-token" not in done.err


def _opening(*calls: tuple[str, dict[str, Any]]) -> list[bytes]:
    info = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    requests: list[dict[str, Any]] = [
        {"id": 0, "method": "initialize", "params": info},
        {"method": "notifications/initialized"},
    ]
    for number, (name, given) in enumerate(calls, 1):
        requests.append({"id": number, "method": "tools/call", "params": {"name": name, "arguments": given}})
    return [json.dumps({"jsonrpc": "2.0", **request}).encode() + b"\n" for request in requests]


def _request(number: int, method: str, params: dict[str, Any] | None = None) -> bytes:
    request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}
    return json.dumps(request).encode() + b"\n"


def _texts(error: BaseException) -> str:
    if isinstance(error, BaseExceptionGroup):
        return " ".join(_texts(one) for one in error.exceptions)
    return str(error)
