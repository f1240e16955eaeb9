"""How a text is made to fit among others: cut, in one line, set in, counted, or with what is attached to it."""

from collections.abc import Sequence

from bridge.message import Attachment

_SHOWN = 700


def short(text: str, limit: int = _SHOWN) -> str:
    text = text.strip()
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def ordinal(number: int) -> str:
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


def set_in(text: str, limit: int = _SHOWN) -> str:
    """Each line after the first is set in, so that none can pass for one of the bridge's own."""
    return "\n  ".join(short(text, limit).splitlines())


def because(reason: str | None) -> str:
    return f": {one_line(reason)}" if reason else ""


def one_line(text: str, limit: int = 300) -> str:
    """A reason may quote what another agent said or printed: in one line it cannot pass for the bridge's own words."""
    return short(" ".join(text.split()), limit)


def counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def with_attachments(text: str, attachments: Sequence[Attachment]) -> str:
    """A text with what is attached to it, for whoever reads it as data."""
    if not attachments:
        return text
    parts = [text] if text.strip() else []
    for one in attachments:
        if one.path is not None:
            parts.append(f"[attached file: {one.path} ({one.mime}, {one.size} bytes)]")
        elif one.text is not None:
            parts.append("\n".join([f"[{one_line(one.name, 200)}]", *(f"> {line}" for line in one.text.splitlines())]))
    return "\n\n".join(parts)
