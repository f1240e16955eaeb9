"""Codex: its own command for the server, and its file of hooks. The trust in these is the person's to give."""

import tomllib
from pathlib import Path
from typing import Any

from adapters.hooks.ground import Ground, read, serves, taken_name
from adapters.hooks.merged import hooks_of, meaning, merge, merged, unmerge

AGENT = "codex"
_EVENTS = {
    "SessionStart": "start",
    "UserPromptSubmit": "prompt",
    "PostToolUse": "tool",
    "Stop": "stop",
    "SessionEnd": "end",
}


def install(ground: Ground) -> list[str]:
    hooks, config = _folder(ground) / "hooks.json", _folder(ground) / "config.toml"
    if _server(ground) is not None and not _is_ours(_server(ground)):
        raise taken_name(config, _wanted(ground))
    ground.keep(AGENT, hooks, config)
    merge(ground, hooks, hooks_of(ground, AGENT, _EVENTS, 10, farewell=3), AGENT)
    if _server(ground) != _wanted(ground):
        variables = [word for name, value in ground.variables.items() for word in ("--env", f"{name}={value}")]
        ground.run("codex", "mcp", "add", "tieline", *variables, "--", *ground.tieline, "mcp", "--agent", AGENT)
    if not ground.changed and not ground.ran:
        return []
    return ["Start codex in a terminal, type /hooks, and trust those of tieline: until then none of them runs."]


def remove(ground: Ground) -> None:
    unmerge(ground, _folder(ground) / "hooks.json", AGENT)
    if _is_ours(_server(ground)):
        ground.run("codex", "mcp", "remove", "tieline")
    ground.restore(AGENT, _meaning)


def installed(ground: Ground) -> bool:
    return _is_ours(_server(ground)) and merged(_folder(ground) / "hooks.json", AGENT)


def _folder(ground: Ground) -> Path:
    return ground.folder("CODEX_HOME", ".codex")


def _server(ground: Ground) -> Any:
    try:
        servers = tomllib.loads(read(_folder(ground) / "config.toml") or "").get("mcp_servers", {})
    except ValueError:
        return None
    return servers.get("tieline") if isinstance(servers, dict) else None


def _is_ours(server: Any) -> bool:
    args = server.get("args") if isinstance(server, dict) else None
    return isinstance(args, list) and serves(args, AGENT)


def _wanted(ground: Ground) -> dict[str, Any]:
    server: dict[str, Any] = {"command": ground.tieline[0], "args": [*ground.tieline[1:], "mcp", "--agent", AGENT]}
    return {**server, "env": ground.variables} if ground.variables else server


def _meaning(text: str) -> Any:
    """Of the one file or the other."""
    try:
        return meaning(text)
    except ValueError:
        return tomllib.loads(text)
