"""A chat that keeps what is shown, as people would see it."""

import asyncio
from collections.abc import Callable, Sequence

from bridge.ids import Place
from bridge.markdown import unescaped
from bridge.ports.chat import NotDelivered
from bridge.post import Part, Post


class FakeChat:
    """`bridge.ports.chat.Chat` of the scheme `room`. `guests` are the people who may talk, `open` whether an
    operator attends, `linked` whether its messages have addresses, and `streams` whether it shows text that grows.
    `fault` is asked before each delivery and may raise. A delivery to a place in `held` waits for its event.
    `topics` are those that the bridge has made, by place, and `refuses` may raise for what it would do to one."""

    def __init__(self, scheme: str = "room") -> None:
        self._scheme = scheme
        self._changed = asyncio.Condition()
        self.posts: dict[str, Post] = {}
        self.receipts: dict[str, str] = {}
        self.deliveries: list[Post] = []
        self.guests: set[str] = set()
        self.open = True
        self.limit = 4_000
        self.linked = False
        self.streams = False
        self.glimpses: list[tuple[Place, str]] = []
        self.held: dict[str, asyncio.Event] = {}
        self.fault: Callable[[Post], Exception | None] = lambda post: None
        self.topics: dict[Place, str] = {}
        self.closed: set[Place] = set()
        self.renamed: list[tuple[Place, str]] = []
        self.chats: list[Place] = []
        self.refuses: Callable[[str], BaseException | None] = lambda deed: None

    @property
    def scheme(self) -> str:
        return self._scheme

    def compose(self, text: str, *, rich: bool = False) -> Sequence[Part]:
        markup, text = ("rich", unescaped(text)) if rich else (None, text)
        return [Part(text[start : start + self.limit], markup) for start in range(0, len(text), self.limit)]

    def may_talk(self, person: str, place: Place) -> bool:
        return person in self.guests

    def attended(self, place: Place) -> bool:
        return self.open

    def reports(self) -> Sequence[Place]:
        return (Place(f"{self._scheme}:office"),)

    def link(self, receipt: str) -> str | None:
        return f"room://{receipt}" if self.linked else None

    async def glimpse(self, place: Place, about: str, text: str) -> bool:
        async with self._changed:
            self.glimpses.append((place, text))
            self._changed.notify_all()
        return self.streams

    async def deliver(self, post: Post) -> str:
        if post.place in self.held:
            await self.held[post.place].wait()
        if error := self.fault(post):
            raise error
        if post.receipt is None and post.key in self.posts:
            raise NotDelivered("it was sent already")
        receipt = post.receipt or str(len(self.posts) + 1)
        async with self._changed:
            self.receipts[post.key] = receipt
            self.posts[post.key] = post
            self.deliveries.append(post)
            self._changed.notify_all()
        return receipt

    def topic_link(self, place: Place) -> str | None:
        return f"https://room.example/{place.partition(':')[2]}"

    def has_topic(self, place: Place) -> bool:
        return place in self.topics

    async def forums(self) -> Sequence[Place]:
        return self.chats

    async def open_topic(self, near: Place, name: str) -> Place:
        self._may("open")
        made = Place(f"{self._scheme}:topic-{len(self.topics) + 1}")
        self.topics[made] = name
        return made

    async def rename_topic(self, place: Place, name: str) -> None:
        self._may("rename")
        self.renamed.append((place, name))

    async def close_topic(self, place: Place) -> None:
        self._may("close")
        self.closed.add(place)

    async def reopen_topic(self, place: Place) -> None:
        self._may("reopen")
        self.closed.discard(place)

    async def delete_topic(self, place: Place) -> None:
        self._may("delete")
        del self.topics[place]

    def _may(self, deed: str) -> None:
        if error := self.refuses(deed):
            raise error

    async def seen(self, place: str, part: str, timeout_s: float = 5) -> Post:
        """Waits until a post at `place` shows `part`."""
        found: list[Post] = []

        def shown() -> bool:
            found[:] = [one for one in self.posts.values() if one.place == place and part in one.text]
            return bool(found)

        try:
            async with asyncio.timeout(timeout_s), self._changed:
                await self._changed.wait_for(shown)
        except TimeoutError:
            raise AssertionError(f"{place} never showed {part!r}, but {self.texts(place)}") from None
        return found[0]

    def texts(self, place: str) -> list[str]:
        return [post.text for post in self.posts.values() if post.place == place]
