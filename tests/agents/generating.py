"""What Gemini CLI speaks to its provider: Google's generateContent."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.agents.provider import Asked, Calls, Fails, Line, Says


class Generating:
    path = "/v1beta/models/{model}:{method}"

    def parsed(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> Asked:
        given = [tool for tools in body.get("tools") or () for tool in tools.get("functionDeclarations") or ()]
        return Asked(
            model=body["model"],
            lines=tuple(_line(one) for one in body["contents"]),
            tools=tuple(tool["name"] for tool in given),
            stream=body["method"] == "streamGenerateContent",
            key=headers.get("x-goog-api-key", ""),
        )

    def whole(self, asked: Asked, reply: Says | Calls) -> Any:
        return _answer(_parts(reply), "STOP")

    def begun(self, asked: Asked, text: str) -> Iterator[str]:
        if text:
            yield _event(_answer([{"text": text}], None))

    def streamed(self, asked: Asked, reply: Says | Calls) -> Iterator[str]:
        yield _event(self.whole(asked, reply))

    def failed(self, fails: Fails) -> Any:
        return {"error": {"code": fails.status, "message": fails.message, "status": "ERROR"}}


def _line(content: Mapping[str, Any]) -> Line:
    texts: list[str] = []
    tool = ""
    for part in content.get("parts") or ():
        if given := part.get("functionResponse"):
            tool = given["name"]
            texts.append(given["response"].get("output") or json.dumps(given["response"]))
        else:
            texts.append(part.get("text", ""))
    return Line("tool" if tool else content.get("role", "user"), "\n".join(texts), tool)


def _parts(reply: Says | Calls) -> list[Any]:
    said = reply.text if isinstance(reply, Says) else reply.says
    parts: list[Any] = [{"text": said}] if said else []
    if isinstance(reply, Calls):
        parts.append({"functionCall": {"name": reply.tool, "args": dict(reply.arguments)}})
    return parts


def _answer(parts: list[Any], finish: str | None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": parts}}
    if finish is not None:
        candidate["finishReason"] = finish
    usage = {"promptTokenCount": 20, "candidatesTokenCount": 10, "totalTokenCount": 30}
    return {"candidates": [candidate], "usageMetadata": usage}


def _event(data: object) -> str:
    return f"data: {json.dumps(data)}\n\n"
