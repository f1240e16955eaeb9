"""Claude Code: a plugin of its own, added by its own commands. Its settings are never edited: one slip in them would
switch all of them off, permissions included."""

import json
from pathlib import Path
from typing import Any

from adapters.hooks.ground import Ground, read

AGENT = "claude-code"
_PLUGIN = "tieline@tieline"
_WAITS_S = 30 * 86_400
_LEFT = ("enabledPlugins", "extraKnownMarketplaces")
_DESCRIPTION = "Mail between agents' sessions, by the Tieline bridge on this machine."


def install(ground: Ground) -> list[str]:
    settings = _folder(ground) / "settings.json"
    ground.keep(AGENT, settings)
    files = _files(ground)
    same = all(read(path) == text for path, text in files.items())
    for path, text in files.items():
        ground.write(path, text)
    if installed(ground) and same:
        return []
    if installed(ground):
        ground.run("claude", "plugin", "uninstall", _PLUGIN)
        ground.run("claude", "plugin", "marketplace", "remove", "tieline")
    ground.run("claude", "plugin", "marketplace", "add", str(_plugins(ground)))
    ground.run("claude", "plugin", "install", _PLUGIN)
    return ["Start Claude Code again where it runs: a plugin is there from the next start on."]


def remove(ground: Ground) -> None:
    if installed(ground):
        ground.run("claude", "plugin", "uninstall", _PLUGIN)
    if '"tieline"' in (read(_folder(ground) / "plugins" / "known_marketplaces.json") or ""):
        ground.run("claude", "plugin", "marketplace", "remove", "tieline")
    ground.remove(_folder(ground) / "plugins" / "cache" / "tieline")
    ground.remove(_plugins(ground))
    ground.restore(AGENT, _meaning)


def installed(ground: Ground) -> bool:
    return f'"{_PLUGIN}"' in (read(_folder(ground) / "plugins" / "installed_plugins.json") or "")


def _folder(ground: Ground) -> Path:
    return ground.folder("CLAUDE_CONFIG_DIR", ".claude")


def _plugins(ground: Ground) -> Path:
    return ground.own / "hooks" / AGENT / "marketplace"


def _meaning(text: str) -> Any:
    """Settings, less what the agent leaves behind of plugins that are gone."""
    settings = json.loads(text or "{}")
    if isinstance(settings, dict):
        return {key: value for key, value in settings.items() if value != {} or key not in _LEFT}
    return settings


def _files(ground: Ground) -> dict[Path, str]:
    root = _plugins(ground)
    plugin = root / "tieline"

    def command(event: str, **more: Any) -> dict[str, Any]:
        return {"type": "command", "command": ground.hook(event, AGENT), "timeout": 10, **more}

    def hooked(*hooks: dict[str, Any], matcher: str = "*") -> list[dict[str, Any]]:
        return [{"matcher": matcher, "hooks": list(hooks)}]

    waits = command("wait", asyncRewake=True, timeout=_WAITS_S)
    hooks = {
        "SessionStart": hooked(command("start")),
        "UserPromptSubmit": hooked(command("prompt")),
        "PostToolUse": hooked(command("tool")),
        "Stop": hooked(command("stop"), waits),
        "Notification": hooked(command("idle"), matcher="idle_prompt"),
        "SessionEnd": hooked(command("end")),
    }
    server = {
        "command": ground.tieline[0],
        "args": [*ground.tieline[1:], "mcp", "--agent", AGENT],
        **({"env": ground.variables} if ground.variables else {}),
    }
    market = {
        "name": "tieline",
        "description": _DESCRIPTION,
        "owner": {"name": "tieline"},
        "plugins": [{"name": "tieline", "source": "./tieline", "description": _DESCRIPTION}],
    }
    manifest = {"name": "tieline", "version": "0.1.0", "description": _DESCRIPTION, "author": {"name": "tieline"}}
    every = {
        root / ".claude-plugin" / "marketplace.json": market,
        plugin / ".claude-plugin" / "plugin.json": manifest,
        plugin / "hooks" / "hooks.json": {"description": _DESCRIPTION, "hooks": hooks},
        plugin / ".mcp.json": {"mcpServers": {"tieline": server}},
    }
    return {path: json.dumps(value, indent=2) + "\n" for path, value in every.items()}
