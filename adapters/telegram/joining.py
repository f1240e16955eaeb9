"""Several messages of Telegram that are one thing said: an album, a long text that the sender's app has cut, a comment
and what is forwarded with it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from adapters.telegram.incoming import Said
from adapters.telegram.text import MAX_UNITS, units
from bridge.message import Attachment, Piece
from bridge.ports.chat import Heard, MenuLine

NEAR_UNITS = 3_800
"""From this length on a text may go on in the next message: apps cut at a space or a line's end before the limit."""
QUIET_S = 0.7
"""How long after a part of an album or of a long text the next one may come."""
COMMENT_S = 0.25
"""The same of a forward after its comment: the app sends both at once, and nobody feels so short a wait."""
_COMMENT_APART_S = 1
"""By how much they may differ in Telegram's time, which is told in whole seconds."""
_APART_S = 3
"""By how much the parts of one text may differ in Telegram's time: after a pause of the bridge all come at once."""


def follows(said: Said, last: Said, commands: Mapping[str, MenuLine]) -> bool:
    """Whether it is a further part of what `last` was a part of."""
    one, other = last.heard, said.heard
    if (one.place, one.person.id) != (other.place, other.person.id) or last.edited or said.edited:
        return False
    if last.album is not None and last.album == said.album:
        return True
    if other.passed_on:
        return not said.commands and _takes_along(last, commands) and said.at - last.at <= _COMMENT_APART_S
    return (
        last.album is None
        and last.plain
        and said.plain
        and other.reply_to is None
        and units(one.text) >= NEAR_UNITS
        and said.at - last.at <= _APART_S
        and not (said.commands and typed(said) in commands)
    )


def wait_s(said: Said, commands: Mapping[str, MenuLine]) -> float:
    """How long after it a further part of it may come."""
    if said.edited:
        return 0
    if said.album is not None or (said.plain and units(said.heard.text) >= NEAR_UNITS):
        return QUIET_S
    return COMMENT_S if _takes_along(said, commands) else 0


def typed(said: Said) -> str:
    """The command that it begins with, as it was typed, without its stroke."""
    return said.heard.text.split(maxsplit=1)[0].lstrip("/").lower()


def _takes_along(said: Said, commands: Mapping[str, MenuLine]) -> bool:
    """Whether what is forwarded right after it belongs to it: a comment comes before what it is about, and several
    messages that are forwarded at once come one by one."""
    if said.heard.passed_on:
        return not said.commands
    if not said.plain or said.heard.reply_to is not None:
        return False
    line = commands.get(typed(said)) if said.commands else None
    return not said.commands or (line is not None and line.files)


def joined(parts: Sequence[Heard]) -> Heard:
    """One of all of them. What came between two parts, a space or a line's end, Telegram has taken away; a full one
    was cut in the middle."""
    first, text = parts[0], ""
    pieces: list[Piece] = []
    attachments: list[Attachment] = []
    for number, part in enumerate(parts):
        own = part.text
        if own and units(own) < MAX_UNITS and any(later.text for later in parts[number + 1 :]):
            own += "\n"
        along = [one for one in part.attachments if one.text is None or one not in attachments]
        pieces.append(Piece(part.key, len(own), len(along)))
        text += own
        attachments += along
    missing = tuple(sentence for part in parts for sentence in part.missing)
    if len(parts) == 1:
        return first
    return replace(first, text=text, attachments=tuple(attachments), pieces=tuple(pieces), missing=missing)
