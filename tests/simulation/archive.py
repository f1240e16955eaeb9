"""Everything that was ever stored, also what has been removed since: what those who judge look at, without waiting."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from bridge.conversation import Conversation
from bridge.ids import MessageId, Place, SessionId
from bridge.message import Message, State
from bridge.ports.store import Entity
from bridge.post import Post, PostState
from bridge.request import Request
from bridge.session import Session
from bridge.turn import Turn

T = TypeVar("T")
Before = Mapping[tuple[type, str], Any]
"""By kind and id, what was on record before a change."""


class Archive:
    def __init__(self) -> None:
        self._known: dict[type, dict[object, Any]] = defaultdict(dict)
        self._running: dict[SessionId, Turn] = {}
        self._queued: dict[SessionId, dict[MessageId, Message]] = defaultdict(dict)
        self._unshown: dict[Place, dict[str, Post]] = defaultdict(dict)
        self.changes = 0
        self.unshown_since: dict[str, int] = {}
        """By the key of a post that nobody has seen yet, the number of the change since which it waits."""

    def enter(self, puts: Iterable[Entity]) -> Before:
        self.changes += 1
        before: dict[tuple[type, str], Any] = {}
        for one in puts:
            match one:
                case Message():
                    self._queue(one)
                case Turn():
                    self._run(one)
                case Post():
                    self._show(one)
                case Session() | Request() | Conversation():
                    pass
                case _:
                    continue
            known = self._known[type(one)]
            before[type(one), one.id] = known.get(one.id)
            known[one.id] = one
        return before

    def get(self, kind: type[T], key: object) -> T | None:
        found: T | None = self._known[kind].get(key)
        return found

    def every(self, kind: type[T]) -> list[T]:
        return list(self._known[kind].values())

    def count(self, kind: type) -> int:
        return len(self._known[kind])

    def queued(self, session: SessionId) -> list[Message]:
        return list(self._queued[session].values())

    def running(self, session: SessionId) -> Turn | None:
        return self._running.get(session)

    def unshown(self, place: Place) -> list[Post]:
        return list(self._unshown[place].values())

    def _queue(self, message: Message) -> None:
        self._queued[message.recipient].pop(message.id, None)
        if message.state is State.QUEUED:
            self._queued[message.recipient][message.id] = message

    def _run(self, turn: Turn) -> None:
        if turn.live:
            self._running[turn.session] = turn
        elif self._running.get(turn.session, turn).id == turn.id:
            self._running.pop(turn.session, None)

    def _show(self, post: Post) -> None:
        self._unshown[post.place].pop(post.key, None)
        if post.state is PostState.PENDING and post.receipt is None:
            self._unshown[post.place][post.key] = post
            self.unshown_since.setdefault(post.key, self.changes)
        else:
            self.unshown_since.pop(post.key, None)
