"""Edits: what a person has said reads otherwise now.

What still waits is replaced, and keeps its place in the line. What has begun stays as it was, and so does a command:
the place is told so once.
"""

import math
from dataclasses import replace
from itertools import takewhile

from bridge import wording
from bridge.flow.dispatch import Dispatch
from bridge.flow.saying import check_size, digest, put_input
from bridge.flow.showing import show
from bridge.flow.work import Work
from bridge.ids import MessageId, SessionId
from bridge.message import Intent, Message, Outcome, State, in_line
from bridge.ports.chat import Heard
from bridge.ports.store import Key
from bridge.post import PostKind
from bridge.trace import StepKind

REPLACED = "its author has edited it: the new version stands in its place"


async def edit(work: Work, heard: Heard, lanes: Dispatch) -> None:
    """As `bridge.ports.chat.Intake.edit`. Raises `too_large`."""
    binding = await work.store.binding(heard.place)
    answered = await work.post(f"reply:{heard.key}") is not None
    session = binding.session if binding is not None else None
    earlier, following = await _newest(work, session, heard.key) if session is not None else (None, "")
    if heard.text.lstrip().startswith("/"):
        if answered or earlier is not None or (session is not None and not heard.silent):
            await _tell(work, heard, wording.EDITED_COMMAND)
    elif earlier is None:
        if answered:
            await _tell(work, heard, wording.EDITED_COMMAND)
    elif earlier.intent is not Intent.INPUT:
        await _tell(work, heard, wording.EDITED_COMMAND)
    else:
        edited = _edited(earlier, heard)
        if (edited.text, edited.attachments) == (earlier.text, earlier.attachments):
            return  # Chats tell of other changes too, such as the preview of a link.
        if earlier.state is State.QUEUED and not earlier.redelivered:
            check_size(replace(heard, text=edited.text, attachments=edited.attachments))
            await _replace(work, earlier, edited, following, lanes)
        else:
            await _tell(work, heard, wording.EDITED_LATE)


async def _newest(work: Work, session: SessionId, key: str) -> tuple[Message | None, str]:
    """The last version of what was said under that key, and the key of the one that is to follow it. However many
    there are, few are looked at."""
    first = await work.store.key(session, key)
    if first is None:
        return None, ""
    newest, there, missing = first, 0, 0
    while missing - there != 1:
        number = (there + missing) // 2 if missing else 2 * there or 1
        found = await work.store.key(session, _version(first.message, number))
        if found is None:
            missing = number
        else:
            newest, there = found, number
    return await work.message(newest.message), _version(first.message, missing)


def _edited(earlier: Message, heard: Heard) -> Message:
    """With that one piece as it is now."""
    before = list(takewhile(lambda piece: piece.key != heard.key, earlier.pieces))
    if len(before) == len(earlier.pieces):
        return earlier
    piece = earlier.pieces[len(before)]
    start, first = sum(one.chars for one in before), sum(one.attachments for one in before)
    end, last = start + piece.chars, first + piece.attachments
    old = earlier.text[start:end]
    text = heard.text + old[len(old.rstrip()) :] if end < len(earlier.text) else heard.text
    now = replace(piece, chars=len(text), attachments=len(heard.attachments))
    return replace(
        earlier,
        text=earlier.text[:start] + text + earlier.text[end:],
        attachments=(*earlier.attachments[:first], *heard.attachments, *earlier.attachments[last:]),
        pieces=(*before, now, *earlier.pieces[len(before) + 1 :]),
    )


async def _replace(work: Work, earlier: Message, edited: Message, key: str, lanes: Dispatch) -> None:
    queued_at = await _same_place(work, earlier)
    due_at = queued_at if earlier.due_at == earlier.queued_at else earlier.due_at
    ident = MessageId(work.new_id())
    work.put(earlier.to_settled(Outcome.CANCELLED, at=work.now, reason=REPLACED))
    work.step(StepKind.SETTLED, earlier, outcome=Outcome.CANCELLED.value, reason=REPLACED)
    work.key(Key(earlier.recipient, key, digest(edited.text), ident))
    put_input(work, replace(edited, id=ident, accepted_at=work.now, queued_at=queued_at, due_at=due_at, version=0))
    await lanes.hand_over(work, earlier.recipient)


async def _same_place(work: Work, earlier: Message) -> float:
    """The time that has the new version stand where the earlier one does. Ids decide between those that were queued at
    the very same time, and its own is newer."""
    same = [one for one in await work.queue(earlier.recipient) if one.queued_at == earlier.queued_at]
    if not any(in_line(one) > in_line(earlier) for one in same):
        return earlier.queued_at
    before = math.nextafter(earlier.queued_at, 0)
    for one in same:
        if in_line(one) < in_line(earlier):
            work.put(replace(one, queued_at=before, due_at=before if one.due_at == one.queued_at else one.due_at))
    return before


async def _tell(work: Work, heard: Heard, text: str) -> None:
    if await work.post(f"edited:{heard.key}") is None:
        await show(work, f"edited:{heard.key}", heard.place, PostKind.NOTICE, text)


def _version(first: MessageId, number: int) -> str:
    """The key of what the edit of that number has made of a message."""
    return f"edit:{first}:{number}"
