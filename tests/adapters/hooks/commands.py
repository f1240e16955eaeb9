"""Stand-ins for agents' own commands: `commands.py AGENT ARGUMENT…` records the call, and changes what the real one
changes, in its way."""

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from adapters.hooks.jsonc import put, taken

HOME = Path(os.environ["HOME"])


def claude(arguments: list[str]) -> None:
    folder = HOME / ".claude"
    plugins = folder / "plugins"
    plugins.mkdir(parents=True, exist_ok=True)
    path = folder / "settings.json"
    settings = json.loads(path.read_text()) if path.exists() else {}
    markets, enabled = settings.setdefault("extraKnownMarketplaces", {}), settings.setdefault("enabledPlugins", {})
    match arguments:
        case ["plugin", "marketplace", "add", source]:
            markets["tieline"] = {"source": {"source": "directory", "path": source}}
        case ["plugin", "marketplace", "remove", "tieline"]:
            del markets["tieline"]
        case ["plugin", "install", "tieline@tieline"]:
            source = markets["tieline"]["source"]["path"]
            shutil.copytree(Path(source, "tieline"), plugins / "cache" / "tieline" / "tieline" / "0.1.0")
            enabled["tieline@tieline"] = True
        case ["plugin", "uninstall", "tieline@tieline"]:
            del enabled["tieline@tieline"]
        case _:
            sys.exit(1)
    path.write_text(json.dumps(settings, indent=2))
    (plugins / "known_marketplaces.json").write_text(json.dumps(markets))
    (plugins / "installed_plugins.json").write_text(json.dumps({"plugins": enabled}))


def codex(arguments: list[str]) -> None:
    path = HOME / ".codex" / "config.toml"
    text = path.read_text() if path.exists() else ""
    match arguments:
        case ["mcp", "add", "tieline", *_] if "tieline]" not in text:
            program, *words = arguments[arguments.index("--") + 1 :]
            text += f"\n[mcp_servers.tieline]\ncommand = {json.dumps(program)}\nargs = {json.dumps(words)}\n"
        case ["mcp", "remove", "tieline"]:
            text = text[: text.index("\n[mcp_servers.tieline]")]
        case _:
            sys.exit(1)
    path.write_text(text)


def gemini(arguments: list[str]) -> None:
    match arguments:
        case ["mcp", "add", "-s", "user", "tieline", program, *words]:
            _changed(HOME / ".gemini" / "settings.json", "mcpServers", {"command": program, "args": words})
        case ["mcp", "remove", "-s", "user", "tieline"]:
            _changed(HOME / ".gemini" / "settings.json", "mcpServers", None)
        case _:
            sys.exit(1)


def opencode(arguments: list[str]) -> None:
    match arguments:
        case ["mcp", "add", "tieline", "--", *words]:
            path = HOME / ".config" / "opencode" / "opencode.jsonc"
            path.parent.mkdir(parents=True, exist_ok=True)
            _changed(path, "mcp", {"type": "local", "command": words})
            path.write_text(put(path.read_text(), ["$schema"], "https://opencode.ai/config.json"))
        case _:
            sys.exit(1)


def _changed(path: Path, key: str, server: Any) -> None:
    """Comments stay, but blanks do not."""
    text = path.read_text() if path.exists() else "{}"
    text = put(text, [key, "tieline"], server) if server is not None else taken(text, [key, "tieline"])
    path.write_text(text.replace("    ", "  "))


if __name__ == "__main__":
    agent, *given = sys.argv[1:]
    with (HOME / "calls").open("a") as calls:
        print(json.dumps([agent, *given]), file=calls)
    {"claude": claude, "codex": codex, "gemini": gemini, "opencode": opencode}[agent](given)
