"""A terminal that shows all topics in one column, with the time of each line."""

import asyncio
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from bridge.ids import Place
from bridge.markdown import unescaped
from bridge.ports.chat import Heard, Intake, Person, Pressed, WithoutTopics
from bridge.ports.clock import Clock
from bridge.post import Button, Part, Post, PostKind

SCHEME = "cli"
OPERATOR = Person(f"{SCHEME}:1", "you", operator=True)
"""Whoever sits at the terminal."""

_STATUS = "· "
_MENTIONED = 44
"""How much of a line that stands on the screen already is repeated where it is revised."""
_MARGIN = 24
_BOLD, _DIM, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"
_TOPICS = ("\x1b[36m", "\x1b[33m", "\x1b[35m", "\x1b[32m", "\x1b[34m")


class TerminalChat(WithoutTopics):
    """Implements `bridge.ports.chat.Chat`. `write` takes whole lines; times count from the making of the chat.

    Lines are folded at `columns`, unless that is None. With `colours` topics are told apart at a glance, and what
    was shown before is dim.
    """

    def __init__(
        self, clock: Clock, write: Callable[[str], None], *, columns: int | None = None, colours: bool = False
    ) -> None:
        self._clock = clock
        self._write = write
        self._columns = columns
        self._colours = colours
        self._began = clock.now()
        self._topics: dict[str, str] = {}
        self._shown: list[Post] = []
        self._changed = asyncio.Condition()
        self._said = 0

    @property
    def scheme(self) -> str:
        return SCHEME

    def compose(self, text: str, *, rich: bool = False) -> Sequence[Part]:
        """Markdown is readable as it is."""
        return [Part(unescaped(text) if rich else text)] if text else []

    def may_talk(self, person: str, place: Place) -> bool:
        return person == OPERATOR.id

    def attended(self, place: Place) -> bool:
        return True

    def reports(self) -> Sequence[Place]:
        return ()

    def link(self, receipt: str) -> str | None:
        return None

    async def glimpse(self, place: Place, about: str, text: str) -> bool:
        return False

    async def deliver(self, post: Post) -> str:
        async with self._changed:
            revised = post.receipt is not None
            receipt = post.receipt or str(len(self._shown) + 1)
            self._shown.append(replace(post, receipt=receipt))
            text = _with_status(post.text, revised) if post.kind is PostKind.HANDOFF else post.text
            self._line(post.place, text, _DIM if revised else "")
            if post.buttons:
                self._line(post.place, " ".join(f"[{button.label}]" for button in post.buttons), _BOLD)
            self._changed.notify_all()
            return receipt

    async def say(self, intake: Intake, topic: str, text: str) -> None:
        """A person types `text` into a topic."""
        place = _place(topic)
        self._said += 1
        self._line(place, text, _BOLD, mark="you> ")
        await intake.hear(Heard(place, OPERATOR, text, f"{place}:{self._began}:{self._said}"))

    async def press(self, intake: Intake, topic: str, label: str) -> bool:
        """A person presses the newest button of a topic whose label begins so. False where there is none."""
        found = self._button(_place(topic), label)
        if found is None:
            return False
        post, button = found
        self._line(_place(topic), f"[{button.label}]", _BOLD, mark="you> ")
        self._line(_place(topic), await intake.press(Pressed(post.place, OPERATOR, button.action, post.receipt)))
        return True

    async def seen(self, topic: str, part: str) -> Post:
        """Waits until a text with `part` has been shown in a topic."""

        def found() -> list[Post]:
            return [post for post in self._shown if post.place == _place(topic) and part in post.text]

        async with self._changed:
            await self._changed.wait_for(lambda: bool(found()))
            return found()[0]

    def note(self, text: str) -> None:
        """A heading that belongs to no topic, after an empty line."""
        self._write("")
        for line in self._folded(text, 0):
            self._write(self._styled(line, _BOLD))

    def line(self, text: str) -> None:
        """What another program shows, cut where the screen ends."""
        for line in text.splitlines():
            if self._columns is not None and len(line) > self._columns:
                line = f"{line[: self._columns - 1]}…"  # noqa: PLW2901
            self._write(_plain(line))

    def _button(self, place: Place, label: str) -> tuple[Post, Button] | None:
        newest = {post.key: post for post in self._shown if post.place == place}
        buttons = [(post, button) for post in newest.values() for button in post.buttons]
        return next((one for one in reversed(buttons) if one[1].label.lower().startswith(label.lower())), None)

    def _line(self, place: Place, text: str, style: str = "", mark: str = "") -> None:
        topic = place.partition(":")[2]
        colour = self._topics.setdefault(topic, _TOPICS[len(self._topics) % len(_TOPICS)])
        stamp = self._styled(f"[{self._clock.now() - self._began:6.2f}s]", _DIM)
        name, bar = self._styled(f"{topic:>10}", colour), self._styled("│", colour)
        lines = (part for line in text.splitlines() or [""] for part in self._folded(_plain(line), _MARGIN + len(mark)))
        for number, line in enumerate(lines):
            begin = f"{stamp}  {name} {bar} {mark}" if number == 0 else f"{'':21} {bar} {'':{len(mark)}}"
            self._write(f"{begin}{self._styled(line, style)}")

    def _folded(self, line: str, margin: int) -> Iterator[str]:
        if self._columns is None or len(line) <= self._columns - margin:
            yield line
        else:
            yield from textwrap.wrap(line, max(20, self._columns - margin), replace_whitespace=False)

    def _styled(self, text: str, style: str) -> str:
        return f"{style}{text}{_PLAIN}" if self._colours and style else text


def _place(topic: str) -> Place:
    return Place(f"{SCHEME}:{topic}")


def _with_status(text: str, revised: bool) -> str:
    """The status of a handoff stands behind it, not below. What was shown before is not repeated: its beginning
    says which it was, its status what is new."""
    handoff, _, status = text.rpartition(f"\n{_STATUS}")
    if revised:
        line = handoff.split("\n")[0]
        handoff = line if len(line) <= _MENTIONED else f"{line[: _MENTIONED - 1].rstrip()}…"
    return f"{handoff} {_STATUS}{status}"


def _plain(line: str) -> str:
    """Control characters of agents' texts must not steer the terminal."""
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in line.expandtabs(4))
