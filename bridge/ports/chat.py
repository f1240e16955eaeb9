"""Chats: where people are. Each adapter owns one scheme of places."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

from bridge.ids import Place
from bridge.message import Attachment, Piece
from bridge.post import Part, Post


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody whom the adapter has authenticated. `id` is `scheme:number`, `name` is for display."""

    id: str
    name: str
    operator: bool


@dataclass(frozen=True, slots=True)
class Heard:
    """A person said `text` at `place`. `key` is unique for it, so that it is never handled twice.

    `reply_to` is the receipt of the post that it replies to. At a `silent` place nobody is offered anything. What is
    `passed_on` was written by somebody else: it may be read, but it commands nothing. `attachments` are stored files,
    and texts that others wrote. `receipt` is the chat's own id of it, where it can be marked. What the chat has cut
    into several messages, or shows as one album, is one, made of `pieces`; without any it is a piece of its own.
    `missing` are sentences for the person about what came along and could not be had. `replied` are the words that it
    replies to, where they are that very person's own. A stop `outranks` so many things that were said before it.
    """

    place: Place
    person: Person
    text: str
    key: str
    title: str | None = None
    reply_to: str | None = None
    silent: bool = False
    passed_on: bool = False
    attachments: tuple[Attachment, ...] = ()
    receipt: str | None = None
    pieces: tuple[Piece, ...] = ()
    missing: tuple[str, ...] = ()
    replied: str | None = None
    outranks: int = 0


@dataclass(frozen=True, slots=True)
class Pressed:
    """A person pressed a button of a post."""

    place: Place
    person: Person
    action: str
    receipt: str | None = None


@dataclass(frozen=True, slots=True)
class MenuLine:
    """What a command does, as the menu of a chat says it, and whether it takes files along."""

    help: str
    operators_only: bool = False
    files: bool = False


class Overtakes(Enum):
    """What of that which was said at its place before, and is not acted on yet, something passes."""

    NOTHING = auto()
    WHAT_WAITS = auto()
    """It is acted on at once."""
    STOP = auto()
    """The same, and what is said after it waits for it. What was said before it, but commands, is not acted on any
    more: whoever stops a session does not mean it to begin with that."""


