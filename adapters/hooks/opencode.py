"""OpenCode: a plugin file, and its own command for the server."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from adapters.hooks.ground import ByHand, Ground, read, serves, taken_name
from adapters.hooks.jsonc import Unreadable, parsed, taken
from adapters.hooks.merged import meaning

AGENT = "opencode"


def install(ground: Ground) -> list[str]:
    configs = _configs(ground)
    for path in configs:
        if (text := read(path)) is not None and _mcp(text) is None:
            raise ByHand(path, "it is no JSON", json.dumps({"mcp": {"tieline": _wanted(ground)}}, indent=2))
        if "tieline" in (servers := _mcp(text or "") or {}) and not _is_ours(servers["tieline"]):
            raise taken_name(path, _wanted(ground))
    ground.keep(AGENT, *configs)
    if _server(ground) != _wanted(ground):
        _take_server(ground)
        variables = [word for name, value in ground.variables.items() for word in ("--env", f"{name}={value}")]
        ground.run("opencode", "mcp", "add", "tieline", *variables, "--", *ground.tieline, "mcp", "--agent", AGENT)
    # Last, for with plugins beside it each of its commands would look for their packages first.
    ground.write(_plugin(ground), _text(ground))
    if not ground.changed and not ground.ran:
        return []
    return ["Start opencode again where it runs: a plugin is there from the next start on."]


def remove(ground: Ground) -> None:
    _take_server(ground)
    ground.remove(_plugin(ground))
    ground.restore(AGENT, _meaning)
    folder = _plugin(ground).parent
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def installed(ground: Ground) -> bool:
    return _is_ours(_server(ground)) and _plugin(ground).exists()


def _take_server(ground: Ground) -> None:
    """It has no command for that."""
    for path in _configs(ground):
        text = read(path)
        if text is None or not _is_ours((_mcp(text) or {}).get("tieline")):
            continue
        text = taken(text, ["mcp", "tieline"])
        mcp = parsed(text).get("mcp")
        ground.write(path, taken(text, ["mcp"]) if mcp is not None and not mcp.parts else text)


def _folder(ground: Ground) -> Path:
    named = ground.environ.get("XDG_CONFIG_HOME")
    return (Path(named) if named else ground.home / ".config") / "opencode"


def _plugin(ground: Ground) -> Path:
    return _folder(ground) / "plugins" / "tieline.js"


def _configs(ground: Ground) -> list[Path]:
    return [_folder(ground) / name for name in ("opencode.jsonc", "opencode.json", "config.json")]


def _mcp(text: str) -> dict[str, Any] | None:
    """The servers that a config names; None where it cannot be read."""
    try:
        value = parsed(text).value if text.strip() else {}
    except Unreadable:
        return None
    servers = value.get("mcp", {}) if isinstance(value, dict) else None
    return servers if isinstance(servers, dict) else None


def _server(ground: Ground) -> Any:
    every = (_mcp(text) or {} for path in _configs(ground) if (text := read(path)) is not None)
    return next((servers["tieline"] for servers in every if "tieline" in servers), None)


def _is_ours(server: Any) -> bool:
    command = server.get("command") if isinstance(server, dict) else None
    return isinstance(command, list) and serves(command, AGENT)


def _wanted(ground: Ground) -> dict[str, Any]:
    server: dict[str, Any] = {"type": "local", "command": [*ground.tieline, "mcp", "--agent", AGENT]}
    return {**server, "environment": ground.variables} if ground.variables else server


def _text(ground: Ground) -> str:
    variables = [f"{name}={value}" for name, value in ground.variables.items()]
    words = [*(["env", *variables] if variables else []), *ground.tieline]
    form = files(__package__).joinpath("plugins", "opencode.js").read_text("utf-8")
    return form.replace('"{command}"', json.dumps(words))


def _meaning(text: str) -> Any:
    """Its own command adds the address of the schema."""
    value = meaning(text)
    return {key: one for key, one in value.items() if key != "$schema"} if isinstance(value, dict) else value
