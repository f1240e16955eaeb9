"""What each agent's hooks are called, and how they are answered: data. The bridge says the same to all of them.

It is on the way of every tool call, so it loads nothing.
"""

from typing import Any, NamedTuple

NOTICE = "{notice}"
"""Stands in a form for the notice."""


class Format(NamedTuple):
    """`answers` are what a hook prints to give its agent a notice, by the event. `thread` is the key of its input that
    names the agent's own session. A waiter ends with `exit_code` and the notice on stderr, or else runs `command`;
    with neither it prints what `answers` has for `wait`. `detached`: the stop hook starts the waiter itself."""

    answers: dict[str, Any]
    thread: str = "session_id"
    exit_code: int = 0
    command: tuple[str, ...] = ()
    detached: bool = False


def _context(event: str) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": NOTICE}}


_BLOCK = {"decision": "block", "reason": NOTICE}
_PLAIN = {"notice": NOTICE}

FORMATS = {
    "claude-code": Format(
        {"prompt": _context("UserPromptSubmit"), "tool": _context("PostToolUse"), "stop": _BLOCK}, exit_code=2
    ),
    "codex": Format(
        {"prompt": _context("UserPromptSubmit"), "tool": _context("PostToolUse"), "stop": _BLOCK},
        command=("codex", "queue", "--thread", "{thread}", "--message", NOTICE),
        detached=True,
    ),
    "gemini": Format({"prompt": _context("BeforeAgent"), "tool": _context("AfterTool"), "stop": _BLOCK}),
    # Their plugins read this, and put it where it belongs.
    "opencode": Format({"prompt": _PLAIN, "tool": _PLAIN, "stop": _PLAIN, "wait": _PLAIN}),
    "hermes": Format({"prompt": _PLAIN, "tool": _PLAIN, "stop": _PLAIN, "wait": _PLAIN}),
}

EVENTS = frozenset({"start", "prompt", "tool", "stop", "idle", "end"})


def filled(form: Any, **values: str) -> Any:
    """A form with its values."""
    if isinstance(form, dict):
        return {key: filled(value, **values) for key, value in form.items()}
    if isinstance(form, (list, tuple)):
        return [filled(value, **values) for value in form]
    for name, value in values.items():
        if form == f"{{{name}}}":
            return value
    return form
