"""What people are to see: texts as the posts of a place, which the outbox brings there."""

from collections.abc import Sequence

from bridge.flow.work import Work
from bridge.ids import MessageId, Place, PostId, SessionId
from bridge.post import Button, Part, Post, PostKind, part_key

SHOWN_PARTS = 3
"""Of a long answer, until somebody asks for the rest: more would push the talk out of sight."""


REST, FILE = "rest", "file"
"""What its buttons are for."""
FILE_NAME = "answer.md"


def as_file(key: str) -> Button:
    return Button("As a file", f"{FILE}:{key}")


_WITHOUT_SOUND = frozenset({PostKind.PROGRESS, PostKind.HANDOFF})


def sent_post(message: MessageId) -> str:
    """The key of what the sender's place shows of a handoff."""
    return f"handoff:{message}:from"


def received_post(message: MessageId) -> str:
    """The same of the recipient's place."""
    return f"handoff:{message}:to"


async def show(
    work: Work,
    key: str,
    place: Place | None,
    kind: PostKind,
    text: str,
    *,
    buttons: Sequence[Button] = (),
    message: MessageId | None = None,
    session: SessionId | None = None,
    answers: str | None = None,
    rich: bool = False,
    unfolded: bool = False,
    silent: bool = False,
) -> None:
    """Wants `text` to be seen at `place`: a new post, or a new revision of the post with this key. It replies to the
    post with the key `answers`, where that is seen there. A rich text is Markdown: an agent's whole text, or one whose
    other parts are escaped; never the bridge's words beside a peer's. Of a long final text the beginning is seen, with
    buttons for the rest, unless it is to be `unfolded`. Its first part alone comes with a sound, unless that is to be
    `silent` too."""
    chat = work.means.chat_of(place)
    if chat is None or place is None:
        return
    place = work.means.led(place)
    parts = chat.compose(text, rich=rich)
    whole = None
    if kind is PostKind.FINAL and not unfolded and len(parts) > SHOWN_PARTS:
        buttons = (*buttons, Button(f"Rest ({len(parts) - SHOWN_PARTS})", f"{REST}:{key}"), as_file(key))
        parts, whole = parts[:SHOWN_PARTS], text
    idents = [PostId(work.new_id()) for _ in parts]  # in a row, so that no other text comes between the parts
    for number, part in enumerate(parts, 1):
        part_buttons = tuple(buttons) if number == len(parts) else ()
        if not await _revise(work, part_key(key, number), part, part_buttons):
            work.put(
                Post(
                    id=idents[number - 1],
                    key=part_key(key, number),
                    place=place,
                    kind=kind,
                    text=part.text,
                    markup=part.markup,
                    created_at=work.now,
                    due_at=work.now,
                    buttons=part_buttons,
                    message=message,
                    session=session,
                    answers=answers if number == 1 else None,
                    whole=whole if number == 1 else None,
                    silent=silent or kind in _WITHOUT_SOUND or number > 1,
                )
            )
    work.then(work.wake.outbox)


async def revise(work: Work, key: str, text: str, *, buttons: Sequence[Button] = ()) -> bool:
    """Gives the post with this key another, plain text; its links stay. False where there is no such post."""
    return await _revise(work, key, Part(text), tuple(buttons))


async def reshow(work: Work, key: str, text: str, *, buttons: Sequence[Button] = ()) -> bool:
    """The same with a rich text, of which as much is shown as the post holds."""
    post = await work.post(key)
    chat = work.means.chat_of(post.place) if post is not None else None
    parts = chat.compose(text, rich=True) if chat is not None else ()
    return bool(parts) and await _revise(work, key, parts[0], tuple(buttons))


async def _revise(work: Work, key: str, part: Part, buttons: tuple[Button, ...]) -> bool:
    earlier = await work.post(key)
    if earlier is None:
        return False
    links = tuple(button for button in earlier.buttons if button.url is not None)
    revised = earlier.revised(part, (*buttons, *links), now=work.now)
    if revised is not earlier:
        work.put(revised)
        work.then(work.wake.outbox)
    return True
