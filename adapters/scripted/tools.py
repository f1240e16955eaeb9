"""The client side of MCP over stdio: the tool servers that session/new names."""

import json
import os
import subprocess
import threading
from collections.abc import Callable
from typing import cast

from adapters.scripted.wire import Frame, Wire

_PROTOCOL = "2025-06-18"


class ToolServer:
    """Started at once, greeted when first used."""

    def __init__(self, spec: Frame, wire: Wire) -> None:
        self.name = str(spec["name"])
        self._wire = wire
        self._names: frozenset[str] | None = None
        self._asked = 0
        self._answers: dict[object, Frame] = {}
        self._open = True
        variables = cast(list[dict[str, str]], spec.get("env") or [])
        self._process = subprocess.Popen(
            [str(spec["command"]), *cast(list[str], spec.get("args") or [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **{variable["name"]: variable["value"] for variable in variables}},
        )
        threading.Thread(target=self._listen, daemon=True).start()

    def has(self, tool: str, stopped: Callable[[], bool]) -> bool:
        if self._names is None:
            client = {"name": "scripted", "version": "1"}
            self._ask("initialize", {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": client}, stopped)
            self._send({"method": "notifications/initialized"})
            listed = self._ask("tools/list", {}, stopped)
            self._names = frozenset(str(entry["name"]) for entry in cast(list[Frame], listed.get("tools") or []))
        return tool in self._names

    def call(self, tool: str, arguments: object, stopped: Callable[[], bool]) -> tuple[object, bool]:
        """The structured result, else the text as JSON, else the text; and whether it went well."""
        result = self._ask("tools/call", {"name": tool, "arguments": arguments}, stopped)
        ok = not result.get("isError", False)
        if result.get("structuredContent") is not None:
            return result["structuredContent"], ok
        blocks = cast(list[Frame], result.get("content") or [])
        text = "".join(str(block.get("text", "")) for block in blocks)
        try:
            return json.loads(text), ok
        except ValueError:
            return text, ok

    def _ask(self, method: str, params: Frame, stopped: Callable[[], bool]) -> Frame:
        self._asked += 1
        asked = self._asked
        self._send({"id": asked, "method": method, "params": params})
        self._wire.wait(lambda: asked in self._answers or not self._open or stopped())
        answer = self._answers.pop(asked, None)
        if answer is None:
            return _error(f"the tool server {self.name} gave no answer to {method}")
        if "error" in answer:
            return _error(str(cast(Frame, answer["error"]).get("message")))
        return cast(Frame, answer.get("result") or {})

    def _send(self, frame: Frame) -> None:
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **frame}).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            self._open = False

    def _listen(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            try:
                frame = json.loads(line)
            except ValueError:
                continue
            if frame.get("method") == "ping":
                self._send({"id": frame["id"], "result": {}})
            elif "method" not in frame:
                self._answers[frame.get("id")] = frame
                self._wire.notify()
        self._open = False
        self._wire.notify()


def _error(text: str) -> Frame:
    return {"isError": True, "content": [{"type": "text", "text": text}]}
