"""A stand-in for an agent in a person's terminal: it runs the hooks and the MCP server of a plugin folder as they are
installed there. Each line that is typed is a JSON list: what to do, with its arguments. It answers in lines of JSON."""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

WOKEN: "queue.Queue[str]" = queue.Queue()


class Agent:
    def __init__(self, plugin: Path) -> None:
        self._hooks = json.loads((plugin / "hooks" / "hooks.json").read_text())["hooks"]
        server = json.loads((plugin / ".mcp.json").read_text())["mcpServers"]["tieline"]
        self._server = subprocess.Popen(
            [server["command"], *server["args"]],
            env={**os.environ, **server.get("env", {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._calls = 0

    def begin(self) -> Any:
        info = {"name": "stand-in", "version": "1"}
        answer = self._asked("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info})
        self._say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        return self._asked("tools/call", {"name": tool, "arguments": arguments})

    def prompt(self, text: str) -> Any:
        return self._ran("UserPromptSubmit", prompt=text)

    def tool(self) -> Any:
        return self._ran("PostToolUse", tool_name="Bash", tool_response={"stdout": "done"})

    def stop(self, active: bool = False) -> Any:
        return self._ran("Stop", stop_hook_active=active)

    def woken(self) -> str:
        return WOKEN.get(timeout=20)

    def shell(self, *arguments: str) -> Any:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "adapters.main", *arguments], capture_output=True, text=True, check=False
        )
        return [done.returncode, done.stdout]

    def _ran(self, event: str, **given: Any) -> list[Any]:
        """What its hooks print. Those that may wake it run beside it."""
        said = json.dumps({"session_id": "s-1", "cwd": os.getcwd(), "hook_event_name": event, **given})
        printed = []
        for hook in self._matching(event):
            if hook.get("asyncRewake"):
                threading.Thread(target=self._rewaken, args=(hook["command"], said), daemon=True).start()
                continue
            done = subprocess.run(
                ["sh", "-c", hook["command"]], input=said, capture_output=True, text=True, check=False
            )
            printed.append([done.returncode, json.loads(done.stdout) if done.stdout.strip() else None])
        return printed

    def _rewaken(self, command: str, said: str) -> None:
        done = _run(["sh", "-c", command], said)
        if done.returncode == 2:
            WOKEN.put(done.stderr.strip())

    def _matching(self, event: str) -> Iterator[dict[str, Any]]:
        for group in self._hooks[event]:
            yield from group["hooks"]

    def _asked(self, method: str, params: dict[str, Any]) -> Any:
        self._calls += 1
        self._say({"jsonrpc": "2.0", "id": self._calls, "method": method, "params": params})
        assert self._server.stdout
        while True:
            answer = json.loads(self._server.stdout.readline() or '{"id": null}')
            if answer.get("id") in (self._calls, None) and "method" not in answer:
                return answer

    def _say(self, frame: dict[str, Any]) -> None:
        assert self._server.stdin
        self._server.stdin.write(json.dumps(frame).encode() + b"\n")
        self._server.stdin.flush()


def _run(command: list[str], said: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, input=said, capture_output=True, text=True, check=False)


if __name__ == "__main__":
    agent = Agent(Path(sys.argv[1]))
    for line in sys.stdin:
        what, *given = json.loads(line)
        print(json.dumps(getattr(agent, what)(*given)), flush=True)
