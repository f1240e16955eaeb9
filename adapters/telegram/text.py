"""Text as Telegram takes it: counted in UTF-16 units, and with nothing in it that cannot be seen."""

import re
import unicodedata

MAX_UNITS = 4096

_SIGN = 0xFFFD
_JOINER = "\u200d"
_UNSEEN = (
    0xAD,
    0x34F,
    0x61C,
    *(0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0),  # fillers
    0x180E,
    *(0x200B, 0x200E, 0x200F),  # what joins letters and emoji, U+200C and U+200D, is left as it is
    *range(0x2028, 0x202F),
    *range(0x2060, 0x2070),
    *range(0xFDD0, 0xFDF0),
    0xFEFF,
    *range(0xFFF9, 0xFFFC),
    *(0xFFFE, 0xFFFF),
    *range(0x1D173, 0x1D17B),
)
_LONE_SURROGATES = range(0xD800, 0xE000)
_VISIBLE: dict[int, int] = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n\r"},
    0x7F: 0x2421,
    **dict.fromkeys((*range(0x80, 0xA0), *_UNSEEN, *_LONE_SURROGATES), _SIGN),
}
_TAGS = re.compile("(\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{2,6}\U000e007f)|[\U000e0000-\U000e0fff]")
"""The flag of a region, and the invisible letters of which it is made where they are by themselves."""


def visible(text: str) -> str:
    """The same text, as many characters as before, with a sign for each control, invisible or text-turning one, so
    that no text can look like another's."""
    if text.isascii() and text.isprintable():
        return text
    return _TAGS.sub(lambda found: found[1] or chr(_SIGN), text.translate(_VISIBLE))


def units(text: str) -> int:
    """Its length as Telegram counts: in UTF-16 units."""
    return len(text) + sum(1 for char in text if ord(char) > 0xFFFF) if not text.isascii() else len(text)


def fitting(text: str, start: int, limit: int) -> int:
    """The end of the longest part from `start` on that has at most `limit` units; one character at least."""
    end = min(start + limit, len(text))
    while (excess := units(text[start:end]) - limit) > 0:
        end -= (excess + 1) // 2
    while end < len(text) and units(text[start : end + 1]) <= limit:
        end += 1
    return max(end, start + 1)


def tears(text: str, cut: int) -> bool:
    """Whether a cut there would be in the middle of what is seen as one character."""
    if not 0 < cut < len(text):
        return False
    before, after = text[cut - 1], text[cut]
    if after.isascii():
        return before == "\r" and after == "\n"
    return (
        unicodedata.category(after) in ("Mn", "Mc", "Me")
        or _JOINER in (before, after)
        or "\U0001f3fb" <= after <= "\U0001f3ff"
        or "\U000e0020" <= after <= "\U000e007f"
        or (_regional(before) and _regional(after) and _regionals_before(text, cut) % 2 == 1)
        or "\u1160" <= after <= "\u11ff"
    )


def untorn(text: str, start: int, end: int) -> int:
    """The last cut at or before `end` that tears nothing; `end` itself where what is torn is longer than half of it."""
    half = start + (end - start) // 2
    cut = end
    while cut > half and tears(text, cut):
        cut -= 1
    return cut if cut > half else end


def _regional(char: str) -> bool:
    """Two of them make a flag."""
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _regionals_before(text: str, cut: int) -> int:
    first = cut
    while first > 0 and _regional(text[first - 1]):
        first -= 1
    return cut - first
