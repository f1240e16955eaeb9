"""Takes updates from Telegram without losing one.

Raw updates are kept first; asking for those after them acknowledges them; then each is handled, those of one place in
their order. One that cannot be parsed, or that fails, is set aside with its error and holds up nothing.
"""

import asyncio
import itertools
import json
import logging
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlencode

from telegram.error import Conflict, InvalidToken, RetryAfter, TelegramError
from telegram.request import HTTPXRequest
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type

from adapters.telegram.fetching import Fetching
from adapters.telegram.gathering import Batch, Gathering
from adapters.telegram.happenings import Shifts
from adapters.telegram.health import Health
from adapters.telegram.incoming import Reader, Said, Tapped
from adapters.telegram.joining import joined
from adapters.telegram.lanes import Lanes
from adapters.telegram.limiter import seconds_of
from adapters.telegram.menus import Menus
from adapters.telegram.place import SCHEME, Spot, chats_of
from adapters.telegram.sender import Sender
from adapters.telegram.wire import Bot, Wire, stalled
from bridge.backoff import FullJitter
from bridge.errors import Code, Refused
from bridge.ports.chat import Happening, Intake, Migrated, Pressed, Renamed, Reopened
from bridge.ports.clock import Clock, Randomness

_LOG = logging.getLogger(__name__)

ALLOWED_UPDATES = (
    "message",
    "edited_message",
    "callback_query",
    "message_reaction",
    "my_chat_member",
    "chat_member",
)
"""All are named, since Telegram goes on with an earlier setting for what is left out."""

_SLACK_S = 5

_Read = Batch | Tapped | Happening | Exception | None


