"""The outbox: brings every place to what it is to show (invariants 3, 8 and 11).

At each place posts go by their urgency, and those of one urgency in their order: what has to wait there holds back
what is behind it. Places do not wait for each other, and where their chat takes only so much they take turns, those
with what is most urgent first. A post that its chat refuses for good is never sent elsewhere: operators are told of
it, once a place, and without its text. Where the place itself has moved, or its topic is made anew, its posts go there;
where people must act first they are kept, and operators are told that.
"""

import asyncio
import logging
from collections import defaultdict
from dataclasses import replace
from itertools import count

from bridge import wording
from bridge.flow.hints import Hints
from bridge.flow.ledger import Ledger
from bridge.flow.linking import interlink
from bridge.flow.precedence import Rests, heads
from bridge.flow.showing import FILE_NAME, revise, show
from bridge.flow.whereabouts import Whereabouts
from bridge.flow.work import Work
from bridge.ids import Place, PostId
from bridge.ports.chat import Ambiguous, Blocked, Chat, Gone, Later, Moved, NotDelivered, TooLong
from bridge.post import Post, PostKind, PostState, Urgency
from bridge.trace import StepKind

log = logging.getLogger(__name__)

_SHED = (PostKind.PROGRESS, PostKind.MARK)
_SHED_ATTEMPTS = 3
_MARK_WAITS_S = 60
_DEFECT_ATTEMPTS = 5
_REPORT = "undelivered:"


class Outbox:
    def __init__(self, ledger: Ledger, hints: Hints, whereabouts: Whereabouts) -> None:
        self._ledger = ledger
        self._whereabouts = whereabouts
        self._hints = hints
        self._busy: set[Place] = set()
        self._turns = count(1)
        self._served: dict[Place, int] = {}
        self._rests: defaultdict[str, Rests] = defaultdict(Rests)
        self._blocked: dict[Place, PostId] = {}

    async def run(self, chat: Chat) -> None:
        """Delivers to one chat until it is cancelled. Who is cancelled in the middle of a delivery does not know
        whether it arrived: the post stays pending (at-least-once)."""
        rests = self._rests[chat.scheme]
        async with asyncio.TaskGroup() as places:
            with self._hints.watch_outbox() as hinted:
                while True:
                    hinted.clear()
                    # A delivery that ends while the store is being read is in that picture still: not sent twice.
                    busy = frozenset(self._busy)
                    foremost = await self._foremost(chat.scheme)
                    now = self._ledger.clock.now()
                    rests.keep(foremost)
                    for post in sorted(heads(foremost, now), key=self._turn_of):
                        if post.place not in busy and not post.waits(now) and not rests.waits(post, now):
                            self._busy.add(post.place)
                            places.create_task(self._next(chat, post))
                    await self._hint(hinted, rests)

    async def _hint(self, hinted: asyncio.Event, rests: Rests) -> None:
        """Waits for one, or until the chat takes something again."""
        clock = self._ledger.clock
        again = rests.next(clock.now())
        if again is None:
            await hinted.wait()
            return
        async with asyncio.TaskGroup() as group:
            waits = [group.create_task(hinted.wait()), group.create_task(clock.sleep(again - clock.now()))]
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for each in waits:
                each.cancel()

    async def _foremost(self, scheme: str) -> list[Post]:
        """Those that have to wait as well: they hold back what is behind them at their place."""
        return await self._ledger.surely(lambda work: work.store.foremost_posts(scheme))

    def _turn_of(self, post: Post) -> tuple[Urgency, bool, int]:
        """Of places with the same urgency what is heard goes first, then the one that has shown nothing for longest."""
        return post.urgency, post.silent, self._served.get(post.place, 0)

    async def _next(self, chat: Chat, post: Post) -> None:
        """Delivers what is first at a place. What comes next there is looked up anew, for it may have been
        revised or overtaken by a final meanwhile."""
        try:
            await self._deliver(chat, post)
        finally:
            self._busy.discard(post.place)
            self._hints.outbox()

    async def _deliver(self, chat: Chat, post: Post) -> None:
        try:
            receipt = await chat.deliver(await self._replying(post))
        except Moved as moved:
            log.warning("%s goes on as %s: %s", post.place, moved.new, moved.reason)
            if moved.new == post.place:
                await self._not_delivered(chat, post, moved.reason, None)
            else:
                await self._whereabouts.moved(post.place, moved.new)
        except Gone as gone:
            await self._gone(chat, post, gone.reason)
        except Later as later:
            now = self._ledger.clock.now()
            if post.kind is PostKind.MARK and later.until > now + _MARK_WAITS_S:
                await self._not_delivered(chat, post, str(later), None)
            else:
                self._rests[chat.scheme].rest(post, now, later.until)
        except Blocked as blocked:
            await self._keep(chat, post, blocked)
        except TooLong as refused:
            await self._as_document(chat, post, refused)
        except NotDelivered as refused:
            shed = post.kind in _SHED and post.attempts >= _SHED_ATTEMPTS
            await self._not_delivered(chat, post, refused.reason, None if shed else refused.retry_at)
        except Ambiguous as unclear:
            reason = f"it may have arrived already, and is sent again: {unclear}"
            await self._not_delivered(chat, post, reason, self._later(post))
        except Exception as defect:
            # Each delivery is a task of its own: a chat's defect must not end the other places.
            log.exception("%s: its chat failed by a defect", post.place)
            retry_at = self._later(post) if post.attempts + 1 < _DEFECT_ATTEMPTS else None
            await self._not_delivered(chat, post, f"an internal error: {type(defect).__name__}", retry_at)
        else:
            self._served[post.place] = next(self._turns)
            first = self._blocked.pop(post.place, post.id)
            await self._ledger.surely(lambda work: _delivered(work, chat, post, receipt, first))

    @property
    def _life_s(self) -> float:
        """For how long what waits for a place that takes nothing is kept."""
        return self._ledger.limits.message_life_s

    async def _gone(self, chat: Chat, post: Post, reason: str) -> None:
        try:
            why_not = await self._whereabouts.recreated(chat, post.place, reason)
        except Blocked as blocked:
            await self._keep(chat, post, blocked)
        except NotDelivered as later:
            await self._not_delivered(chat, post, f"{reason}: {later.reason}", later.retry_at)
        else:
            if why_not is not None:
                await self._not_delivered(chat, post, why_not, None)

    async def _as_document(self, chat: Chat, post: Post, refused: TooLong) -> None:
        """A final is never lost for its length. What is revised cannot become a document."""
        if post.kind is not PostKind.FINAL or post.receipt is not None or post.file is not None:
            await self._not_delivered(chat, post, refused.reason, None)
            return
        log.warning("%s: a final is shown as a document: %s", post.place, refused.reason)

        async def body(work: Work) -> None:
            newest = await work.post(post.key) or post
            work.put(replace(newest, file=FILE_NAME, markup=None))

        await self._ledger.surely(body)

    async def _keep(self, chat: Chat, post: Post, blocked: Blocked) -> None:
        lost = post.kind in _SHED or self._ledger.clock.now() >= post.created_at + self._life_s
        first = self._blocked.setdefault(post.place, post.id)
        await self._not_delivered(chat, post, blocked.reason, None if lost else blocked.retry_at, first)

    async def _replying(self, post: Post) -> Post:
        """The post below what it answers, where that was shown at the same place."""
        key = post.answers
        if key is None or post.reply_to is not None or post.receipt is not None:
            return post
        answered = await self._ledger.surely(lambda work: work.post(key))
        there = answered is not None and answered.place == post.place
        return replace(post, reply_to=answered.receipt) if answered is not None and there else post

    def _later(self, post: Post) -> float:
        return self._ledger.clock.now() + self._ledger.backoff(post.attempts + 1, cap_s=60)

    async def _not_delivered(
        self, chat: Chat, post: Post, reason: str, retry_at: float | None, blocked: PostId | None = None
    ) -> None:
        """Puts a post off until `retry_at`, or gives it up where that is None. `blocked` is the first post of those for
        which the place was not free."""

        async def body(work: Work) -> None:
            newest = await work.post(post.key) or post
            if retry_at is None:
                work.put(replace(newest, state=PostState.FAILED, error=reason))
                await _report(work, chat, newest, wording.undelivered_post(newest.place, reason))
            else:
                work.put(replace(newest, due_at=retry_at, attempts=post.attempts + 1, error=reason))
                work.then(lambda: work.wake.at(retry_at))
                if blocked is not None:
                    await _report(work, chat, newest, wording.waiting_post(newest.place, reason), blocked)
            await _traced(work, newest, error=reason, given_up=retry_at is None)

        await self._ledger.surely(body)
        if retry_at is None and post.kind is not PostKind.MARK:
            log.warning("%s: a post could not be delivered and is given up: %s", post.place, reason)


