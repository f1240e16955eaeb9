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
                    for place, posts in _due(pending, self._ledger.clock.now()).items():
                        if place not in self._busy:
                            self._busy.add(place)
                            places.create_task(self._drain(chat, place, posts))
                    await hinted.wait()

    async def _pending(self, scheme: str) -> list[Post]:
        async def body(work: Work) -> list[Post]:
            return await work.store.pending_posts(scheme, float("inf"))

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
        newest = await self._ledger.surely(lambda work: work.post(post.key))
        if newest is None or newest.state is not PostState.PENDING or newest.due_at > self._ledger.clock.now():
            return True
        post = newest
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
        given_up = retry_at is None

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
        return given_up or post.kind is PostKind.PROGRESS


def _due(posts: Sequence[Post], now: float) -> dict[Place, list[Post]]:
    """What may be delivered at each place. A post that must wait holds back what is behind it, so that the
    order is kept; progress holds nothing back."""
    due: dict[Place, list[Post]] = {}
    held: set[Place] = set()
    for post in posts:
        if post.due_at <= now and post.place not in held:
            due.setdefault(post.place, []).append(post)
        elif post.kind is not PostKind.PROGRESS:
            held.add(post.place)
    return due


async def _traced(work: Work, post: Post, **detail: str | bool) -> None:
    if post.message is None:
        return
    message = await work.message(post.message)
    if message is not None:
        work.step(StepKind.SENT, message, None, place=post.place, post=post.kind.value, **detail)
