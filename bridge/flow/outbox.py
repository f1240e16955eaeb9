"""The outbox: brings every place to what it is to show (invariants 3, 8 and 11).

At each place finals go first, then everything in its order; places do not wait for each other. A post that
its chat refuses for good is reported and never sent elsewhere.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace

from bridge.flow.hints import Hints
from bridge.flow.ledger import Ledger, Work
from bridge.ids import Place
from bridge.ports.chat import Ambiguous, Chat, NotDelivered
from bridge.post import Post, PostKind, PostState
from bridge.trace import StepKind

log = logging.getLogger(__name__)

_PROGRESS_ATTEMPTS = 3


class Outbox:
    def __init__(self, ledger: Ledger, hints: Hints) -> None:
        self._ledger = ledger
        self._hints = hints
        self._busy: set[Place] = set()

    async def run(self, chat: Chat) -> None:
        """Delivers to one chat until it is cancelled. Who is cancelled in the middle of a delivery does not know
        whether it arrived: the post stays pending (at-least-once)."""
        async with asyncio.TaskGroup() as places:
            with self._hints.watch_outbox() as hinted:
                while True:
                    hinted.clear()
                    pending = await self._pending(chat.scheme)
                    for place, posts in _by_place(pending).items():
                        if place not in self._busy:
                            self._busy.add(place)
                            places.create_task(self._drain(chat, place, posts))
                    await hinted.wait()

    async def _pending(self, scheme: str) -> list[Post]:
        async def body(work: Work) -> list[Post]:
            return await work.store.pending_posts(scheme, work.now)

        return await self._ledger.surely(body)

    async def _drain(self, chat: Chat, place: Place, posts: Sequence[Post]) -> None:
        try:
            for post in posts:
                if not await self._deliver(chat, post):
                    break
        finally:
            self._busy.discard(place)
            self._hints.outbox()

    async def _deliver(self, chat: Chat, post: Post) -> bool:
        """False where the posts behind it must wait."""
        try:
            receipt = await chat.deliver(post)
        except NotDelivered as refused:
            return await self._not_delivered(post, refused.reason, refused.retry_at)
        except Ambiguous as unclear:
            retry_at = self._ledger.clock.now() + self._ledger.backoff(post.attempts + 1, cap_s=60)
            reason = f"it may have arrived already, and is sent again: {unclear}"
            return await self._not_delivered(post, reason, retry_at)

        async def body(work: Work) -> None:
            newest = await work.post(post.key) or post
            unchanged = (newest.text, newest.buttons) == (post.text, post.buttons)
            state = PostState.SENT if unchanged else PostState.PENDING
            work.put(replace(newest, state=state, receipt=receipt, attempts=0, error=None))
            await _traced(work, newest, receipt=receipt, edited=post.receipt is not None)

        await self._ledger.surely(body)
        return True

    async def _not_delivered(self, post: Post, reason: str, retry_at: float | None) -> bool:
        given_up = retry_at is None or (post.kind is PostKind.PROGRESS and post.attempts >= _PROGRESS_ATTEMPTS)

        async def body(work: Work) -> None:
            newest = await work.post(post.key) or post
            if given_up:
                work.put(replace(newest, state=PostState.FAILED, error=reason))
            else:
                due_at = retry_at or work.now
                work.put(replace(newest, due_at=due_at, attempts=newest.attempts + 1, error=reason))
                work.then(lambda: work.wake.at(due_at))
            await _traced(work, newest, error=reason, given_up=given_up)

        await self._ledger.surely(body)
        if given_up:
            log.warning("%s: a post could not be delivered and is given up: %s", post.place, reason)
        return given_up


def _by_place(posts: Sequence[Post]) -> dict[Place, list[Post]]:
    places: dict[Place, list[Post]] = {}
    for post in posts:
        places.setdefault(post.place, []).append(post)
    return places


async def _traced(work: Work, post: Post, **detail: str | bool) -> None:
    if post.message is None:
        return
    message = await work.message(post.message)
    if message is not None:
        work.step(StepKind.SENT, message, None, place=post.place, post=post.kind.value, **detail)
