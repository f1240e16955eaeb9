"""A provider of models on loopback that speaks OpenAI chat completions: what the model says is a function's."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Calls:
    """The model calls a tool."""

    name: str
    arguments: Json = field(default_factory=dict)


Model = Callable[[list[Json]], Awaitable[str | Calls]]
"""What it says to these messages."""


def last(messages: list[Json]) -> Json:
    return messages[-1]


def told(messages: list[Json], role: str) -> list[str]:
    """The texts of a role, the oldest first."""
    return [_text(one) for one in messages if one["role"] == role]


def since_user(messages: list[Json]) -> list[Json]:
    """What has come since the last words of a user's."""
    users = [number for number, one in enumerate(messages) if one["role"] == "user"]
    return messages[users[-1] + 1 :] if users else []


def _text(message: Json) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else json.dumps(content)


class Provider:
    def __init__(self, model: Model) -> None:
        self.model = model
        self.url = ""
        self.asked: list[list[Json]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
                body = await reader.readexactly(int(fields.get(b"content-length", b"0")))
                path = head.split(b" ")[1]
                if not path.endswith(b"/chat/completions"):
                    models = {
                        "object": "list",
                        "data": [{"id": "stub-model", "object": "model", "context_length": 128000}],
                    }
                    await self._answer(writer, json.dumps(models).encode(), b"application/json")
                    continue
                request = json.loads(body)
                self.asked.append(request["messages"])
                said = await self.model(request["messages"])
                if request.get("stream"):
                    await self._answer(writer, _streamed(said), b"text/event-stream")
                else:
                    await self._answer(writer, json.dumps(_whole(said)).encode(), b"application/json")
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, writer: asyncio.StreamWriter, body: bytes, kind: bytes) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s" % (kind, len(body), body))
        await writer.drain()


_USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def _message(said: str | Calls) -> Json:
    if isinstance(said, str):
        return {"role": "assistant", "content": said}
    function = {"name": said.name, "arguments": json.dumps(said.arguments)}
    call = {"id": f"call_{abs(hash(json.dumps(function))) % 10**9}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [{"index": 0, **call}]}


def _whole(said: str | Calls) -> Json:
    finish = "stop" if isinstance(said, str) else "tool_calls"
    choice = {"index": 0, "message": _message(said), "finish_reason": finish}
    return {"id": "x", "object": "chat.completion", "model": "stub-model", "choices": [choice], "usage": _USAGE}


def _streamed(said: str | Calls) -> bytes:
    finish = "stop" if isinstance(said, str) else "tool_calls"
    base = {"id": "x", "object": "chat.completion.chunk", "model": "stub-model"}
    chunks: list[Json] = [
        {**base, "choices": [{"index": 0, "delta": _message(said), "finish_reason": None}]},
        {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
        {**base, "choices": [], "usage": _USAGE},
    ]
    return b"".join(b"data: %s\n\n" % json.dumps(chunk).encode() for chunk in chunks) + b"data: [DONE]\n\n"


@asynccontextmanager
async def provider(model: Model) -> AsyncIterator[Provider]:
    one = Provider(model)
    server = await asyncio.start_server(one.serve, "127.0.0.1", 0, limit=2**24)
    one.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield one
    finally:
        server.close()
