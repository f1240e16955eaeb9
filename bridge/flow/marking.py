"""Marks: how it stands with what a person said, as a sign on that person's own message."""

from bridge.flow.showing import revise
from bridge.flow.work import Work
from bridge.ids import MessageId, PostId
from bridge.message import Message
from bridge.ports.chat import Heard
from bridge.post import Mark, Post, PostKind


async def mark(work: Work, heard: Heard, sign: Mark, message: MessageId | None = None) -> None:
    """Where its chat can show marks."""
    key = _key(heard.key)
    if heard.receipt is None or await revise(work, key, sign.value):
        return
    work.put(
        Post(
            id=PostId(work.new_id()),
            key=key,
            place=heard.place,
            kind=PostKind.MARK,
            text=sign.value,
            created_at=work.now,
            due_at=work.now,
            message=message,
            receipt=heard.receipt,
        )
    )
    work.then(work.wake.outbox)


async def mark_input(work: Work, message: Message, sign: Mark) -> None:
    """The same once it is an input."""
    for piece in message.pieces[:1]:
        await revise(work, _key(piece.key), sign.value)


def mark_of(message: Message) -> str | None:
    """The key of the mark on what a person said, which has the receipt of that."""
    return _key(message.pieces[0].key) if message.pieces else None


def _key(heard: str) -> str:
    return f"mark:{heard}"
