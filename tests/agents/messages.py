"""What Claude Code speaks to its provider: Anthropic's messages."""

import json
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from tests.agents.provider import Asked, Calls, Fails, Line, Says


class Messages:
    path = "/v1/messages"

    def parsed(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> Asked:
        """A message is one line, whatever it consists of: what hooks add to a tool's result stands behind it."""
        called = {
            block["id"]: block["name"]
            for message in body["messages"]
            for block in _blocks(message["content"])
            if block["type"] == "tool_use"
        }
        return Asked(
            model=body["model"],
            lines=tuple(_line(message, called) for message in body["messages"]),
            tools=tuple(tool["name"] for tool in body.get("tools") or ()),
            stream=bool(body.get("stream")),
            key=headers.get("x-api-key") or headers.get("Authorization", "").removeprefix("Bearer "),
        )

    def whole(self, asked: Asked, reply: Says | Calls) -> Any:
        content: list[Any] = [{"type": "text", "text": text}] if (text := _said(reply)) else []
        if isinstance(reply, Calls):
            content.append({**_use(reply), "input": dict(reply.arguments)})
        return {**_head(asked), "content": content, "stop_reason": _stop(reply), "usage": _USAGE}

    def begun(self, asked: Asked, text: str) -> Iterator[str]:
        yield _event("message_start", message={**_head(asked), "content": [], "stop_reason": None, "usage": _USAGE})
        if text:
            yield from _block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": text})

    def streamed(self, asked: Asked, reply: Says | Calls) -> Iterator[str]:
        said = _said(reply)
        yield from self.begun(asked, said)
        if isinstance(reply, Calls):
            given = {"type": "input_json_delta", "partial_json": json.dumps(reply.arguments)}
            yield from _block(1 if said else 0, {**_use(reply), "input": {}}, given)
        yield _event("message_delta", delta={"stop_reason": _stop(reply), "stop_sequence": None}, usage=_USAGE)
        yield _event("message_stop")

    def failed(self, fails: Fails) -> Any:
        return {"type": "error", "error": {"type": "api_error", "message": fails.message}}


_NUMBERS = count(1)
"""Claude Code takes messages of one id for one message, and calls for one call."""
_USAGE = {"input_tokens": 20, "output_tokens": 10}


def _blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _line(message: Mapping[str, Any], called: Mapping[str, str]) -> Line:
    texts: list[str] = []
    tool = ""
    for block in _blocks(message["content"]):
        if block["type"] == "tool_result":
            tool = called.get(block["tool_use_id"], "")
            texts.extend(one.get("text", "") for one in _blocks(block.get("content") or ""))
        else:
            texts.append(block.get("text", ""))
    return Line("tool" if tool else message["role"], "\n".join(texts), tool)


def _said(reply: Says | Calls) -> str:
    return reply.text if isinstance(reply, Says) else reply.says


def _use(calls: Calls) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{next(_NUMBERS)}", "name": calls.tool}


def _stop(reply: Says | Calls) -> str:
    return "end_turn" if isinstance(reply, Says) else "tool_use"


def _head(asked: Asked) -> dict[str, Any]:
    return {"id": f"msg_{next(_NUMBERS)}", "type": "message", "role": "assistant", "model": asked.model}


def _block(index: int, block: object, delta: object) -> Iterator[str]:
    yield _event("content_block_start", index=index, content_block=block)
    yield _event("content_block_delta", index=index, delta=delta)
    yield _event("content_block_stop", index=index)


def _event(kind: str, **data: object) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n"
