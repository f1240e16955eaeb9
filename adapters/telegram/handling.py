"""What becomes of an update, however it came: it is kept first, and then handled, once.

Those of one place are handled in their order; what people need at once passes what waits there. One that cannot be
parsed, or that fails, is set aside with its error and holds up nothing.
"""

import asyncio
import itertools
import json
import logging
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from typing import Any

from adapters.telegram.fetching import Fetching
from adapters.telegram.gathering import Batch, Gathering
from adapters.telegram.happenings import Shifts
from adapters.telegram.health import Health
from adapters.telegram.incoming import Reader, Said, Tapped
from adapters.telegram.joining import joined, typed
from adapters.telegram.lanes import Lanes
from adapters.telegram.making import Made
from adapters.telegram.place import SCHEME, Spot, chats_of
from adapters.telegram.sender import Sender
from bridge.backoff import FullJitter
from bridge.errors import Code, Refused
from bridge.ids import Place
from bridge.ports.chat import Admitted, Happening, Intake, Migrated, Overtakes, Pressed, Renamed, Reopened
from bridge.ports.clock import Clock

_LOG = logging.getLogger(__name__)

_OUTRANKED = "a stop came before it was handled"
_HEARING_S = 0.5
"""How long a stop waits for what is just being heard, to come after it. It may be heard in vain: a store that is away
takes neither."""
_Read = Batch | Tapped | Happening | Made | Exception | None


