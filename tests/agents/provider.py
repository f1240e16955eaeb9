"""A provider of models on loopback, whose models say what a test has scripted.

It speaks what a `Wire` speaks, each at a path of its own, and everything else is the same for all of them: what a
request asks, by which rule it is answered, and how it goes wrong.
"""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Protocol

from aiohttp import web

PATIENCE_S = 150.0
"""Until an agent asks: it may have to be started first, beside others."""


@dataclass(frozen=True, slots=True)
class Line:
    """One message of a request. `tool` is the tool whose result it is, as the agent calls it."""

    role: str
    text: str
    tool: str = ""


_BESIDE = ("system", "developer")
"""The roles of what agents say beside a conversation, wherever they put it."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, whatever the wire. `key` is what it came with to be let in."""

    model: str
    lines: tuple[Line, ...]
    tools: tuple[str, ...] = ()
    stream: bool = False
    key: str = ""

    @property
    def last(self) -> Line:
        """Without what the agent has put behind it."""
        return next((line for line in reversed(self.lines) if line.role not in _BESIDE), Line("none", ""))


@dataclass(frozen=True, slots=True)
class Says:
    text: str


@dataclass(frozen=True, slots=True)
class Calls:
    """A tool by the end of its name: agents put the name of the server before it."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    says: str = ""


@dataclass(frozen=True, slots=True)
class Fails:
    status: int
    message: str = "no"
    retry_after: str | None = None


@dataclass(frozen=True, slots=True)
class Waits:
    """Answers once the event is set; with `first`, after it has begun to."""

    until: asyncio.Event
    then: "Says | Calls"
    first: str = ""


@dataclass(frozen=True, slots=True)
class Makes:
    """What it says depends on what it is asked."""

    of: Callable[[Asked], "Says | Calls"]


Given = Says | Calls | Fails | Waits
Reply = Given | Makes


def hangs() -> Waits:
    """Never answers."""
    return Waits(asyncio.Event(), Says(""))


class Wire(Protocol):
    path: str

    def parsed(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> Asked: ...

    def whole(self, asked: Asked, reply: Says | Calls) -> Any:
        """The body of an answer in one piece."""
        ...

    def begun(self, asked: Asked, text: str) -> Iterator[str]:
        """The events of a stream that has only begun to speak."""
        ...

    def streamed(self, asked: Asked, reply: Says | Calls) -> Iterator[str]:
        """The events of a whole stream, its end included."""
        ...

    def failed(self, fails: Fails) -> Any: ...


class ChatCompletions:
    """OpenAI's chat completions."""

    path = "/v1/chat/completions"

    def parsed(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> Asked:
        called = {
            call["id"]: call["function"]["name"]
            for message in body["messages"]
            for call in message.get("tool_calls") or ()
        }
        return Asked(
            model=body["model"],
            lines=tuple(
                Line(one["role"], _text(one.get("content")), called.get(one.get("tool_call_id"), ""))
                for one in body["messages"]
            ),
            tools=tuple(tool["function"]["name"] for tool in body.get("tools") or ()),
            stream=bool(body.get("stream")),
            key=headers.get("Authorization", "").removeprefix("Bearer "),
        )

    def whole(self, asked: Asked, reply: Says | Calls) -> Any:
        message: dict[str, Any] = {"role": "assistant", "content": _said(reply) or None}
        if isinstance(reply, Calls):
            message["tool_calls"] = [_call(reply)]
        choice = {"index": 0, "message": message, "finish_reason": _finish(reply)}
        return {**_head(asked, "chat.completion"), "choices": [choice], "usage": _USAGE}

    def begun(self, asked: Asked, text: str) -> Iterator[str]:
        yield _event({**_head(asked, "chat.completion.chunk"), "choices": [_delta({"role": "assistant"})]})
        for part in filter(None, (text[: len(text) // 2], text[len(text) // 2 :])):
            yield _event({**_head(asked, "chat.completion.chunk"), "choices": [_delta({"content": part})]})

    def streamed(self, asked: Asked, reply: Says | Calls) -> Iterator[str]:
        head = _head(asked, "chat.completion.chunk")
        yield from self.begun(asked, _said(reply))
        if isinstance(reply, Calls):
            yield _event({**head, "choices": [_delta({"tool_calls": [{"index": 0, **_call(reply)}]})]})
        yield _event({**head, "choices": [{**_delta({}), "finish_reason": _finish(reply)}]})
        yield _event({**head, "choices": [], "usage": _USAGE})
        yield "data: [DONE]\n\n"

    def failed(self, fails: Fails) -> Any:
        return {"error": {"message": fails.message, "type": "error", "code": fails.status}}


_NUMBERS = count(1)
"""Agents tell calls apart by their ids, over all of a context."""
_USAGE = {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30}


def _text(content: object) -> str:
    """Of a message: agents give it whole or in parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(part.get("text", "") for part in parts if isinstance(part, dict))


def _said(reply: Says | Calls) -> str:
    return reply.text if isinstance(reply, Says) else reply.says


def _call(calls: Calls) -> dict[str, Any]:
    function = {"name": calls.tool, "arguments": json.dumps(calls.arguments)}
    return {"id": f"call_{next(_NUMBERS)}", "type": "function", "function": function}


def _finish(reply: Says | Calls) -> str:
    return "stop" if isinstance(reply, Says) else "tool_calls"


def _head(asked: Asked, kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": asked.model}


def _delta(delta: Mapping[str, Any]) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": None}


def _event(data: object) -> str:
    return f"data: {json.dumps(data)}\n\n"


@dataclass(slots=True)
class _Rule:
    match: str
    tool: str
    replies: list[Reply]

    def fits(self, line: Line) -> bool:
        return self.match in line.text and line.tool.endswith(self.tool)

    def next(self) -> Reply:
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


class Model:
    """`asked` is every request with tools: what an agent asks beside its turns, as for a title, has none."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self._rules: list[_Rule] = []
        self._news = asyncio.Condition()

    def on(self, match: str, *replies: Reply, tool: str = "") -> None:
        """What it says where that is in the last message, one reply after the other, the last of them for good. A
        message that is the result of a tool is one by the end of the `tool`'s name. Of several rules the first."""
        self._rules.append(_Rule(match, tool, list(replies)))

    def forget(self) -> None:
        self._rules.clear()

    async def answers(self, asked: Asked) -> Given:
        if not asked.tools:
            return Says("A title")
        async with self._news:
            self.asked.append(asked)
            self._news.notify_all()
        rule = next((rule for rule in self._rules if rule.fits(asked.last)), None)
        if rule is None:
            return Says(f"nothing to say to: {asked.last.text[:200]}")
        reply = rule.next()
        return reply.of(asked) if isinstance(reply, Makes) else reply

    async def is_asked(self, match: str = "", times: int = 1) -> Asked:
        """Waits until it was asked that often with such a last message. Returns the last request of these."""

        def found() -> list[Asked]:
            return [one for one in self.asked if match in one.last.text]

        async with asyncio.timeout(PATIENCE_S), self._news:
            await self._news.wait_for(lambda: len(found()) >= times)
        return found()[times - 1]


class Provider:
    """Serves `models` by name, made as they are needed. Only whoever has the `key` is let in."""

    def __init__(self, *wires: Wire, key: str = "stub-key") -> None:
        self._wires: Sequence[Wire] = wires or (ChatCompletions(),)
        self.models: dict[str, Model] = {}
        self.key = key
        self.port = 0

    def model(self, name: str) -> Model:
        return self.models.setdefault(name, Model())

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> "Provider":
        app = web.Application(client_max_size=64 << 20)
        for wire in self._wires:
            app.router.add_post(wire.path, self._serving(wire))
        app.router.add_get("/v1/models", self._listed)
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.05)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _listed(self, request: web.Request) -> web.Response:
        models = [{"id": name, "object": "model", "context_length": 200_000} for name in self.models]
        return web.json_response({"object": "list", "data": models})

    def _serving(self, wire: Wire) -> Any:
        async def serve(request: web.Request) -> web.StreamResponse:
            asked = wire.parsed(await request.json(), request.headers)
            reply: Given = await self.model(asked.model).answers(asked)
            if asked.key != self.key:
                reply = Fails(401, "Incorrect API key provided")
            with suppress(ConnectionError):
                return await self._answered(request, wire, asked, reply)
            return web.Response()

        return serve

    async def _answered(self, request: web.Request, wire: Wire, asked: Asked, reply: Given) -> web.StreamResponse:
        if isinstance(reply, Fails):
            headers = {"Retry-After": reply.retry_after} if reply.retry_after else {}
            return web.json_response(wire.failed(reply), status=reply.status, headers=headers)
        then = _named(asked, reply.then if isinstance(reply, Waits) else reply)
        if not asked.stream:
            if isinstance(reply, Waits):
                await reply.until.wait()
            return web.json_response(wire.whole(asked, then))
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        if isinstance(reply, Waits) and reply.first:
            await response.prepare(request)
            for event in wire.begun(asked, reply.first):
                await response.write(event.encode())
        if isinstance(reply, Waits):
            await reply.until.wait()
        if not response.prepared:
            await response.prepare(request)
        for event in wire.streamed(asked, then):
            await response.write(event.encode())
        return response


def _named(asked: Asked, reply: Says | Calls) -> Says | Calls:
    """A call with the name under which the agent offers the tool."""
    if isinstance(reply, Says):
        return reply
    return replace(reply, tool=next((name for name in asked.tools if name.endswith(reply.tool)), reply.tool))
