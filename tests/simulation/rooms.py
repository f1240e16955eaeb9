"""The rooms in which people see what is posted."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from bridge.ids import Place
from bridge.ports.chat import Ambiguous, NotDelivered, WithoutTopics
from bridge.post import Part, Post, PostKind, PostState
from tests.simulation.scenario import REPORTS, SCHEME, Misfortune
from tests.simulation.store import Cut
from tests.simulation.world import World


@dataclass(slots=True)
class Shown:
    key: str
    place: Place
    text: str
    times: int = 1


class Rooms:
    """What can be seen, by receipt."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._chance = world.scenario.chance("rooms")
        self._keys: set[str] = set()
        self.shown: dict[str, Shown] = {}

    async def deliver(self, post: Post) -> str:
        world, chance = self._world, self._chance
        self._in_order(post)
        suffers = world.suffers(Misfortune.CHAT)
        await asyncio.sleep((20 if suffers and chance.random() < 0.03 else 0.1) * chance.random())
        draw = chance.random() if suffers else 1.0
        if draw < 0.04:
            raise NotDelivered("too many posts", retry_at=world.now() + 10 * chance.random())
        if draw < 0.05:
            raise NotDelivered("the room is closed")
        if draw < 0.08:
            raise Ambiguous("the connection broke before")
        receipt = self._show(post)
        if draw < 0.12:
            raise Ambiguous("the connection broke after")
        return receipt

    def _show(self, post: Post) -> str:
        world = self._world
        world.note(f"shown {post.key} at {post.place}: {post.text[:60]!r}")
        if post.receipt is not None:
            shown = self.shown[post.receipt]
            if (shown.key, shown.place) != (post.key, post.place):
                world.broke("11 place", f"{post.key} was shown over {shown.key}", post.key)
            shown.text, shown.times = post.text, shown.times + 1
            return post.receipt
        receipt = str(len(self.shown) + 1)
        self.shown[receipt] = Shown(post.key, post.place, post.text)
        self._keys.add(post.key)
        return receipt

    def _in_order(self, post: Post) -> None:
        """What is more urgent is shown first, then what stood first in the store. A final comes below its handoff."""
        if post.receipt is not None or post.key in self._keys:
            return
        waiting = self._world.archive.unshown(post.place)
        if post.kind is PostKind.HANDOFF and any(
            one.kind is PostKind.FINAL and one.message == post.message for one in waiting
        ):
            return
        mine = self._world.archive.unshown_since.get(post.key, 0)
        for one in waiting:
            earlier = self._world.archive.unshown_since[one.key] < mine and one.key not in self._keys
            if not earlier or _haste(post) < _haste(one):
                continue
            if (_haste(one), one.created_at, one.id) < (_haste(post), post.created_at, post.id):
                self._world.broke("outbox order", f"{post.key} goes before {one.key}", post.key, one.key)


def _haste(post: Post) -> int:
    """What people wait for before what they are told, and what nobody misses last."""
    if post.kind is PostKind.FINAL:
        return 1
    if post.kind is PostKind.REPLY:
        return 0
    if post.kind is PostKind.QUESTION:
        return 2
    return 4 if post.kind in (PostKind.PROGRESS, PostKind.MARK) else 3


class RoomsOf(WithoutTopics):
    """`bridge.ports.chat.Chat` as one life of a node has it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.cut = False

    @property
    def scheme(self) -> str:
        return SCHEME

    def compose(self, text: str, *, rich: bool = False) -> Sequence[Part]:
        return [Part(text[start : start + 1_000]) for start in range(0, len(text), 1_000)]

    def may_talk(self, person: str, place: Place) -> bool:
        return True

    def attended(self, place: Place) -> bool:
        return place not in self._world.scenario.unattended

    def reports(self) -> Sequence[Place]:
        return (REPORTS,)

    def link(self, receipt: str) -> str | None:
        return None

    async def glimpse(self, place: Place, about: str, text: str) -> bool:
        return False

    async def deliver(self, post: Post) -> str:
        if self.cut:
            raise Cut
        return await self._world.rooms.deliver(post)


def unseen(world: World) -> list[str]:
    """The posts that are neither shown as they are to be, nor given up."""
    found = []
    for post in world.archive.every(Post):
        if post.state is PostState.PENDING:
            found.append(f"{post.key} is pending still")
        elif post.state is PostState.SENT:
            shown = world.rooms.shown.get(post.receipt or "")
            if shown is None:
                found.append(f"{post.key} is said to be sent, and nobody has seen it")
            elif (shown.place, shown.text) != (post.place, post.text):
                found.append(f"{post.key} is shown as {shown.text!r}")
    return found


def unreported(world: World) -> list[str]:
    """The places where something new could not be shown, and of which nobody was told."""
    told = {post.key for post in world.archive.every(Post)}
    return [
        post.key
        for post in world.archive.every(Post)
        if post.state is PostState.FAILED
        and post.receipt is None
        and post.kind is not PostKind.PROGRESS
        and post.place != REPORTS
        and f"undelivered:{post.place}:{REPORTS}" not in told
    ]
