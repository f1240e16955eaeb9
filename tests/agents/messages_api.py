"""A stand-in for the Anthropic messages API on loopback, with a model that does what the last message asks for.

A person's "work" makes it run a command in its shell again and again, until a notice of the bridge tells it of mail. A
notice makes it read; a request that it has read it answers.
"""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from bridge.notices import MAIL_BESIDE_WORK, MAIL_IN_TERMINAL

ANSWER = "Read and answered in the terminal."
_RUNS = 40


class Api(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.requests: list[dict[str, Any]] = []
        self.came: list[float] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def serving() -> Iterator[Api]:
    with Api() as api:
        thread = threading.Thread(target=api.serve_forever, daemon=True)
        thread.start()
        try:
            yield api
        finally:
            api.shutdown()
            thread.join()


def texts_of(message: dict[str, Any]) -> list[str]:
    """All that is written in a message, results of tools included, as it is."""
    return list(_texts(message.get("content")))


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for block in content:
            yield from _texts(block)
    elif isinstance(content, dict):
        yield from _texts(content.get("text") or content.get("content"))


def said_by_users(request: dict[str, Any]) -> list[str]:
    """The texts in user rows that are no results of tools."""
    found: list[str] = []
    for one in request["messages"]:
        content = one["content"] if isinstance(one["content"], list) else [{"type": "text", "text": one["content"]}]
        if one["role"] == "user":
            found += [block["text"] for block in content if block.get("type") == "text"]
    return found


def called(request: dict[str, Any]) -> list[str]:
    """The tools that the model has called so far."""
    blocks = [block for one in request["messages"] if isinstance(one["content"], list) for block in one["content"]]
    return [block["name"] for block in blocks if block.get("type") == "tool_use"]


def _next(request: dict[str, Any], tools: set[str]) -> tuple[str, dict[str, Any]] | str:
    """The tool that the model calls, or its final text."""

    def named(end: str) -> str:
        return next((name for name in tools if name.endswith(end)), end)

    messages, fresh = request["messages"], list[str]()
    for one in reversed(messages):
        if one["role"] == "assistant":
            break
        fresh += texts_of(one)
    for ident in filter(None, map(_asked, fresh)):
        return named("peer_reply"), {"message_id": ident, "text": ANSWER}
    if any(notice in text for text in fresh for notice in (MAIL_BESIDE_WORK, MAIL_IN_TERMINAL)):
        return named("peer_receive"), {}
    working = any("please work" in text for one in messages if one["role"] == "user" for text in texts_of(one))
    done = called(request)
    if working and len(done) < _RUNS and named("peer_receive") not in done:
        return "Bash", {"command": "sleep 0.2", "description": "work"}
    return "Done."


def _asked(text: str) -> str | None:
    """The request among what peer_receive has given, if that is what this is."""
    try:
        mail = json.loads(text)["messages"]
        return next((one["message_id"] for one in mail if one["intent"] == "request"), None)
    except (ValueError, TypeError, LookupError):
        return None


class _Request(BaseHTTPRequestHandler):
    server: Api
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._head(200, "text/plain", b"")

    def do_GET(self) -> None:
        self._json(404, {"type": "error", "error": {"type": "not_found_error", "message": "nothing here"}})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        if "/messages" not in self.path:
            self.do_GET()
            return
        if self.path.partition("?")[0].endswith("count_tokens"):
            self._json(200, {"input_tokens": 10})
            return
        self.server.requests.append(body)
        self.server.came.append(time.monotonic())
        names = {tool.get("name", "") for tool in body.get("tools", [])}
        said = _next(body, names) if "Bash" in names else "ok"
        self._stream(body, said)

    def _stream(self, body: dict[str, Any], said: tuple[str, dict[str, Any]] | str) -> None:
        number = len(self.server.requests)
        if isinstance(said, str):
            block: dict[str, Any] = {"type": "text", "text": ""}
            delta: dict[str, Any] = {"type": "text_delta", "text": said}
            reason = "end_turn"
        else:
            block = {"type": "tool_use", "id": f"toolu_{number:08d}", "name": said[0], "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(said[1])}
            reason = "tool_use"
        usage = {"input_tokens": 10, "output_tokens": 5}
        message = {
            "id": f"msg_{number:08d}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", "stub"),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }
        if not body.get("stream"):
            whole = {**block, "text": said} if isinstance(said, str) else {**block, "input": said[1]}
            self._json(200, {**message, "content": [whole], "stop_reason": reason})
            return
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage},
            {"type": "message_stop"},
        ]
        data = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events)
        self._head(200, "text/event-stream", data.encode())

    def _json(self, status: int, value: Any) -> None:
        self._head(status, "application/json", json.dumps(value).encode())

    def _head(self, status: int, kind: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
