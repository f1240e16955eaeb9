"""Hears of updates, whatever goes wrong: with what Telegram has kept meanwhile it goes on by itself."""

import asyncio
from collections.abc import Callable
from typing import Protocol

from telegram.error import Conflict, InvalidToken, RetryAfter, TelegramError
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type

from adapters.telegram.handling import Handling
from adapters.telegram.health import Health
from adapters.telegram.incoming import Reader
from adapters.telegram.limiter import seconds_of
from adapters.telegram.menus import Menus
from adapters.telegram.wire import Bot, Wire
from bridge.backoff import FullJitter
from bridge.errors import Refused
from bridge.ports.chat import Later
from bridge.ports.clock import Clock, Randomness


class Source(Protocol):
    """Where updates come from: there are never two of them for one bot."""

    async def round(self, handling: Handling, last: int | None) -> None:
        """Returns once Telegram was heard of; `last` is the highest number that was kept when it began. Raises
        whatever goes wrong."""
        ...

    async def failed(self, error: Exception) -> str | None:
        """Gets ready to try again. Returns what is wrong, where it knows better than the error."""
        ...

    async def aclose(self) -> None: ...


class Poller:
    def __init__(
        self,
        source: Source,
        wire: Wire,
        bot: Bot,
        handling: Callable[[Reader, FullJitter, asyncio.TaskGroup], Handling],
        clock: Clock,
        randomness: Randomness,
        health: Health,
        menus: Menus,
    ) -> None:
        self._source = source
        self._wire = wire
        self._bot = bot
        self._new_handling = handling
        self._clock = clock
        self._health = health
        self._menus = menus
        self._jitter = FullJitter(randomness, first_s=0.5, cap_s=wire.patience.backoff_s)
        self._reader: Reader | None = None
        self._handling: Handling | None = None
        self._recovered = False
        self._last: int | None = None
        self._conflict_since: float | None = None

    async def run(self) -> None:
        """Until it is cancelled. Whatever goes wrong is said by the health and tried again."""
        async with asyncio.TaskGroup() as tasks:
            try:
                while True:
                    async for attempt in AsyncRetrying(
                        retry=retry_if_exception_type(Exception),
                        wait=self._pause,
                        sleep=self._clock.sleep,
                        before_sleep=self._failed,
                    ):
                        with attempt:
                            await self._round(tasks)
            finally:
                await self._source.aclose()

    async def _round(self, tasks: asyncio.TaskGroup) -> None:
        reader = self._reader or await self._connect()
        handling = self._handling
        if handling is None:
            handling = self._handling = self._new_handling(reader, self._jitter, tasks)
        if not self._recovered:
            self._last = await handling.recover()
            self._recovered = True
        await self._source.round(handling, self._last)
        if not handling.stuck:
            self._health.polled(self._clock.now())
        self._conflict_since = None

    async def _connect(self) -> Reader:
        await self._bot.initialize()
        self._menus.changed.set()
        self._reader = Reader(lambda: self._wire.config, self._bot.username, self._bot.id)
        return self._reader

    def _pause(self, state: RetryCallState) -> float:
        match _error(state):
            case RetryAfter() as error:
                return seconds_of(error)
            case Later(until=until):
                return max(0.0, until - self._clock.now())
            case InvalidToken():
                return self._wire.patience.hopeless_s
            case Conflict() if self._conflict_lasts():
                return self._wire.patience.hopeless_s
            case _:
                return self._jitter(state)

    async def _failed(self, state: RetryCallState) -> None:
        error = _error(state)
        if isinstance(error, Conflict) and self._conflict_since is None:
            self._conflict_since = self._clock.now()
        known = await self._source.failed(error)
        match error:
            case _ if known is not None:
                self._health.fails(known)
            case InvalidToken():
                self._health.fails(
                    "Telegram refuses the bot's token: set telegram.token to the one that BotFather gave"
                )
            case Conflict():
                if self._conflict_lasts():
                    self._health.fails("another program polls this bot: stop it, or give the bridge a bot of its own")
            case TelegramError():
                self._health.fails(f"Telegram cannot be reached: {error.message}")
            case TimeoutError():
                self._health.fails("Telegram cannot be reached: no answer in time")
            case Later():
                self._health.fails(error.reason)
            case Refused():
                self._health.fails(f"updates of Telegram cannot be stored: {error.reason}")
            case _:
                self._health.fails(f"polling Telegram failed: {type(error).__name__}", error)

    def _conflict_lasts(self) -> bool:
        since = self._conflict_since
        return since is not None and self._clock.now() - since >= self._wire.patience.conflict_s


def _error(state: RetryCallState) -> Exception:
    error = state.outcome.exception() if state.outcome is not None else None
    if not isinstance(error, Exception):
        raise TypeError("only an attempt that failed is tried again")
    return error
