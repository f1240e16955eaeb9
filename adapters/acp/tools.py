"""Which tool calls an agent announces are the bridge's own reading ones."""

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
