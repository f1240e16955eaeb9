"""Several messages of Telegram that are one thing said: an album, or a long text that the sender's app has cut."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from adapters.telegram.incoming import Said
from adapters.telegram.text import MAX_UNITS, units
from bridge.message import Attachment, Piece
from bridge.ports.chat import Heard

NEAR_UNITS = 3_800
"""From this length on a text may go on in the next message: apps cut at a space or a line's end before the limit."""
_APART_S = 3
"""By how much the parts of one text may differ in Telegram's time: after a pause of the bridge all come at once."""


def follows(said: Said, last: Said, commands: Collection[str]) -> bool:
    """Whether it is a further part of what `last` was a part of."""
    one, other = last.heard, said.heard
    if (one.place, one.person.id) != (other.place, other.person.id) or last.edited or said.edited:
        return False
    if last.album is not None or said.album is not None:
        return last.album == said.album
    typed = other.text.split(maxsplit=1)[:1]
    return (
        last.plain
        and said.plain
        and other.reply_to is None
        and units(one.text) >= NEAR_UNITS
        and said.at - last.at <= _APART_S
        and not any(word.startswith("/") and word[1:] in commands for word in typed)
    )


def may_go_on(said: Said) -> bool:
    """Whether a further part of it may come."""
    return not said.edited and (said.album is not None or (said.plain and units(said.heard.text) >= NEAR_UNITS))


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