async def _delivered(work: Work, chat: Chat, post: Post, receipt: str, blocked: PostId) -> None:
    """A post that was revised while it was under way stays pending, to be edited. `blocked` is the one that waited for
    its place first, if any did."""
    newest = await work.post(post.key) or post
    unchanged = (newest.part, newest.buttons) == (post.part, post.buttons)
    state = PostState.SENT if unchanged else PostState.PENDING
    work.put(replace(newest, state=state, receipt=receipt, attempts=0, error=None))
    if post.attempts or blocked != post.id:
        for where in chat.reports():
            await revise(work, _report_key(post.place, where, blocked), wording.shown_again(post.place))
    await _traced(work, newest, receipt=receipt, edited=post.receipt is not None)
    if post.kind is PostKind.HANDOFF and post.receipt is None:
        await interlink(work, post.key)


async def _report(work: Work, chat: Chat, post: Post, text: str, waiting: PostId | None = None) -> None:
    """Progress may be lost, an edit changes what people have seen, and a report is not reported itself."""
    if post.kind is PostKind.PROGRESS or post.receipt is not None or post.key.startswith(_REPORT):
        return
    for where in chat.reports():
        if where != post.place:
            await show(work, _report_key(post.place, where, waiting), where, PostKind.NOTICE, text)


def _report_key(place: Place, where: Place, waiting: PostId | None) -> str:
    """Of what is given up at a place there is one, and one each time that something begins to wait there."""
    return f"{_REPORT}{place}:{where}" + (f":{waiting}" if waiting else "")


async def _traced(work: Work, post: Post, **detail: str | bool) -> None:
    if post.message is None or post.kind is PostKind.MARK:
        return
    message = await work.message(post.message)
    if message is not None:
        work.step(StepKind.SENT, message, None, place=post.place, post=post.kind.value, **detail)
