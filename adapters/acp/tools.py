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


def name_of(update: "ToolCallStart | ToolCallProgress") -> str:
    """The tool's own name where the agent gives it in its metadata, else the title."""
    for meta in (update.field_meta or {}).values():
        if isinstance(meta, dict) and isinstance(meta.get("toolName"), str):
            return str(meta["toolName"])
    return update.title or update.tool_call_id


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
