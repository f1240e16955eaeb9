"""Text as Telegram takes it: counted in UTF-16 units, and with nothing in it that cannot be seen."""

import unicodedata
from collections.abc import Iterator

MAX_UNITS = 4096

_JOINER = "\u200d"
_LONE_SURROGATES = range(0xD800, 0xE000)
_DISGUISES = (0x200B, 0x2060, 0xFEFF, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_VISIBLE: dict[int, int] = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n\r"},
    0x7F: 0x2421,
    **dict.fromkeys((*range(0x80, 0xA0), *_DISGUISES, *_LONE_SURROGATES), 0xFFFD),
}


def visible(text: str) -> str:
    """The same text, as long as before, with a sign for each control, invisible or text-turning character, so
    that no text can look like another's."""
    return text.translate(_VISIBLE)


def units(text: str) -> int:
    """Its length as Telegram counts: in UTF-16 units."""
    return len(text) + sum(1 for char in text if ord(char) > 0xFFFF)


def split(text: str, limit: int = MAX_UNITS) -> list[str]:
    """The text in parts of at most `limit` units, cut after a paragraph, else a line, else a word, else
    between characters as they are seen. The parts together are the text, but for parts that would be blank."""
    return [part for part in _parts(text, limit) if part.strip()]


def _parts(text: str, limit: int) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = _fitting(text, start, limit)
        if end < len(text):
            end = _cut(text, start, end)
        yield text[start:end]
        start = end


def _fitting(text: str, start: int, limit: int) -> int:
    """The end of a part from `start` on that fits, and that could not be much longer."""
    end = min(start + limit, len(text))
    while (excess := units(text[start:end]) - limit) > 0:
        end -= (excess + 1) // 2
    return max(end, start + 1)


def _cut(text: str, start: int, end: int) -> int:
    """The best place to cut at or before `end`; not in the first half, so that parts do not become shreds."""
    half = start + (end - start) // 2
    for separator in ("\n\n", "\n", " "):
        found = text.rfind(separator, half, end)
        if found >= 0:
            return found + len(separator)
    cut = end
    while cut > half and _joined(text[cut - 1], text[cut]):
        cut -= 1
    return cut if cut > half else end


def _joined(before: str, after: str) -> bool:
    """Whether the two are seen as one character."""
    return (
        unicodedata.category(after) in ("Mn", "Mc", "Me")
        or _JOINER in (before, after)
        or "\U0001f3fb" <= after <= "\U0001f3ff"
        or (before == "\r" and after == "\n")
    )