class Handling:
    """`stuck` tells whether any update waits for the store."""

    def __init__(
        self,
        reader: Reader,
        sender: Sender,
        fetching: Fetching,
        gathering: Gathering,
        intake: Intake,
        clock: Clock,
        pauses: FullJitter,
        health: Health,
        tasks: asyncio.TaskGroup,
        *,
        migrate: Callable[[int, int], None],
        made: Callable[[Made], Awaitable[None]],
        takes_files: Collection[str] = (),
    ) -> None:
        """`migrate` is told of a chat that has become another one, before anything of that is read. `made` is told of
        topics that the bot has made. `takes_files` are the commands that do."""
        self._made = made
        self._takes_files = takes_files
        self._migrate = migrate
        self._fetching = fetching
        self._gathering = gathering
        self._shifts = Shifts()
        self._reader = reader
        self._sender = sender
        self._intake = intake
        self._clock = clock
        self._pauses = pauses
        self._health = health
        self._lanes = Lanes(tasks, self._names)
        self._open: set[int] = set()
        self._stuck: set[int] = set()
        self._waiting: dict[Batch, Hashable] = {}
        self._outranked: set[Batch] = set()
        self._hearing: dict[Batch, asyncio.Future[None]] = {}

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
        """To the lane of its place; a press waits only for earlier ones by that person under the same post. What is
        said in a chat that is another one now comes after the word that it is."""
        if number in self._open:
            return
        self._open.add(number)
        read: Said | Tapped | Happening | Made | Exception | None
        try:
            read = self._reader.read(raw)
        except Exception as unreadable:  # noqa: BLE001 - one bad update must not hold up the others
            read = unreadable
        if isinstance(read, Migrated):
            self._migrate(*chats_of(read.old, read.new))  # What follows may be in the new chat.
            self._lanes.join(read.old, read.new)
        if not isinstance(read, Said):
            self._lanes.add(_lane(read, number), partial(self._handle, [number], read))
        elif (batch := self._gathering.add(number, read)) is not None:
            await self._line_up(batch, read)

    async def _line_up(self, batch: Batch, said: Said) -> None:
        place, overtakes = said.heard.place, await self._overtaken_by(said)
        if overtakes is Overtakes.NOTHING:
            if not (said.commands or said.edited):
                self._waiting[batch] = self._lanes.of(place)
            self._lanes.add(place, partial(self._handle, batch.numbers, batch))
            return
        stops = overtakes is Overtakes.STOP
        mine = self._lanes.of(place)
        outranks = frozenset(one for one, lane in self._waiting.items() if lane == mine) if stops else frozenset()
        self._outranked |= outranks
        self._lanes.overtake(place, partial(self._handle, batch.numbers, batch, outranks), waited_for=stops)

    def _names(self, lane: Hashable) -> Iterable[Hashable]:
        return self._intake.names(Place(lane)) if isinstance(lane, str) else ()

    async def _overtaken_by(self, said: Said) -> Overtakes:
        if said.edited or said.media:
            return Overtakes.NOTHING
        try:
            return await self._intake.overtakes(said.heard)
        except Refused:  # while the store is away, nothing can be done before anything else
            return Overtakes.NOTHING

    async def _handle(self, numbers: Sequence[int], read: _Read, outranks: frozenset[Batch] = frozenset()) -> None:
        """While the store is away it is tried again: nothing of its place may overtake it. A stop is done once what it
        `outranks` is, so that after a restart it comes before that again."""
        if hearing := [self._hearing[batch] for batch in outranks if batch in self._hearing]:
            await asyncio.wait(hearing, timeout=_HEARING_S)
        if isinstance(read, Batch) and outranks:
            stop = read.parts[0]
            outranked = len(outranks & self._outranked - self._hearing.keys())
            read.parts[0] = replace(stop, heard=replace(stop.heard, outranks=outranked))
        for attempt in itertools.count(1):
            try:
                error = await self._act(numbers[0], read)
                await asyncio.gather(*map(self._drop, outranks & self._outranked - self._hearing.keys()))
                # The first one last: where a crash parts them, what is left is known by its key.
                await self._done(numbers[1:], error)
                await self._done(numbers[:1], error)
            except Refused as refused:
                self._stuck.add(numbers[0])
                self._health.fails(f"updates of Telegram cannot be stored: {refused.reason}")
                await self._clock.sleep(self._pauses.after(attempt))
            except Exception:  # noqa: BLE001 - a defect must not end the other lanes
                _LOG.exception("Update %s of Telegram is left for the next start", numbers[0])
                break
            else:
                break
        self._stuck.discard(numbers[0])
        self._open.difference_update(numbers)
        if isinstance(read, Batch):
            self._outranked.discard(read)
            self._waiting.pop(read, None)

    async def _drop(self, batch: Batch) -> None:
        await self._intake.outrank(batch.parts[0].heard)
        await self._done(batch.numbers, _OUTRANKED)

    async def _done(self, numbers: Sequence[int], error: str | None) -> None:
        await asyncio.gather(*(self._intake.done(SCHEME, number, error) for number in numbers))

    async def _act(self, number: int, read: _Read) -> str | None:
        """What went wrong for good, if anything did. Raises `Refused(unavailable)` only."""
        try:
            match read:
                case Batch():
                    return await self._hear(read)
                case Tapped():
                    await self._press(read)
                case Renamed() | Reopened() | Admitted() | Migrated():
                    await self._intake.happened(read)
                case Made():
                    await self._made(read)
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

    async def _hear(self, batch: Batch) -> str | None:
        parts = await self._gathering.taken(batch)
        if batch in self._outranked:
            return await self._not_heard(parts[0])
        if (shifted := self._shifts.of(parts[0].heard.place)) is not None:
            await self._intake.happened(shifted)
        parts = [part if self._looks_back(part) else replace(part, replied=None) for part in parts]
        along = any(part.media or part.replied for part in parts)
        wanted = along and await self._intake.bound(parts[0].heard.place)
        heard = joined(await self._fetching.heard(parts) if wanted else [part.heard for part in parts])
        if batch in self._outranked:
            return await self._not_heard(parts[0])
        if parts[0].edited:
            await self._intake.edit(heard)
            return None
        self._hearing[batch] = asyncio.get_running_loop().create_future()
        try:
            await self._intake.hear(heard)
            self._outranked.discard(batch)
        finally:
            self._hearing.pop(batch).set_result(None)
        return None

    def _looks_back(self, said: Said) -> bool:
        """Whether the file that it replies to is of any use for it."""
        return not said.commands or typed(said) in self._takes_files

    async def _not_heard(self, said: Said) -> str:
        await self._intake.outrank(said.heard)
        return _OUTRANKED

    async def _press(self, tapped: Tapped) -> None:
        place = tapped.place or await self._intake.sent(SCHEME, tapped.receipt) or Spot(tapped.chat).place
        text = await self._intake.press(Pressed(place, tapped.person, tapped.action, tapped.receipt))
        self._lanes.add(tapped.query, partial(self._sender.answer, tapped.query, text))


def _lane(read: _Read | Said, number: int) -> Hashable:
    match read:
        case Renamed() | Reopened() | Admitted():
            return read.place
        case Migrated():
            return read.new
        case Tapped():
            return read.person.id, read.receipt
        case _:
            return number
