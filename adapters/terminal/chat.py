"""A terminal that shows all topics in one column, with the time of each line."""

import asyncio
from collections.abc import Callable, Sequence

from bridge.ids import Place
from bridge.ports.chat import Heard, Intake, Person
from bridge.ports.clock import Clock
from bridge.post import Post

SCHEME = "cli"
OPERATOR = Person(f"{SCHEME}:1", "you", operator=True)
"""Whoever sits at the terminal."""


class TerminalChat:
    """Implements `bridge.ports.chat.Chat`. `write` takes whole lines; times count from the making of the chat."""

    def __init__(self, clock: Clock, write: Callable[[str], None]) -> None:
        self._clock = clock
        self._write = write
        self._began = clock.now()
        self._shown: list[Post] = []
        self._changed = asyncio.Condition()
        self._said = 0

    @property
    def scheme(self) -> str:
        return SCHEME

    def split(self, text: str) -> Sequence[str]:
        return [text] if text else []

    def may_talk(self, person: str, place: Place) -> bool:
        return person == OPERATOR.id

    def attended(self, place: Place) -> bool:
        return True

    def reports(self) -> Sequence[Place]:
        return ()

    async def deliver(self, post: Post) -> str:
        async with self._changed:
            self._shown.append(post)
            self._line(post.place, post.text if post.receipt is None else _revision(post.text))
            for button in post.buttons:
                self._line(post.place, f"[{button.label}]")
            self._changed.notify_all()
            return post.receipt or str(len(self._shown))

    async def say(self, intake: Intake, topic: str, text: str) -> None:
        """A person types `text` into a topic."""
        place = Place(f"{SCHEME}:{topic}")
        self._said += 1
        self._line(place, text, mark="you> ")
        await intake.hear(Heard(place, OPERATOR, text, f"{place}:{self._began}:{self._said}"))

    async def seen(self, topic: str, part: str) -> Post:
        """Waits until a text with `part` has been shown in a topic."""
        place = Place(f"{SCHEME}:{topic}")

        def found() -> list[Post]:
            return [post for post in self._shown if post.place == place and part in post.text]

        async with self._changed:
            await self._changed.wait_for(lambda: bool(found()))
            return found()[0]

    def note(self, text: str) -> None:
        """A line that belongs to no topic."""
        self._write(f"\n{self._stamp()}  {text}")

    def _line(self, place: Place, text: str, mark: str = "") -> None:
        name = place.partition(":")[2]
        for number, line in enumerate(text.splitlines() or [""]):
            begin = f"{self._stamp()}  {name:>10} │ {mark}" if number == 0 else f"{'':9}  {'':>10} │ {'':{len(mark)}}"
            self._write(f"{begin}{_plain(line)}")

    def _stamp(self) -> str:
        return f"[{self._clock.now() - self._began:6.2f}s]"


def _revision(text: str) -> str:
    """What was shown before is not repeated: its beginning says which it was, its last line what is new."""
    first, *rest = text.splitlines() or [""]
    return f"{first[:44].rstrip()}… {rest[-1]}" if rest else text


def _plain(line: str) -> str:
    """Control characters of agents' texts must not steer the terminal."""
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in line)
