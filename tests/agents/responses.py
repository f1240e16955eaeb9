"""What Codex speaks to its provider: OpenAI's responses."""

import json
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from tests.agents.provider import Asked, Calls, Fails, Line, Says


class Responses:
    path = "/v1/responses"

    def parsed(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> Asked:
        given = body["input"] if isinstance(body["input"], list) else [{"role": "user", "content": body["input"]}]
        called = {
            item["call_id"]: _BETWEEN.join(filter(None, (item.get("namespace"), item["name"])))
            for item in given
            if item.get("type") == "function_call"
        }
        return Asked(
            model=body["model"],
            lines=tuple(line for item in given if (line := _line(item, called)) is not None),
            tools=tuple(_names(body.get("tools") or ())),
            stream=bool(body.get("stream")),
            key=headers.get("Authorization", "").removeprefix("Bearer "),
        )

    def whole(self, asked: Asked, reply: Says | Calls) -> Any:
        return {**_head(asked), "status": "completed", "output": _items(reply), "usage": _USAGE}

    def begun(self, asked: Asked, text: str) -> Iterator[str]:
        yield _event("response.created", response={**_head(asked), "status": "in_progress", "output": []})
        if text:
            yield _event("response.output_item.added", output_index=0, item={**_message(""), "content": []})
            yield _event("response.output_text.delta", output_index=0, content_index=0, item_id="msg_1", delta=text)

    def streamed(self, asked: Asked, reply: Says | Calls) -> Iterator[str]:
        yield from self.begun(asked, _said(reply))
        for index, item in enumerate(_items(reply)):
            yield _event("response.output_item.done", output_index=index, item=item)
        yield _event("response.completed", response=self.whole(asked, reply))

    def failed(self, fails: Fails) -> Any:
        return {"error": {"message": fails.message, "type": "error", "code": str(fails.status)}}


_NUMBERS = count(1)
"""Codex tells calls apart by their ids, over all of a thread."""
_USAGE = {
    "input_tokens": 20,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 10,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 30,
}


_BETWEEN = "__"
"""Between the name of a server's namespace and that of its tool, as other agents write it."""


def _names(tools: Any) -> Iterator[str]:
    """Those of MCP servers stand together under the server's name."""
    for tool in tools:
        if tool.get("type") == "namespace":
            yield from (f"{tool['name']}{_BETWEEN}{inner['name']}" for inner in tool["tools"])
        elif "name" in tool:
            yield tool["name"]


def _line(item: Mapping[str, Any], called: Mapping[str, str]) -> Line | None:
    if item.get("type") == "function_call_output":
        output = item["output"]
        return Line("tool", output if isinstance(output, str) else json.dumps(output), called.get(item["call_id"], ""))
    if item.get("type", "message") != "message":
        return None
    content = item["content"]
    text = content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)
    return Line(item["role"], text)


def _said(reply: Says | Calls) -> str:
    return reply.text if isinstance(reply, Says) else reply.says


def _message(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}


def _items(reply: Says | Calls) -> list[dict[str, Any]]:
    items = [_message(text)] if (text := _said(reply)) else []
    if isinstance(reply, Calls):
        namespace, _, name = reply.tool.rpartition(_BETWEEN)
        call = {"name": name, "arguments": json.dumps(reply.arguments), "call_id": f"call_{next(_NUMBERS)}"}
        if namespace:
            call["namespace"] = namespace
        items.append({"type": "function_call", "id": "fc_1", "status": "completed", **call})
    return items


def _head(asked: Asked) -> dict[str, Any]:
    return {"id": "resp_1", "object": "response", "created_at": 1, "model": asked.model}


def _event(kind: str, **data: object) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n"
