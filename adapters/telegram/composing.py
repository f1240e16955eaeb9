"""Texts as the parts that Telegram takes."""

import logging
import re
from collections.abc import Sequence

from adapters.telegram.formatted import Formatted
from adapters.telegram.parts import parts
from adapters.telegram.text import visible
from bridge.markdown import unescaped
from bridge.post import Part

MOST_RICH = 48_000
MOST_SIGNS = 16_000
"""Characters of Markdown, and of what makes structure in it: a text with more is shown as it was written, for the
bridge does nothing else while it renders."""

_SIGNS = "*_`[~<|&\\$\n"

_NESTED = re.compile(r"^(?:[ \t]*(?:[-+*>]|[0-9]{1,9}[.)])){30}", re.MULTILINE)
_LOG = logging.getLogger(__name__)


def composed(text: str, *, rich: bool) -> Sequence[Part]:
    seen = visible(text.replace("\r\n", "\n").replace("\r", "\n"))
    whole = (_rich(seen) if rich else None) or Formatted(unescaped(seen) if rich else seen)
    return [Part(part.text, part.entities()) for part in parts(whole)]


def _rich(text: str) -> Formatted | None:
    """None for what is shown as it was written."""
    if len(text) > MOST_RICH or sum(map(text.count, _SIGNS)) > MOST_SIGNS or _NESTED.search(text):
        return None
    from adapters.telegram.markdown import rendered  # noqa: PLC0415 - it is not needed for plain texts

    try:
        formatted = rendered(text)
    except Exception:  # noqa: BLE001 - the text has to be shown, whatever its renderer makes of it
        _LOG.exception("Markdown that could not be rendered is shown as it was written")
        return None
    return formatted if formatted.text.strip() else None
