"""Topics that are being made, as they outlive the bridge.

Telegram makes a topic at each request: a bridge that dies before its store knows that one, or that never hears the
answer, would make another. So what is asked for is noted before. Of each topic Telegram also tells by an update, even
the bot that has made it: what it tells of, and what no session has, is taken where the same is asked for again.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field

from adapters.telegram.place import SCHEME, Spot
from bridge.errors import Refused
from bridge.ports.chat import Intake, NotDelivered
from bridge.ports.clock import Clock

_LOG = logging.getLogger(__name__)

_NOTE = "topics"
_TOLD_S = 5.0
"""How long it takes at most, as a rule, until Telegram tells of a topic. What comes later counts the next time."""
_STORE_S = 5.0
"""How long to wait for a store that takes nothing."""


class Unclear(NotDelivered):
    """It is not known whether Telegram has done it, and it must not be asked for it again."""


@dataclass(frozen=True, slots=True)
class Made:
    """Telegram tells of a topic that this bot has made."""

    spot: Spot
    name: str


@dataclass(slots=True, eq=False)
class _Wanted:
    """`left` is what nobody waits for any more: an earlier bridge did, or the answer to it has never come."""

    chat: int
    name: str
    thread: int | None = None
    left: bool = False
    told: asyncio.Event = field(default_factory=asyncio.Event, repr=False)

    def matches(self, chat: int, name: str) -> bool:
        return (self.chat, self.name) == (chat, name)


class Making:
    """One small note has them all, each until a session is bound to it."""

    def __init__(self, intake: Intake, clock: Clock) -> None:
        self._intake = intake
        self._clock = clock
        self._wanted: list[_Wanted] = []
        self._writing = asyncio.Lock()

    async def restore(self) -> None:
        """Once, before anything is made. Raises `Refused` while the store is away."""
        note = (await self._intake.recall(SCHEME)).get(_NOTE, "")
        self._wanted = list(_read(note))

    async def make(self, chat: int, name: str, create: Callable[[], Awaitable[int]]) -> Spot:
        """One that is there already and nobody's, or the thread that `create` returns. Raises what that raises, and
        `NotDelivered` while the store is away."""
        try:
            wanted = await self._left(chat, name) or _Wanted(chat, name)
            if wanted.thread is not None:
                _LOG.warning("The topic %s of chat %s was made before, and is taken now", wanted.thread, chat)
                return Spot(chat, wanted.thread)
            if wanted not in self._wanted:
                self._wanted.append(wanted)
                await self._keep()
        except Refused as refused:
            reason = f"what is to be made cannot be stored: {refused.reason}"
            raise NotDelivered(reason, retry_at=self._clock.now() + _STORE_S) from None
        return Spot(chat, await self._created(wanted, create))

    async def told(self, made: Made) -> None:
        """Raises `Refused` while the store is away."""
        chat, thread, name = made.spot.chat, made.spot.thread, " ".join(made.name.split())
        if not any(one.chat == chat and one.thread == thread for one in self._wanted):
            one = next((one for one in self._wanted if one.thread is None and one.matches(chat, name)), None)
            if one is None:
                return
            one.thread = thread
            one.told.set()
        await self._keep()

    async def forget(self, spot: Spot) -> None:
        """It was deleted."""
        if kept := [one for one in self._wanted if (one.chat, one.thread) == (spot.chat, spot.thread)]:
            self._wanted = [one for one in self._wanted if one not in kept]
            await self._keep_if_possible()

    async def _left(self, chat: int, name: str) -> _Wanted | None:
        """One that was asked for before; with its thread where Telegram has told that."""
        while (one := next((one for one in self._wanted if one.left and one.matches(chat, name)), None)) is not None:
            one.left = False
            try:
                await self._heard_of(one)
                await self._keep()
            except BaseException:
                one.left = True
                raise
            if one in self._wanted:
                return one
        return None

    async def _created(self, wanted: _Wanted, create: Callable[[], Awaitable[int]]) -> int:
        try:
            thread = await create()
        except Unclear:
            await self._heard_of(wanted)
            if wanted.thread is None:
                wanted.left = True
                raise
            return wanted.thread
        except NotDelivered:
            self._wanted.remove(wanted)
            await self._keep_if_possible()
            raise
        except BaseException:
            wanted.left = True
            raise
        for other in self._wanted:
            if other is not wanted and (other.chat, other.thread) == (wanted.chat, thread):
                other.thread = wanted.thread  # Two of one name, and their threads were told before they were answered.
        wanted.thread = thread
        return thread

    async def _heard_of(self, wanted: _Wanted) -> None:
        """Waits for Telegram to tell of it."""
        if wanted.thread is not None:
            return
        over = asyncio.ensure_future(self._clock.sleep(_TOLD_S))
        told = asyncio.ensure_future(wanted.told.wait())
        try:
            await asyncio.wait([over, told], return_when=asyncio.FIRST_COMPLETED)
        finally:
            over.cancel()
            told.cancel()

    async def _keep(self) -> None:
        async with self._writing:
            for one in [*self._wanted]:
                if one.thread is not None and await self._intake.known(Spot(one.chat, one.thread).place):
                    self._wanted = [other for other in self._wanted if other is not one]
            note = json.dumps([[one.chat, one.name, one.thread] for one in self._wanted])
            await self._intake.remember(SCHEME, _NOTE, note)

    async def _keep_if_possible(self) -> None:
        """What the note holds too much costs a moment at most."""
        try:
            await self._keep()
        except Refused as refused:
            _LOG.warning("What became of a topic is not stored: %s", refused.reason)


def _read(note: str) -> Iterator[_Wanted]:
    """Of a note that cannot be read nothing is known, as if there was none."""
    try:
        for chat, name, thread in json.loads(note or "[]"):
            yield _Wanted(int(chat), str(name), None if thread is None else int(thread), left=True)
    except (ValueError, TypeError):
        _LOG.warning("The note of topics that were being made cannot be read")
