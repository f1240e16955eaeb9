"""Gemini CLI: its own command for the server, and hooks in its settings. It hears of mail with its next prompt."""

from pathlib import Path
from typing import Any

from adapters.hooks.ground import Ground, read, serves, taken_name
from adapters.hooks.jsonc import Unreadable, parsed
from adapters.hooks.merged import hooks_of, meaning, merge, merged, unmerge

AGENT = "gemini"
_EVENTS = {
    "SessionStart": "start",
    "BeforeAgent": "prompt",
    "AfterTool": "tool",
    "AfterAgent": "stop",
    "SessionEnd": "end",
}
_TIMEOUT_MS = 10_000


def install(ground: Ground) -> list[str]:
    known, wanted = _server(ground), [*ground.tieline, "mcp", "--agent", AGENT]
    if known is not None and not serves(known, AGENT):
        raise taken_name(_settings(ground), wanted)
    ground.keep(AGENT, _settings(ground))
    hooks = hooks_of(ground, AGENT, _EVENTS, _TIMEOUT_MS)
    # Before its own command, which would fail on a file that cannot be read.
    merge(ground, _settings(ground), hooks, AGENT)
    if known != wanted:
        variables = [word for name, value in ground.variables.items() for word in ("-e", f"{name}={value}")]
        if known is not None:
            ground.run("gemini", "mcp", "remove", "-s", "user", "tieline")
        ground.run("gemini", "mcp", "add", "-s", "user", *variables, "tieline", *wanted)
    return ["Start gemini again where it runs. An idle one is not woken: it hears of mail with your next prompt."]


def remove(ground: Ground) -> None:
    if serves(_server(ground) or [], AGENT):
        ground.run("gemini", "mcp", "remove", "-s", "user", "tieline")
    unmerge(ground, _settings(ground), AGENT)
    ground.restore(AGENT, meaning)


def installed(ground: Ground) -> bool:
    return serves(_server(ground) or [], AGENT) and merged(_settings(ground), AGENT)


def _settings(ground: Ground) -> Path:
    return ground.home / ".gemini" / "settings.json"


def _server(ground: Ground) -> list[str] | None:
    try:
        servers: Any = parsed(read(_settings(ground)) or "{}").value.get("mcpServers", {})
    except (Unreadable, AttributeError):
        return None
    server = servers.get("tieline") if isinstance(servers, dict) else None
    return [str(server.get("command")), *server.get("args", [])] if isinstance(server, dict) else None