class NotDelivered(Exception):
    """A post did not reach its place, for sure. `retry_at` is set where trying again makes sense."""

    def __init__(self, reason: str, *, retry_at: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_at = retry_at


class Gone(NotDelivered):
    """The place is no more, for its topic was deleted."""


class TooLong(NotDelivered):
    """The chat takes less at once than it was thought to. The same text may fit into a document."""


class Later(NotDelivered):
    """The chat takes nothing of that urgency at that place before `until`. It was not even tried: that costs the post
    nothing, and needs no storing, since the chat knows it after a restart too."""

    def __init__(self, reason: str, *, until: float) -> None:
        super().__init__(reason, retry_at=until)
        self.until = until


class Blocked(NotDelivered):
    """The place takes nothing until a person has done something about it. What is for it is kept, and tried again by
    and by; operators are told."""

    def __init__(self, reason: str, *, retry_at: float) -> None:
        super().__init__(reason, retry_at=retry_at)


class Moved(NotDelivered):
    """The place goes on as `new`, by the chat's own word."""

    def __init__(self, reason: str, new: Place) -> None:
        super().__init__(reason)
        self.new = new


class Ambiguous(Exception):
    """A post may or may not have reached its place: trying again may show it twice."""


@dataclass(frozen=True, slots=True)
class Renamed:
    """People have given a topic another name. `person` is None where it is not known who."""

    place: Place
    name: str
    person: Person | None = None


@dataclass(frozen=True, slots=True)
class Reopened:
    """Something can be shown at that place again."""

    place: Place


@dataclass(frozen=True, slots=True)
class Admitted:
    """The chat takes something again, or takes more, at that place and others that it alone may name."""

    place: Place


@dataclass(frozen=True, slots=True)
class Migrated:
    """The place `old` goes on as `new`, by the chat's own word."""

    old: Place
    new: Place


Happening = Renamed | Reopened | Admitted | Migrated


class Chat(Protocol):
    @property
    def scheme(self) -> str: ...

    def compose(self, text: str, *, rich: bool = False) -> Sequence[Part]:
        """The text in parts that the chat takes, none empty, nothing lost. A rich one is Markdown, which the chat
        shows as such where it can; a plain one is shown as it is, whatever it looks like."""
        ...

    def may_talk(self, person: str, place: Place) -> bool:
        """Whether that person may talk at that place of this chat."""
        ...

    def attended(self, place: Place) -> bool:
        """Whether an operator can see and answer what is shown at that place."""
        ...

    def reports(self) -> Sequence[Place]:
        """Where operators are told, without its text, what could not be shown at its own place."""
        ...

    def link(self, receipt: str) -> str | None:
        """The address at which whoever is in its chat finds the message that was given this receipt. None where there
        is none that others could follow."""
        ...

    async def glimpse(self, place: Place, about: str, text: str) -> bool:
        """Shows for a few seconds that somebody is at work there, and where the chat can, the `text` that grows
        meanwhile: the newest `about` the same replaces the one before. Nothing is tried again, nothing raised; what the
        chat has no room for is left out. Returns whether the text is seen."""
        ...

    async def deliver(self, post: Post) -> str:
        """Sends the post, or edits what was sent where it has a receipt. Returns the receipt.

        Raises `NotDelivered` or `Ambiguous`. Never delivers to another place than the post's.
        """
        ...

    # Topics. What cannot be done is `NotDelivered`, with `retry_at` where it can be done later.

    def topic_link(self, place: Place) -> str | None:
        """An address by which people get to that topic, where there is one."""
        ...

    def has_topic(self, place: Place) -> bool:
        """Whether that place is a topic of its own, and not a chat as a whole."""
        ...

    async def forums(self) -> Sequence[Place]:
        """The chats that have topics and in which the bridge may speak, each by a place of its."""
        ...

    async def open_topic(self, near: Place, name: str) -> Place:
        """Makes a topic in the chat of the place `near`. One of that name that was made, and that has never come to be
        known, is taken instead: a bridge that dies meanwhile makes no second one as it tries again."""
        ...

    async def rename_topic(self, place: Place, name: str) -> None: ...

    async def close_topic(self, place: Place) -> None: ...

    async def reopen_topic(self, place: Place) -> None: ...

    async def delete_topic(self, place: Place) -> None: ...


class WithoutTopics:
    """The topics of a chat that has none."""

    def topic_link(self, place: Place) -> str | None:
        return None

    def has_topic(self, place: Place) -> bool:
        return False

    async def forums(self) -> Sequence[Place]:
        return ()

    async def open_topic(self, near: Place, name: str) -> Place:
        raise NotDelivered(_NO_TOPICS)

    async def rename_topic(self, place: Place, name: str) -> None:
        raise NotDelivered(_NO_TOPICS)

    async def close_topic(self, place: Place) -> None:
        raise NotDelivered(_NO_TOPICS)

    async def reopen_topic(self, place: Place) -> None:
        raise NotDelivered(_NO_TOPICS)

    async def delete_topic(self, place: Place) -> None:
        raise NotDelivered(_NO_TOPICS)


_NO_TOPICS = "this chat has no topics"


class Intake(Protocol):
    """Where a chat adapter hands in what it got. `bridge.flow.inbound` implements it.

    The order that loses nothing: `keep` the raw updates, then acknowledge them to the chat, then handle
    each kept one: `hear` or `press`, then `done`. After a restart, `unhandled` ones are handled first.
    """

    async def last(self, source: str) -> int | None:
        """The highest number that was ever kept."""
        ...

    async def keep(self, source: str, updates: Sequence[tuple[int, str]]) -> Set[int]:
        """Stores (number, raw text) pairs durably; a number that is kept already is left as it is. Returns the others.
        What fails may have stored them all the same."""
        ...

    async def unhandled(self, source: str) -> list[tuple[int, str]]: ...

    async def overtakes(self, heard: Heard) -> Overtakes:
        """To be asked before `hear`, for a chat that acts on one thing after the other at each place."""
        ...

    async def hear(self, heard: Heard) -> None:
        """Acts on what was said, once per `heard.key`. Everything it has to say comes back as posts."""
        ...

    async def outrank(self, heard: Heard) -> None:
        """Shows that it is not acted on, since a stop came before it was."""
        ...

    def names(self, place: Place) -> Sequence[Place]:
        """All that the place was before it has moved, and what it is now: what was said there is one line of words."""
        ...

    async def bound(self, place: Place) -> bool:
        """Whether a session hears what is said there: of what is said elsewhere nothing is to be fetched."""
        ...

    async def known(self, place: Place) -> bool:
        """Whether a session has, or had, that place."""
        ...

    async def edit(self, heard: Heard) -> None:
        """What was said under `heard.key` reads so now. It replaces what still waits; of what has begun, the place is
        told once that nothing changes any more. No command is ever carried out for it."""
        ...

    async def press(self, pressed: Pressed) -> str:
        """Acts on a button. Returns the short text for the person who pressed it."""
        ...

    async def happened(self, happening: Happening) -> None:
        """Takes note of what people, or the chat itself, have done to a place. The same again changes nothing."""
        ...

    async def done(self, source: str, number: int, error: str | None = None) -> None:
        """Marks a kept update as handled, or as set aside with its error."""
        ...

    async def recall(self, source: str) -> Mapping[str, str]:
        """All that was remembered for that source, by key, but empty texts."""
        ...

    async def remember(self, source: str, key: str, text: str) -> None:
        """Stores the text durably instead of what that key had. Of two at once either may be the last."""
        ...

    async def sent(self, scheme: str, receipt: str) -> Place | None:
        """The place of a post that was sent, for chats whose old messages carry none. A receipt is one post's
        among all of its scheme."""
        ...
