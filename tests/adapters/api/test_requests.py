"""Whatever comes in over the control socket gets one clear answer, and never a fault."""

import asyncio
import json
import logging
from pathlib import Path

import pytest

from adapters.api.guard import MAX_BODY
from adapters.api.refusals import STATUS
from bridge.errors import Code
from tests.adapters.api.live import http, post, socket_of
from tests.adapters.api.memory_exchange import CAREER, MemoryExchange

SEND = {"to": "career", "text": "hello"}

UNREADABLE = {
    "no JSON": b"{",
    "no UTF-8": b'{"to": "career", "text": "\xff"}',
    "no object": b"[]",
    "null": b"null",
    "nothing": b"",
    "wrong type": b'{"to": "career", "text": 5}',
    "a boolean as text": b'{"to": true, "text": "x"}',
    "text as boolean": b'{"to": "career", "text": "x", "wake": "yes"}',
    "missing field": b'{"to": "career"}',
    "unknown field": b'{"to": "career", "text": "x", "origin": "user"}',
    "unknown field with a huge name": b'{"to": "career", "text": "x", "' + b"k" * 100_000 + b'": 1}',
    "unknown intent": b'{"to": "career", "text": "x", "intent": "reply"}',
    "half a character": b'{"to": "career", "text": "\\ud800"}',
    "a NUL": b'{"to": "career", "text": "x\\u0000"}',
    "not a number": b'{"to": "career", "text": "x", "ttl_s": NaN}',
    "no life": b'{"to": "career", "text": "x", "ttl_s": 0}',
    "deep": b'{"to": ' + b"[" * 100_000,
}


@pytest.mark.parametrize("body", UNREADABLE.values(), ids=UNREADABLE.keys())
async def test_what_cannot_be_read_is_an_invalid_request(home: Path, exchange: MemoryExchange, body: bytes) -> None:
    status, answer = await http(home, "POST", "/v1/send", body)
    assert (status, answer["error"]["code"]) == (400, "invalid_request")
    assert set(answer["error"]) == {"code", "reason", "rule", "remedy"}
    assert len(answer["error"]["reason"]) < 1_000
    assert exchange.sends == []


@pytest.mark.parametrize(
    ("method", "target", "status"),
    [("GET", "/v1/nothing", 404), ("PUT", "/v1/send", 405), ("GET", "/v1/sessions?limit=many", 400)],
)
async def test_what_is_not_served_is_an_invalid_request(home: Path, method: str, target: str, status: int) -> None:
    got, answer = await http(home, method, target)
    assert (got, answer["error"]["code"]) == (status, "invalid_request")


async def test_a_body_over_the_limit_is_too_large(home: Path) -> None:
    status, answer = await http(home, "POST", "/v1/send", b" " * (MAX_BODY + 1))
    assert (status, answer["error"]["code"]) == (413, "too_large")


async def test_a_body_of_unknown_length_is_bounded_too(home: Path) -> None:
    reader, writer = await asyncio.open_unix_connection(socket_of(home))
    writer.write(
        b"POST /v1/send HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    for _ in range(MAX_BODY // 0x10000 + 1):
        writer.write(chunk)
    head = await reader.readuntil(b"\r\n\r\n")
    assert b" 413 " in head.splitlines()[0]
    writer.close()


@pytest.mark.parametrize("code", Code)
async def test_each_refusal_keeps_its_code_and_has_a_status(home: Path, code: Code) -> None:
    status, answer = await post(home, "/v1/send", {**SEND, "to": code.replace("_", "-")})
    assert status == STATUS[code]
    assert answer["error"]["code"] == code
    assert answer["error"]["rule"] == "rule:1"
    assert answer["error"]["remedy"]


async def test_a_fault_of_the_bridge_is_logged_once_and_hidden(
    home: Path, exchange: MemoryExchange, caplog: pytest.LogCaptureFixture
) -> None:
    exchange.fault = RuntimeError("the secret cause")
    with caplog.at_level(logging.WARNING):
        status, answer = await post(home, "/v1/send", SEND)
    assert (status, answer["error"]["code"]) == (503, "unavailable")
    assert "secret" not in json.dumps(answer)
    assert [record.exc_info[1] for record in caplog.records if record.exc_info] == [exchange.fault]


async def test_a_wait_ends_when_its_client_vanishes(home: Path, exchange: MemoryExchange) -> None:
    body = json.dumps({**SEND, "timeout_s": 600}).encode()
    _, writer = await asyncio.open_unix_connection(socket_of(home))
    writer.write(b"POST /v1/ask HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n")
    writer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    await exchange.asked.wait()
    writer.close()
    await exchange.abandoned.wait()


async def test_a_page_of_sessions_leads_to_the_next(home: Path) -> None:
    _, first = await http(home, "GET", "/v1/sessions?limit=3")
    _, second = await http(home, "GET", f"/v1/sessions?limit=3&cursor={first['next_cursor']}")
    assert [len(first["sessions"]), len(second["sessions"]), second["next_cursor"]] == [3, 1, None]


async def test_the_body_names_the_sender_before_the_header_does(home: Path, exchange: MemoryExchange) -> None:
    await post(home, "/v1/send", {**SEND, "from": "build"}, **{"X-Tieline-Session": "shell"})
    await post(home, "/v1/send", SEND, **{"X-Tieline-Session": "build"})
    assert [caller.session for caller in exchange.callers] == ["default/build", "default/build"]


async def test_openapi_describes_every_endpoint(home: Path) -> None:
    _, described = await http(home, "GET", "/openapi.json")
    assert set(described["paths"]) == {
        "/v1/ack", "/v1/answers/{message_id}", "/v1/answers/{message_id}/read", "/v1/approvals",
        "/v1/approvals/{message_id}", "/v1/ask", "/v1/audit",
            "/v1/children", "/v1/decision", "/v1/gateways", "/v1/gateways/{name}/remove",
            "/v1/grants", "/v1/grants/{ident}/revoke",
        "/v1/inbox", "/v1/inbox/take", "/v1/inbox/wait", "/v1/messages/{message_id}/cancel", "/v1/pause",
        "/v1/resume", "/v1/send", "/v1/sessions",
        "/v1/sessions/{name}/renew", "/v1/sessions/{name}/resume", "/v1/sessions/{name}/stop",
        "/v1/sessions/{name}/topic",
        "/v1/sessions/{name}/tokens", "/v1/sessions/{name}/tokens/{token}/revoke",
        "/v1/status", "/v1/terminal", "/v1/terminal/events", "/v1/terminal/join", "/v1/terminal/token",
        "/v1/terminal/wait", "/v1/traces/{ident}",
    }  # fmt: skip


async def test_following_an_inbox_gives_only_what_is_new(home: Path, exchange: MemoryExchange) -> None:
    known = await exchange.arrive(CAREER, "old")
    waiting = asyncio.create_task(
        post(
            home,
            "/v1/inbox/wait",
            {"session": "default/career", "known": [known.message_id], "timeout_s": 30},
            Authorization="Bearer career",
        )
    )
    exchange.tokens["career"] = CAREER
    fresh = await exchange.arrive(CAREER, "new")
    _, answer = await waiting
    assert [mail["message_id"] for mail in answer["messages"]] == [fresh.message_id]
