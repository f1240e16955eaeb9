"""Histories: what an agent's context holds, and what that proves of a turn that was lost (DESIGN §5, Turn states)."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from bridge.turn import Turn


@dataclass(frozen=True, slots=True)
class Called:
    """A tool call. `reading` says that it was one of the bridge's own reading tools, which change nothing."""

    name: str
    reading: bool


@dataclass(frozen=True, slots=True)
class History:
    """`prompts` are the digests of the prompts that an agent's context holds, the oldest first; `calls` are the tool
    calls that were replayed after the last of them."""

    prompts: tuple[str, ...] = ()
    calls: tuple[Called, ...] = ()


def digest(parts: Iterable[str]) -> str:
    """Of a prompt, however its agent joins or parts its text as it replays it."""
    letters = "".join("".join(parts).split())
    return hashlib.sha256(letters.encode("utf-8", "replace")).hexdigest()


def doubt(turn: Turn, history: History, *, has_read: bool) -> str | None:
    """Why a lost turn may have acted, or None where the history proves that it used no tool but reading ones.

    Many prompts are alike, every notice of mail to begin with. So the turn's own must be the last one, and stand there
    as often as it was sent: an agent that never kept it, or has dropped or joined any like it, proves nothing. Nor
    does one that keeps calls late: `has_read` says that the turn has read its mail, and then a call must be shown.
    """
    if turn.tools_begun:
        return "it had begun to use tools"
    found = history.prompts.count(turn.prompt) if turn.prompt is not None else 0
    if found == 0 or found != turn.occurrence or history.prompts[-1] != turn.prompt:
        return "its agent's history does not show for sure how far it came"
    changing = next((call for call in history.calls if not call.reading), None)
    if changing is not None:
        return f"its agent's history shows that it had begun to use a tool ({changing.name[:100]})"
    if has_read and not history.calls:
        return "its agent's history does not show all that it did"
    return None
