"""The control socket is private, is never taken from a living bridge, and tells HTTP from MCP."""

import asyncio
import shutil
import socket
import stat
from functools import partial
from pathlib import Path

import pytest

from adapters.api.listener import SocketTaken
from adapters.api.server import ControlServer
from bridge.errors import Refused
from tests.adapters.api.live import http, post, serving, socket_of
from tests.adapters.api.memory_exchange import MemoryExchange


async def test_nobody_else_can_open_the_socket(home: Path) -> None:
    assert stat.S_IMODE(socket_of(home).stat().st_mode) == 0o600
    assert stat.S_IMODE(socket_of(home).parent.stat().st_mode) == 0o700


async def test_a_socket_that_a_killed_bridge_left_behind_is_replaced(tmp_path: Path, exchange: MemoryExchange) -> None:
    socket_of(tmp_path).parent.mkdir()
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(socket_of(tmp_path)))
    async with serving(exchange, tmp_path):
        assert (await http(tmp_path, "GET", "/v1/status"))[0] == 200


async def test_a_living_bridge_keeps_its_socket(home: Path, exchange: MemoryExchange) -> None:
    second = ControlServer(exchange, socket_of(home))
    with pytest.raises(SocketTaken):
        await second.serve()
    assert (await http(home, "GET", "/v1/status"))[0] == 200


async def test_what_is_in_the_way_of_the_socket_is_named(tmp_path: Path, exchange: MemoryExchange) -> None:
    socket_of(tmp_path).mkdir(parents=True)
    with pytest.raises(Refused, match=r"control\.sock cannot be made: .*in use"):
        await ControlServer(exchange, socket_of(tmp_path)).serve()


async def test_a_socket_that_somebody_removes_is_made_again(tmp_path: Path, exchange: MemoryExchange) -> None:
    async with serving(exchange, tmp_path, look_s=0.01) as server:
        for removed in (socket_of(tmp_path).unlink, partial(shutil.rmtree, socket_of(tmp_path).parent)):
            removed()
            async with asyncio.timeout(5):
                while not (socket_of(tmp_path).is_socket() and server.accepting.is_set()):  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            assert (await http(tmp_path, "GET", "/v1/status"))[0] == 200


async def test_a_home_with_a_long_path_can_be_served(tmp_path: Path, exchange: MemoryExchange) -> None:
    deep = tmp_path / ("d" * 90) / ("e" * 90)
    async with serving(exchange, deep):
        assert socket_of(deep).is_socket()


async def test_closing_removes_the_socket_and_can_be_repeated(tmp_path: Path, exchange: MemoryExchange) -> None:
    async with serving(exchange, tmp_path) as server:
        await server.close()
        await server.close()
        assert not socket_of(tmp_path).exists()
        assert not server.accepting.is_set()


async def test_closing_before_serving_makes_serving_end_at_once(tmp_path: Path, exchange: MemoryExchange) -> None:
    server = ControlServer(exchange, socket_of(tmp_path))
    await server.close()
    await server.serve()


async def test_closing_cuts_waits_off(tmp_path: Path, exchange: MemoryExchange) -> None:
    async with serving(exchange, tmp_path) as server:
        body = {"to": "career", "text": "hello", "timeout_s": 600}
        asking = asyncio.create_task(post(tmp_path, "/v1/ask", body))
        await exchange.asked.wait()
        await server.close()
        await exchange.abandoned.wait()
        with pytest.raises((ConnectionError, IndexError)):
            await asking


async def test_http_may_arrive_byte_by_byte(home: Path) -> None:
    reader, writer = await asyncio.open_unix_connection(socket_of(home))
    for byte in b"TRACE / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n":
        writer.write(bytes([byte]))
        await writer.drain()
    assert (await reader.readline()).split()[1] == b"404"
    writer.close()


async def test_an_mcp_greeting_turns_the_connection_into_a_stream(tmp_path: Path, exchange: MemoryExchange) -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: str) -> None:
        writer.write(token.encode() + b":" + await reader.readline())
        await writer.drain()

    async with serving(exchange, tmp_path, echo):
        for pieces in ([b"TIELINE-MCP 1 secret\nhello\n"], [b"TIE", b"LINE-MCP 1 sec", b"ret\n", b"hello\n"]):
            reader, writer = await asyncio.open_unix_connection(socket_of(tmp_path))
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
            assert await reader.read() == b"secret:hello\n"
            writer.close()


async def test_a_greeting_without_end_is_cut_off(home: Path) -> None:
    reader, writer = await asyncio.open_unix_connection(socket_of(home))
    writer.write(b"TIELINE-MCP 1 " + b"x" * 4096)
    assert await reader.read() == b""
    writer.close()


async def test_a_stream_that_fails_is_logged_and_closed(
    tmp_path: Path, exchange: MemoryExchange, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: str) -> None:
        raise RuntimeError("defect")

    async with serving(exchange, tmp_path, fail):
        reader, writer = await asyncio.open_unix_connection(socket_of(tmp_path))
        writer.write(b"TIELINE-MCP 1 secret-token\n")
        assert await reader.read() == b""
        writer.close()
        assert (await http(tmp_path, "GET", "/v1/status"))[0] == 200
    assert "a connection failed" in caplog.text
    assert "secret-token" not in caplog.text
