"""Tieline for Hermes' gateway: its topics hand work to each other and to other agents, by the bridge's rules."""

import json
import logging
import os
from pathlib import Path
from typing import Any

from .desk import Desk
from .hooks import HOOKS, Hooks
from .host import VERSIONS, version

log = logging.getLogger(__name__)

_NAME = "mcp_tieline_{}"
"""Hermes marks as untrusted what tools give whose names begin so, and what these give is other agents' text."""


def register(ctx: Any) -> None:
    """Called by Hermes once the plugin is enabled."""
    found = version()
    home = Path(os.environ.get("HERMES_HOME") or Path.home() / ".hermes")
    bridge = Path(os.environ.get("TIELINE_HOME") or Path.home() / ".tieline")
    desk = Desk(home, bridge / "run" / "control.sock", f"hermes {found}", _advice())
    if found.startswith(VERSIONS):
        for tool in json.loads((Path(__file__).parent / "tools.json").read_text()):
            _offer(ctx, desk.hooks, tool)
        for hook in HOOKS:
            ctx.register_hook(hook, getattr(desk.hooks, hook))
    else:
        tried = " and ".join(f"{one}x" for one in VERSIONS)
        desk.unfit(f"this is Hermes {found}, and the plugin knows {tried}")
    desk.link.start()


def _offer(ctx: Any, hooks: Hooks, tool: dict[str, Any]) -> None:
    def handler(arguments: dict[str, Any] | None = None, task_id: str = "", **_: Any) -> str:
        return json.dumps(hooks.call(tool["name"], dict(arguments or {}), task_id), ensure_ascii=False)

    name = _NAME.format(tool["name"])
    schema = {"name": name, "description": tool["description"], "parameters": tool["parameters"]}
    ctx.register_tool(name, "tieline", schema, handler, description=tool["description"])


def _advice() -> tuple[str, ...]:
    """A person's words that interrupt a turn of the bridge's make that wait again; words that queue do not."""
    try:
        from hermes_cli.config import load_config

        mode = ((load_config() or {}).get("display") or {}).get("busy_input_mode")
    except Exception:
        return ()
    if mode == "queue":
        return ()
    better = "Set display.busy_input_mode to queue in Hermes' config.yaml, so that people and agents take turns."
    log.warning("tieline: %s", better)
    return (better,)
