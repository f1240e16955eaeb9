"""Has updates pushed, by a webhook, instead of polling for them."""

import asyncio
import logging

from telegram import WebhookInfo
from telegram.error import Conflict

from adapters.telegram.config import Webhook
from adapters.telegram.handling import Handling
from adapters.telegram.listening import Listener
from adapters.telegram.polling import ALLOWED_UPDATES
from adapters.telegram.wire import Bot

_LOG = logging.getLogger(__name__)

_CONNECTIONS = 20


class Undelivered(Exception):
    """Telegram cannot push. As text it says why."""


class Pushed:
    """Implements `adapters.telegram.poller.Source`. Between two rounds Telegram is asked every `look_s` how it gets
    on."""

    def __init__(self, webhook: Webhook, bot: Bot, *, look_s: float) -> None:
        self._webhook = webhook
        self._bot = bot
        self._look_s = look_s
        self._listener = Listener(webhook)
        self._set = 0
        self._looked = False

    async def round(self, handling: Handling, last: int | None) -> None:
        await self._listener.open()
        self._listener.take = handling.take
        if not self._set:
            await self._hook()
        elif self._looked:
            await asyncio.sleep(self._look_s)
        self._looked = True
        await self._check(await self._bot.get_webhook_info())

    async def failed(self, error: Exception) -> str | None:
        match error:
            case Undelivered():
                return f"Telegram cannot reach {self._webhook.url}: {error}"
            case OSError():
                return f"{self._webhook.host}:{self._webhook.port} cannot be listened at: {error.strerror or error}"
            case Conflict():
                return "another program sets a webhook for this bot: stop it, or give the bridge a bot of its own"
        return None

    async def aclose(self) -> None:
        """The webhook stays set, so that Telegram keeps what comes meanwhile and pushes it to the next bridge."""
        await self._listener.aclose()

    async def _hook(self) -> None:
        await self._bot.set_webhook(
            self._webhook.url,
            allowed_updates=ALLOWED_UPDATES,
            max_connections=_CONNECTIONS,
            secret_token=self._webhook.secret,
            drop_pending_updates=False,
        )
        self._set += 1

    async def _check(self, info: WebhookInfo) -> None:
        """A webhook that is another one by now is set again once: who sets it for a second time is not fought."""
        if info.url != self._webhook.url:
            if self._set > 1:
                raise Conflict("another webhook is set")
            _LOG.warning("Another webhook was set for the bot, and is replaced")
            await self._hook()
        elif info.last_error_message and info.pending_update_count:
            raise Undelivered(info.last_error_message)
