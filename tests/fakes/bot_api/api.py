"""What a test does with the fake Bot API: set up chats, act as people, and wait for what the bot shows."""

import asyncio
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.fakes.bot_api.methods import Methods
from tests.fakes.bot_api.methods.callbacks import Callbacks
from tests.fakes.bot_api.people import People
from tests.fakes.bot_api.server import Fault, Request, Server
from tests.fakes.bot_api.traffic import COUNTED, Traffic, Weather
from tests.fakes.bot_api.updates import Updates
from tests.fakes.bot_api.webhook import Webhook
from tests.fakes.bot_api.world import BOT, Draft, Json, Sent, World

TOKEN = "123456:TEST-token-of-the-fake"
DRAFT_LIFE_S = 30


class BotApi(People):
    """A Bot API server for one bot, on a free port of loopback, while the context is open.

    `clock` gives the seconds by which requests are timed, limits hold and drafts fade; `bot` is the bot's own id.
    """

    bot: int = BOT["id"]

    def __init__(self, token: str = TOKEN, clock: Callable[[], float] = time.monotonic) -> None:
        world = World(clock)
        callbacks = Callbacks()
        super().__init__(world, Updates(world), callbacks)
        self.traffic = Traffic(clock)
        self.webhook = Webhook(world, self.updates)
        self._methods = Methods(world, self.updates, self.webhook, callbacks)
        self._server = Server(world, self._methods, self.traffic, token)

    async def __aenter__(self) -> Self:
        await self._server.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.down()
        if error is None and self._server.drift:
            raise self._server.drift[0]

    # The server
    @property
    def token(self) -> str:
        """Changing it revokes the one before: requests with that get 401."""
        return self._server.token

    @token.setter
    def token(self, token: str) -> None:
        self._server.token = token

    @property
    def base_url(self) -> str:
        """What to set as `telegram.base_url`."""
        return f"http://127.0.0.1:{self._server.port}/bot"

    @property
    def requests(self) -> list[Request]:
        return self._server.requests

    def calls(self, method: str) -> list[Request]:
        """Files that were fetched are the calls of `file`."""
        return [request for request in self.requests if request.method == method]

    async def down(self) -> None:
        """Stops listening and pushing; everything is kept for `up`, which listens on the same port again."""
        await self.webhook.stop()
        await self._server.stop()

    async def up(self) -> None:
        await self._server.start()
        self.webhook.start()

    async def restart(self) -> None:
        """Cuts all connections. Chats, messages and updates that nobody acknowledged are still there."""
        await self.down()
        await self.up()

    # What goes wrong
    def fail(self, method: str, fault: Fault, times: int = 1) -> None:
        """The next requests of that method go wrong; `file` is a download."""
        self._server.fail(method, fault, times)

    def flood(self, chat: int, retry_after: int, times: int = 1) -> None:
        """The next requests that concern the chat are answered with 429."""
        self.traffic.flood(chat, retry_after, times)

    def limit(self, chat: int, count: int, per_s: float) -> None:
        """From now on, more requests than that are answered with 429, and with how long to wait."""
        self.traffic.limit(chat, count, per_s)

    def weather(self, weather: Weather) -> None:
        """From now on, requests go wrong by chance."""
        self.traffic.turn(weather)

    def raw(self, update: Json) -> int:
        """Adds an update as it is, valid or not; returns its number."""
        return self.updates.add_raw(update)

    def lies_at(self, file: str, path: Path) -> None:
        """From now on that file is one that the server has on its own disk, as `--local` makes it tell."""
        self._world.files[file] = replace(self._world.files[file], path=str(path))

    def repeat(self, count: int | None = None) -> None:
        """The updates that wait are delivered twice in one answer: all of them, or the first `count`."""
        twice = self.updates.pending[:count]
        rest = self.updates.pending[len(twice) :]
        self.updates.pending = [update for update in twice for _ in range(2)] + rest
        self._world.pulse()

    # What the bot has done
    def sent(self, chat: int, thread: int | None = None) -> list[Sent]:
        """What stands in that topic, or outside topics, by now: the last state of each message of the bot."""
        return [sent for sent in self._world.rooms[chat].sent.values() if sent.thread == thread]

    @property
    def history(self) -> list[Sent]:
        """Every state of every message of the bot, in order."""
        return self._world.history

    @property
    def unconfirmed(self) -> list[Sent]:
        """What was shown by requests whose answer never came."""
        return self._server.unconfirmed

    @property
    def losses(self) -> list[str]:
        """What Telegram would have dropped without a word: entities that overlap, links that lead nowhere."""
        return self._world.losses

    @property
    def drafts(self) -> list[Draft]:
        """Every draft that was ever shown, in order."""
        return self._world.drafts

    def draft(self, chat: int, thread: int | None = None) -> Draft | None:
        """What the bot seems to be writing there now: what it sends in that place ends its draft."""
        drafts = [each for each in self.drafts if (each.chat, each.thread) == (chat, thread)]
        if not drafts or self._world.clock() - drafts[-1].at >= DRAFT_LIFE_S:
            return None
        ended = any(not sent.edited and sent.at >= drafts[-1].at for sent in self.sent(chat, thread))
        return None if ended else drafts[-1]

    def reactions(self, chat: int, message_id: int) -> tuple[str, ...]:
        """Those of the bot to that message, by now."""
        return self._world.rooms[chat].reacted.get(message_id, ())

    @property
    def answers(self) -> Mapping[str, str | None]:
        """The texts of the callbacks that were answered, by their ids."""
        return self._methods.callbacks.answers

    @property
    def commands(self) -> Mapping[str, str]:
        """The menu that is set for all."""
        return self.menus.get(("default", ""), {})

    @property
    def menus(self) -> Mapping[tuple[str, str], Mapping[str, str]]:
        """Every menu that is set, by scope (`default`, `chat:-1001`, `chat_member:-1001:111`) and language."""
        return self._methods.menus.set

    def menu(self, chat: int, user: int, language: str = "") -> Mapping[str, str]:
        """The menu that this person sees there."""
        return self._methods.menus.shown(chat, user, language)

    def busiest(self, chat: int, per_s: float, methods: Collection[str] = COUNTED) -> int:
        """The greatest number of requests for that chat in any window of that length."""
        return self.traffic.busiest(chat, per_s, methods)

    # Waiting
    async def seen(self, matches: Callable[[Sent], bool], timeout: float = 5) -> Sent:
        """The first state ever shown that matches; waits until there is one."""
        await self.until(lambda: any(map(matches, self.history)), timeout)
        return next(sent for sent in self.history if matches(sent))

    async def answered(self, callback: str, timeout: float = 5) -> str | None:
        await self.until(lambda: callback in self.answers, timeout)
        return self.answers[callback]

    async def acknowledged(self, number: int, timeout: float = 5) -> None:
        """Waits until the bot has acknowledged the update of that number."""
        await self.until(lambda: self.updates.acknowledged >= number, timeout)

    async def until(self, holds: Callable[[], bool], timeout: float = 5) -> None:
        """Waits for what depends on the server's state; looks again after each request, never by polling."""
        try:
            async with asyncio.timeout(timeout):
                while not holds():
                    await self._world.change()
        except TimeoutError:
            shown = "\n".join(f"  {sent}" for sent in self.history[-20:]) or "  nothing"
            last = ", ".join(request.method for request in self.requests[-10:]) or "none"
            raise AssertionError(f"not within {timeout} s; last requests: {last}; shown:\n{shown}") from None
