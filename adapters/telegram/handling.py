"""What becomes of an update, however it came: it is kept first, and then handled, once.

Those of one place are handled in their order; what people need at once passes what waits there. One that cannot be
parsed, or that fails, is set aside with its error and holds up nothing.
"""

import asyncio
import itertools
import json
import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from functools import partial
from typing import Any

from adapters.telegram.health import Health
from adapters.telegram.incoming import Reader, Tapped
from adapters.telegram.lanes import Lanes
from adapters.telegram.place import SCHEME, Spot
from adapters.telegram.sender import Sender
from bridge.backoff import FullJitter
from bridge.errors import Code, Refused
from bridge.ids import Place
from bridge.ports.chat import Heard, Intake, Overtakes, Pressed
from bridge.ports.clock import Clock

_LOG = logging.getLogger(__name__)

_OUTRANKED = "a stop of everything came before it was handled"
_Read = Heard | Tapped | Exception | None


class Handling:
    """`stuck` tells whether any update waits for the store."""

    def __init__(
        self,
        reader: Reader,
        sender: Sender,
        intake: Intake,
        clock: Clock,
        pauses: FullJitter,
        health: Health,
        tasks: asyncio.TaskGroup,
    ) -> None:
        self._reader = reader
        self._sender = sender
        self._intake = intake
        self._clock = clock
        self._pauses = pauses
        self._health = health
        self._lanes = Lanes(tasks)
        self._open: set[int] = set()
        self._stuck: set[int] = set()
        self._waiting: defaultdict[Place, set[int]] = defaultdict(set)
        self._outranked: set[int] = set()

    @property
    def stuck(self) -> bool:
        return bool(self._stuck)

    async def recover(self) -> int | None:
        """Handles what was kept and not handled when the bridge died. Returns the highest number that was kept."""
        unhandled = await self._intake.unhandled(SCHEME)
        last = await self._intake.last(SCHEME)
        for number, raw in unhandled:
            await self._assign(number, raw)
        return last

    async def take(self, updates: Sequence[Mapping[str, Any]]) -> None:
        """Once it returns they are kept, and each is handled or will be. One that came before is not handled again."""
        raw = {int(update["update_id"]): json.dumps(update) for update in updates}
        left = await self._kept(raw)
        for number, text in raw.items():
            if number in left:
                await self._assign(number, text)

    async def _kept(self, raw: Mapping[int, str]) -> Set[int]:
        """Those that are still to be handled."""
        try:
            left = await self._intake.keep(SCHEME, list(raw.items()))
            if raw.keys() - left:
                left = left | {number for number, _ in await self._intake.unhandled(SCHEME)}
        except Refused as refused:
            self._health.fails(f"updates of Telegram cannot be stored: {refused.reason}")
            raise
        return left

    async def _assign(self, number: int, raw: str) -> None:
        """To the lane of its place; a press waits for nothing."""
        if number in self._open:
            return
        self._open.add(number)
        read: _Read
        try:
            read = self._reader.read(raw)
        except Exception as unreadable:  # noqa: BLE001 - one bad update must not hold up the others
            read = unreadable
        act = partial(self._handle, number, read)
        if not isinstance(read, Heard):
            self._lanes.add(number, act)
            return
        overtakes = await self._overtaken_by(read)
        if overtakes is Overtakes.NOTHING:
            if not read.text.startswith("/"):
                self._waiting[read.place].add(number)
            self._lanes.add(read.place, act)
            return
        if overtakes is Overtakes.STOP_ALL:
            outranks = frozenset(self._waiting.get(read.place, ()))
            self._outranked |= outranks
            act = partial(self._handle, number, read, outranks)
        self._lanes.overtake(read.place, act, waited_for=overtakes is not Overtakes.WHAT_WAITS)

    async def _overtaken_by(self, heard: Heard) -> Overtakes:
        try:
            return await self._intake.overtakes(heard)
        except Refused:  # while the store is away, nothing can be done before anything else
            return Overtakes.NOTHING

    async def _handle(self, number: int, read: _Read, outranks: frozenset[int] = frozenset()) -> None:
        """While the store is away it is tried again: nothing of its place may overtake it. A stop is done once what it
        `outranks` is, so that after a restart it comes before that again."""
        if isinstance(read, Heard) and (waiting := self._waiting.get(read.place)) is not None:
            waiting.discard(number)
            if not waiting:
                del self._waiting[read.place]
        for attempt in itertools.count(1):
            try:
                error = await self._act(number, read)
                await asyncio.gather(*(self._intake.done(SCHEME, one, _OUTRANKED) for one in outranks))
                await self._intake.done(SCHEME, number, error)
            except Refused as refused:
                self._stuck.add(number)
                self._health.fails(f"updates of Telegram cannot be stored: {refused.reason}")
                await self._clock.sleep(self._pauses.after(attempt))
            except Exception:  # noqa: BLE001 - a defect must not end the other lanes
                _LOG.exception("Update %s of Telegram is left for the next start", number)
                break
            else:
                break
        for numbers in (self._stuck, self._open, self._outranked):
            numbers.discard(number)

    async def _act(self, number: int, read: _Read) -> str | None:
        """What went wrong for good, if anything did. Raises `Refused(unavailable)` only."""
        if number in self._outranked:
            return _OUTRANKED
        try:
            match read:
                case Heard():
                    await self._intake.hear(read)
                case Tapped():
                    await self._press(read)
                case Exception():
                    raise read
        except Refused as refused:
            if refused.code is Code.UNAVAILABLE:
                raise
            return str(refused)
        except Exception as failure:  # noqa: BLE001 - one bad update must not hold up the others
            _LOG.warning("Update %s of Telegram was set aside", number, exc_info=failure)
            return f"{type(failure).__name__}: {failure}"
        return None

    async def _press(self, tapped: Tapped) -> None:
        place = tapped.place or await self._intake.sent(SCHEME, tapped.receipt) or Spot(tapped.chat).place
        text = await self._intake.press(Pressed(place, tapped.person, tapped.action, tapped.receipt))
        self._lanes.add(tapped.query, partial(self._sender.answer, tapped.query, text))
