"""The tool calls that an agent announces, and which of them are the bridge's own reading ones."""

import hashlib
from typing import TYPE_CHECKING

from bridge.results import NAME_CHARS

if TYPE_CHECKING:
    from acp.schema import ToolCallProgress, ToolCallStart

SERVER = "tieline"
"""The name under which agents get the bridge's tool server."""

_READING = ("peer_receive", "peer_sessions")
_FORMS = (
    f"mcp__{SERVER}__%s",
    f"mcp_{SERVER}_%s",
    f"{SERVER}_%s",
    f"{SERVER}.%s",
    f"{SERVER}/%s",
    f"{SERVER}__%s",
    f"Tool: {SERVER}/%s",
    "%s",
)
_NAMES = frozenset(form % tool for form in _FORMS for tool in _READING)
_CHANGING = frozenset({"edit", "delete", "move", "execute"})


def reads_only(name: str, kind: str | None) -> bool:
    """False in doubt: a title is free text, and a tool that says it changes something is not ours."""
    return name in _NAMES and kind not in _CHANGING


def reads(update: "ToolCallStart | ToolCallProgress") -> bool:
    """Whether it is a call of one of the bridge's tools that only read."""
    # Codex takes each call of a tool server for one that executes something.
    return reads_only(name_of(update), None if _server_and_tool(update) else update.kind)


def name_of(update: "ToolCallStart | ToolCallProgress") -> str:
    """The tool's own name where the agent gives it as data, else the title."""
    if known := _server_and_tool(update):
        return known
    for meta in (update.field_meta or {}).values():
        if isinstance(meta, dict) and isinstance(meta.get("toolName"), str):
            return str(meta["toolName"])
    return update.title or update.tool_call_id


def _server_and_tool(update: "ToolCallStart | ToolCallProgress") -> str | None:
    """As Codex tells of a call of a tool server."""
    told = update.raw_input if (update.field_meta or {}).get("is_mcp_tool_call") is True else None
    if not isinstance(told, dict) or not isinstance(told.get("server"), str) or not isinstance(told.get("tool"), str):
        return None
    return f"{told['server']}.{told['tool']}"


def call_of(update: "ToolCallStart | ToolCallProgress") -> str:
    """What tells a call from others, however long the agent makes it."""
    ident = update.tool_call_id
    return ident if len(ident) <= NAME_CHARS else hashlib.sha256(ident.encode("utf-8", "replace")).hexdigest()


def result_of(update: "ToolCallStart | ToolCallProgress") -> object:
    """What a call gave: as data, or else the texts that are shown of it."""
    if update.raw_output is not None:
        return update.raw_output
    texts = [getattr(one.content, "text", "") for one in update.content or () if one.type == "content"]
    return "\n".join(texts[:20])
