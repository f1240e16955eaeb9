"""Which post is next at each place: what waits holds back what comes after it there."""

from collections.abc import Iterable

from bridge.ids import Place, PostId
from bridge.post import Post, PostKind


class Rests:
    """What the chat does not take before a time that it has named. Kept in memory only: after a restart it names it
    again."""

    def __init__(self) -> None:
        self._until: dict[PostId, tuple[float, float]] = {}

    def rest(self, post: Post, now: float, until: float) -> None:
        self._until[post.id] = now, until

    def over(self, post: Post) -> None:
        self._until.pop(post.id, None)

    def waits(self, post: Post, now: float) -> bool:
        """Not where the clock was set back since: then the chat is asked anew."""
        since, until = self._until.get(post.id, (now, now))
        return since <= now < until

    def next(self, now: float) -> float | None:
        return min((until for since, until in self._until.values() if since <= now < until), default=None)

    def keep(self, posts: Iterable[Post]) -> None:
        """Forgets all others."""
        pending = {post.id for post in posts}
        self._until = {ident: times for ident, times in self._until.items() if ident in pending}


def heads(posts: Iterable[Post], now: float) -> list[Post]:
    """What is to be delivered next at each place."""
    waiting: dict[Place, list[Post]] = {}
    for post in posts:
        waiting.setdefault(post.place, []).append(post)
    return [_head(of_place, now) for of_place in waiting.values()]


def _head(waiting: list[Post], now: float) -> Post:
    first = min(waiting, key=lambda post: post.urgency)
    if first.kind is not PostKind.FINAL:
        return first
    # An answer does not stand above its question, unless that cannot be shown now.
    return next((post for post in waiting if not post.waits(now) and _announces(post, first)), first)


def _announces(post: Post, final: Post) -> bool:
    of_it = post.message is not None and post.message == final.message
    return of_it and post.kind is PostKind.HANDOFF and post.receipt is None
