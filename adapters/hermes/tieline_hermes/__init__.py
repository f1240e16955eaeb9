"""Tieline for Hermes' gateway: its topics hand work to each other and to other agents, by the bridge's rules."""

import json
import logging
import os
from pathlib import Path
from typing import Any

from .desk import Desk
from .host import VERSIONS, version

log = logging.getLogger(__name__)

_NAME = "mcp_tieline_{}"
"""Hermes marks as untrusted what tools give whose names begin so, and what these give is other agents' text."""


def register(ctx: Any) -> None:
    """Called by Hermes once the plugin is enabled."""
    found = version()
    if not found.startswith(VERSIONS):
        tried = " and ".join(f"{one}x" for one in VERSIONS)
        log.error(
            "tieline: this is Hermes %s, and the plugin knows %s: it stays off. Look for a newer one.", found, tried
        )
        return
    home = Path(os.environ.get("HERMES_HOME") or Path.home() / ".hermes")
    bridge = Path(os.environ.get("TIELINE_HOME") or Path.home() / ".tieline")
    desk = Desk(home, bridge / "run" / "control.sock", f"hermes {found}")
    for tool in json.loads((Path(__file__).parent / "tools.json").read_text()):
        _offer(ctx, desk, tool)
    hooks = ("pre_gateway_dispatch", "pre_llm_call", "post_llm_call", "pre_tool_call", "on_session_end")
    for hook in (*hooks, "on_session_reset"):
        ctx.register_hook(hook, getattr(desk, hook))
    _complain(ctx)
    desk.link.start()


def _offer(ctx: Any, desk: Any, tool: dict[str, Any]) -> None:
    def handler(arguments: dict[str, Any] | None = None, task_id: str = "", **_: Any) -> str:
        return json.dumps(desk.call(tool["name"], dict(arguments or {}), task_id), ensure_ascii=False)

    name = _NAME.format(tool["name"])
    schema = {"name": name, "description": tool["description"], "parameters": tool["parameters"]}
    ctx.register_tool(name, "tieline", schema, handler, description=tool["description"])


def _complain(ctx: Any) -> None:
    """A person's message that interrupts a turn of the bridge's makes that wait again; one that queues does not."""
    try:
        from hermes_cli.config import load_config

        mode = ((load_config() or {}).get("display") or {}).get("busy_input_mode")
    except Exception:
        return
    if mode != "queue":
        log.warning("tieline: set display.busy_input_mode to queue, so that people and agents take turns in a topic")
