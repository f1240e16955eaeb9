"""Polls for updates: asking for those after the ones that are kept acknowledges them."""

import asyncio
import json
import logging
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from telegram.error import Conflict, RetryAfter, TelegramError
from telegram.request import HTTPXRequest

from adapters.telegram.handling import Handling
from adapters.telegram.limiter import seconds_of
from adapters.telegram.spending import Spending
from adapters.telegram.wire import Bot, Wire, stalled
from bridge.ports.chat import NotDelivered
from bridge.ports.clock import Clock

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

_METHOD = "getUpdates"
_SLACK_S = 5.0
_TICK_S = 2.0
_SLEPT_S = 15.0
"""Between two looks at the clock no more goes by, but where the machine was asleep."""


class Polling:
    """Implements `adapters.telegram.poller.Source`.

    A poll that hangs is cut, whatever it hangs in, and its client is made anew: the connection may be dead without
    having been closed. That is done at once where the machine has slept.
    """

    def __init__(self, wire: Wire, bot: Bot, spending: Spending, clock: Clock) -> None:
        self._wire = wire
        self._bot = bot
        self._spending = spending
        self._clock = clock
        self._client: HTTPXRequest = wire.polling()
        self._offset: int | None = None
        self._quick = True
        self._unhooked = False

    async def round(self, handling: Handling, last: int | None) -> None:
        self._spending.check(_METHOD)
        if self._offset is None and last is not None:
            self._offset = last + 1
        updates = await self._watched()
        self._quick = False
        if updates:
            await handling.take(updates)
            self._offset = max(int(update["update_id"]) for update in updates) + 1

    async def failed(self, error: Exception) -> str | None:
        self._quick = not isinstance(error, Conflict)  # a quick poll would succeed between two of the other poller
        if isinstance(error, RetryAfter):
            await self._spending.halt(_METHOD, seconds_of(error))
        if stalled(error):
            await self._renew()
        if isinstance(error, Conflict) and "webhook" in error.message.lower():
            return await self._unhook()
        return None

    async def aclose(self) -> None:
        await self._client.shutdown()

    async def _watched(self) -> Sequence[dict[str, Any]]:
        polling = asyncio.ensure_future(self._fetch())
        try:
            while True:
                looked_at = self._clock.now()
                done, _ = await asyncio.wait({polling}, timeout=_TICK_S)
                if done:
                    return polling.result()
                if self._clock.now() - looked_at > _SLEPT_S:
                    raise TimeoutError
        finally:
            polling.cancel()

    async def _fetch(self) -> Sequence[dict[str, Any]]:
        patience = self._wire.patience
        wait_s = 0 if self._quick else patience.poll_s  # a first poll that waits could not tell whether all is well
        query: dict[str, object] = {"timeout": wait_s, "allowed_updates": json.dumps(ALLOWED_UPDATES)}
        if self._offset is not None:
            query["offset"] = self._offset
        answer_s = wait_s + patience.answer_s
        async with asyncio.timeout(answer_s + _SLACK_S):
            payload = await self._client.retrieve(
                f"{self._bot.base_url}/{_METHOD}?{urlencode(query)}", read_timeout=answer_s
            )
        result: Sequence[dict[str, Any]] = json.loads(payload)["result"]
        return result

    async def _renew(self) -> None:
        stuck, self._client = self._client, self._wire.polling()
        try:
            async with asyncio.timeout(_SLACK_S):
                await stuck.shutdown()
        except TimeoutError:
            _LOG.warning("A client that hung could not be closed in time, and is let go")

    async def _unhook(self) -> str | None:
        """While Telegram has a webhook it lets nobody poll. It was ours, or nobody's who is to have this bot; one that
        is set again is somebody's, and not fought for."""
        if self._unhooked:
            return "another program sets a webhook for this bot: stop it, or give the bridge a bot of its own"
        try:
            self._unhooked = await self._bot.delete_webhook(drop_pending_updates=False)
        except (TelegramError, NotDelivered) as error:
            return f"Telegram has a webhook for this bot, which could not be deleted: {error}"
        _LOG.warning("The webhook of the bot was deleted, since the bridge polls")
        return None
