"""Text of others, made safe to show in a terminal."""

import re

_INVISIBLE = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and line feed
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f"  # zero width, separators, direction
    "\u3164\ufeff\uffa0\ufff0-\ufffb"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # musical controls, tags
    "\ud800-\udfff"
    "]"
)


def visible(text: str) -> str:
    """The text with every control, direction and zero-width character written out, e.g. `<U+202E>`.

    Tabs and line feeds stay.
    """
    return _INVISIBLE.sub(lambda found: f"<U+{ord(found[0]):04X}>", text)


def one_line(text: str) -> str:
    """`visible`, with line feeds and tabs written out too."""
    return visible(text).replace("\n", "<U+000A>").replace("\t", "<U+0009>")


def indented(text: str) -> str:
    """`visible`, with each line set in, so that no line can pass for one of ours."""
    return "\n".join(f"    {line}" for line in visible(text).split("\n"))
