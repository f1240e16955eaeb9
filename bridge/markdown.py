"""Markdown that the bridge writes: how words that are not its own stand in it without becoming part of it."""

import re

_STRUCTURE = re.compile(r"[!-/:-@\[-`{-~\n\t]|^ | (?= )| $")
_WRITTEN = re.compile(r"&#([0-9]{1,3});")
_TICKS = re.compile("`+")


def escaped(text: str) -> str:
    """Shows as `text` itself, wherever in a line it is put. Each sign that could mean something is written as a
    character reference, for those never make structure, not even at the beginning of a line."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return _STRUCTURE.sub(lambda sign: f"&#{ord(sign[0])};", lines)


def code(text: str) -> str:
    """`text` as code within a line. It shows as one line; what is empty shows as nothing."""
    line = " ".join(text.split())
    if not line:
        return ""
    fence = "`" * (1 + max((len(ticks) for ticks in _TICKS.findall(line)), default=0))
    return f"{fence} {line} {fence}" if "`" in (line[0], line[-1]) else f"{fence}{line}{fence}"


def unescaped(text: str) -> str:
    """Undoes `escaped`, for a chat that shows Markdown as it is written."""
    return _WRITTEN.sub(
        lambda sign: sign[0] if _STRUCTURE.match(chr(int(sign[1]))) is None else chr(int(sign[1])), text
    )