class Poller:
    def __init__(
        self,
        wire: Wire,
        bot: Bot,
        sender: Sender,
        fetching: Fetching,
        intake: Intake,
        clock: Clock,
        randomness: Randomness,
        health: Health,
        menus: Menus,
        *,
        migrate: Callable[[int, int], None],
    ) -> None:
        self._migrate = migrate
        self._wire = wire
        self._bot = bot
        self._sender = sender
        self._intake = intake
        self._clock = clock
        self._health = health
        self._menus = menus
        self._polling: HTTPXRequest = wire.polling()
        self._jitter = FullJitter(randomness, first_s=0.5, cap_s=wire.patience.backoff_s)
        self._reader: Reader | None = None
        self._offset: int | None = None
        self._recovered = False
        self._conflict_since: float | None = None
        self._stuck: set[int] = set()
        self._gathering = Gathering(clock, menus.commands)
        self._fetching = fetching
        self._quick = True
        self._shifts = Shifts()

    async def run(self) -> None:
        """Until it is cancelled. Whatever goes wrong is said by the health and tried again."""
        try:
            async with asyncio.TaskGroup() as tasks:
                lanes = Lanes(tasks)
                tasks.create_task(self._menus.run(self._intake))
                while True:
                    async for attempt in AsyncRetrying(
                        retry=retry_if_exception_type(Exception),
                        wait=self._pause,
                        sleep=self._clock.sleep,
                        before_sleep=self._failed,
                    ):
                        with attempt:
                            await self._round(lanes)
        finally:
            await self._polling.shutdown()

    async def _round(self, lanes: Lanes) -> None:
        reader = self._reader or await self._connect()
        if not self._recovered:
            await self._recover(reader, lanes)
        raw = await self._fetch()
        if not self._stuck:
            self._health.polled(self._clock.now())
        self._conflict_since = None
        self._quick = False
        if not raw:
            return
        updates = {int(update["update_id"]): json.dumps(update) for update in raw}
        await self._intake.keep(SCHEME, list(updates.items()))
        self._offset = max(updates) + 1
        for number, text in updates.items():
            self._assign(number, text, reader, lanes)

    async def _connect(self) -> Reader:
        await self._bot.initialize()
        self._menus.changed.set()
        self._reader = Reader(lambda: self._wire.config, self._bot.username)
        return self._reader

    async def _recover(self, reader: Reader, lanes: Lanes) -> None:
        """Handles what was kept and not handled when the bridge died."""
        unhandled = await self._intake.unhandled(SCHEME)
        last = await self._intake.last(SCHEME)
        for number, text in unhandled:
            self._assign(number, text, reader, lanes)
        self._offset = None if last is None else last + 1
        self._recovered = True

    async def _fetch(self) -> Sequence[dict[str, Any]]:
        patience = self._wire.patience
        wait_s = 0 if self._quick else patience.poll_s  # a first poll that waits could not tell whether all is well
        query: dict[str, object] = {"timeout": wait_s, "allowed_updates": json.dumps(ALLOWED_UPDATES)}
        if self._offset is not None:
            query["offset"] = self._offset
        answer_s = wait_s + patience.answer_s
        async with asyncio.timeout(answer_s + _SLACK_S):
            payload = await self._polling.retrieve(
                f"{self._bot.base_url}/getUpdates?{urlencode(query)}", read_timeout=answer_s
            )
        result: Sequence[dict[str, Any]] = json.loads(payload)["result"]
        return result

    def _assign(self, number: int, raw: str, reader: Reader, lanes: Lanes) -> None:
        """To the lane of its place; a press waits for nothing. What is said in a chat that is another one now comes
        after the word that it is."""
        read: Said | Tapped | Happening | Exception | None
        try:
            read = reader.read(raw)
        except Exception as unreadable:  # noqa: BLE001 - one bad update must not hold up the others
            read = unreadable
        if isinstance(read, Migrated):
            self._migrate(*chats_of(read.old, read.new))  # What follows may be in the new chat.
            lanes.join(read.old, read.new)
        if not isinstance(read, Said):
            lanes.add(_lane(read, number), partial(self._handle, [number], read, lanes))
        elif (batch := self._gathering.add(number, read)) is not None:
            lanes.add(read.heard.place, partial(self._handle, batch.numbers, batch, lanes))

    async def _handle(self, numbers: Sequence[int], read: _Read, lanes: Lanes) -> None:
        """While the store is away it is tried again: nothing of its place may overtake it."""
        for attempt in itertools.count(1):
            try:
                error = await self._act(numbers[0], read, lanes)
                # The first one last: where a crash parts them, what is left is known by its key.
                for number in reversed(numbers):
                    await self._intake.done(SCHEME, number, error)
            except Refused as refused:
                self._stuck.add(numbers[0])
                self._report(f"updates of Telegram cannot be stored: {refused.reason}")
                await self._clock.sleep(self._jitter.after(attempt))
            except Exception:  # noqa: BLE001 - a defect must not end the other lanes
                _LOG.exception("Update %s of Telegram is left for the next start", numbers[0])
                break
            else:
                break
        self._stuck.discard(numbers[0])

    async def _act(self, number: int, read: _Read, lanes: Lanes) -> str | None:
        """What went wrong for good, if anything did. Raises `Refused(unavailable)` only."""
        try:
            match read:
                case Batch():
                    await self._hear(read)
                case Tapped():
                    await self._press(read, lanes)
                case Renamed() | Reopened() | Migrated():
                    await self._intake.happened(read)
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

    async def _hear(self, batch: Batch) -> None:
        parts = await self._gathering.taken(batch)
        if (shifted := self._shifts.of(parts[0].heard.place)) is not None:
            await self._intake.happened(shifted)
        wanted = any(part.media for part in parts) and await self._intake.bound(parts[0].heard.place)
        heard = joined([await self._fetching.heard(part) if wanted else part.heard for part in parts])
        if parts[0].edited:
            await self._intake.edit(heard)
        else:
            await self._intake.hear(heard)

    async def _press(self, tapped: Tapped, lanes: Lanes) -> None:
        place = tapped.place or await self._intake.sent(SCHEME, tapped.receipt) or Spot(tapped.chat).place
        text = await self._intake.press(Pressed(place, tapped.person, tapped.action, tapped.receipt))
        lanes.add(tapped.query, partial(self._sender.answer, tapped.query, text))

    def _pause(self, state: RetryCallState) -> float:
        match _error(state):
            case RetryAfter() as error:
                return seconds_of(error)
            case InvalidToken():
                return self._wire.patience.hopeless_s
            case Conflict() if self._conflict_lasts():
                return self._wire.patience.hopeless_s
            case _:
                return self._jitter(state)

    async def _failed(self, state: RetryCallState) -> None:
        error = _error(state)
        self._quick = not isinstance(error, Conflict)  # a quick poll would succeed between two of the other poller
        match error:
            case InvalidToken():
                self._report("Telegram refuses the bot's token: set telegram.token to the one that BotFather gave")
            case Conflict():
                if self._conflict_since is None:
                    self._conflict_since = self._clock.now()
                elif self._conflict_lasts():
                    self._report("another program polls this bot: stop it, or give the bridge a bot of its own")
            case TelegramError():
                self._report(f"Telegram cannot be reached: {error.message}")
            case TimeoutError():
                self._report("Telegram cannot be reached: no answer in time")
            case Refused():
                self._report(f"updates of Telegram cannot be stored: {error.reason}")
            case _:
                self._report(f"polling Telegram failed: {type(error).__name__}", error)
        if stalled(error):
            await self._polling.shutdown()
            self._polling = self._wire.polling()

    def _conflict_lasts(self) -> bool:
        since = self._conflict_since
        return since is not None and self._clock.now() - since >= self._wire.patience.conflict_s

    def _report(self, error: str, unexpected: Exception | None = None) -> None:
        """Logged when it begins, not at each attempt."""
        if error != self._health.error:
            _LOG.error("%s", error[0].upper() + error[1:], exc_info=unexpected)
        self._health.error = error


def _lane(read: _Read, number: int) -> Hashable:
    match read:
        case Renamed() | Reopened():
            return read.place
        case Migrated():
            return read.new
        case _:
            return number


def _error(state: RetryCallState) -> Exception:
    error = state.outcome.exception() if state.outcome is not None else None
    if not isinstance(error, Exception):
        raise TypeError("only an attempt that failed is tried again")
    return error
