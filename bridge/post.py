"""Posts: what people are to see at a place.

A post is a desired state, not a command: its text may be revised, and the outbox brings the chat to the
newest revision, by sending it once and by editing it from then on. A row stays pending until its receipt
is known.
"""

from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum

from bridge.ids import MessageId, Place, PostId, SessionId
from bridge.quick import quick


class PostKind(StrEnum):
    FINAL = "final"
    """An agent's final text, or an answer. Sent before everything else at its place."""
    HANDOFF = "handoff"
    """One handoff as one of its two places sees it; revised as its state changes."""
    NOTICE = "notice"
    """The bridge speaks."""
    REPLY = "reply"
    """The same to a person who has just said something, mostly a command, and waits for it."""
    QUESTION = "question"
    """Asks people something, by a form or by buttons; revised as it is decided."""
    PROGRESS = "progress"
    """What a running turn is doing; revised, and shed under pressure."""
    MARK = "mark"
    """A sign on a person's own message, whose receipt it has from the beginning; its text is one of `Mark`. It gives
    way to everything else, and nobody is told where it cannot be shown."""


class Mark(StrEnum):
    """How it stands with what a person said."""

    ACCEPTED = "accepted"
    DONE = "done"
    REFUSED = "refused"


class Urgency(IntEnum):
    """What comes first where a chat takes only so much. The last of them are the first that are shed."""

    REPLY = 1
    """To a person's command: somebody waits for it, so that it does not wait for the rest."""
    FINAL = 2
    QUESTION = 3
    """Asks people something, by a form or by buttons."""
    NEWS = 4
    REVISION = 5
    """Of what is shown already."""
    PROGRESS = 6
    MARK = 7
    TYPING = 8


_URGENCY = {
    PostKind.REPLY: Urgency.REPLY,
    PostKind.FINAL: Urgency.FINAL,
    PostKind.QUESTION: Urgency.QUESTION,
    PostKind.NOTICE: Urgency.NEWS,
    PostKind.HANDOFF: Urgency.NEWS,
    PostKind.PROGRESS: Urgency.PROGRESS,
    PostKind.MARK: Urgency.MARK,
}


def part_key(key: str, number: int) -> str:
    """The key of a part of what has that key, counted from 1."""
    return key if number == 1 else f"{key}#{number}"


class PostState(StrEnum):
    PENDING = "pending"
    SENT = "sent"
    FAILED = "failed"
    """The chat refused it for good; `error` says why, and operators were told."""


@dataclass(frozen=True, slots=True)
class Button:
    """`action` is at most 64 bytes of `verb:id`; what it means is `flow/buttons.py`'s to say. One with a `url` is a
    link, and has no action: it stays under its post when that is revised."""

    label: str
    action: str = ""
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """As much of a text as one post shows, and how: `markup` is the chat's own word for it, and plain where None."""

    text: str
    markup: str | None = None


@quick
@dataclass(frozen=True, slots=True)
class Post:
    """`key` is unique: revising a post is putting another text under the same key.

    `receipt` is the chat's own id of the sent message. `due_at` holds it back until then. `whole` is the text of which
    the post and those after it show the beginning only, as it was before it was composed. A post with `file` is a
    document of that name, whose content is the text; `reply_to` is the receipt of what it stands below, and `answers`
    the key of the post that it replies to, where that one's receipt is not known yet. A `silent` one comes without a
    sound.
    """

    id: PostId
    key: str
    place: Place
    kind: PostKind
    text: str
    created_at: float
    due_at: float
    buttons: tuple[Button, ...] = ()
    message: MessageId | None = None
    session: SessionId | None = None
    state: PostState = PostState.PENDING
    receipt: str | None = None
    attempts: int = 0
    error: str | None = None
    markup: str | None = None
    whole: str | None = None
    file: str | None = None
    reply_to: str | None = None
    answers: str | None = None
    silent: bool = False
    version: int = 0

    @property
    def urgency(self) -> Urgency:
        urgency = _URGENCY[self.kind]
        if self.receipt is None:
            return urgency
        if self.kind in (PostKind.QUESTION, PostKind.NOTICE) and not any(button.action for button in self.buttons):
            return Urgency.REPLY  # Whoever has decided looks at the buttons until they are gone.
        return max(urgency, Urgency.REVISION)

    @property
    def part(self) -> Part:
        return Part(self.text, self.markup)

    def waits(self, now: float) -> bool:
        """Whether it was put off until later than `now`. What never was is due, even where the clock was set back."""
        return self.due_at > max(now, self.created_at)

    def moved(self, new: Place) -> "Post":
        """Its place goes on as `new`, where nothing of it is shown yet. What the bridge still asks there is shown anew,
        and what a turn is doing from its next revision on; all else that was shown stays behind, and is not
        repeated."""
        moved = replace(self, place=new, reply_to=None)
        if self.kind is PostKind.PROGRESS:
            return replace(moved, receipt=None)
        if self.kind in (PostKind.REPLY, PostKind.QUESTION) and self.buttons:
            return replace(moved, receipt=None, state=PostState.PENDING, error=None)
        return moved

    def revised(self, part: Part, buttons: tuple[Button, ...], *, now: float) -> "Post":
        """A revision does not shorten the wait that the chat has imposed on what it replaces; else it is due at once,
        and stays so where the clock is set back."""
        if (part, buttons) == (self.part, self.buttons):
            return self
        attempts = self.attempts if self.state is PostState.PENDING else 0
        put_off = self.state is PostState.PENDING and self.waits(now)
        due_at = self.due_at if put_off else self.created_at
        return replace(
            self,
            text=part.text,
            markup=part.markup,
            buttons=buttons,
            state=PostState.PENDING,
            due_at=due_at,
            attempts=attempts,
            error=None,
        )
