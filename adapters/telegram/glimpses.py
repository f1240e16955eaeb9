"""Signs of life that last for seconds: that somebody types, and in a private chat the text as it grows."""

import hashlib
import logging

from telegram.constants import ChatAction
from telegram.error import BadRequest, EndPointNotFound, TelegramError

from adapters.telegram.composing import composed
from adapters.telegram.place import Spot
from adapters.telegram.wire import Bot
from bridge.ports.chat import NotDelivered
from bridge.post import Urgency

_LOG = logging.getLogger(__name__)


class Glimpses:
    """What Telegram does not take is let go: another one follows soon."""

    def __init__(self, bot: Bot) -> None:
        self._bot = bot
        self._undrafted: set[int] = set()
        """Chats in which Telegram takes no drafts."""

    async def show(self, spot: Spot, about: str, text: str) -> bool:
        """As `bridge.ports.chat.Chat.glimpse`. A private chat has its user's id, which is positive."""
        try:
            if text.strip() and spot.chat > 0 and spot.chat not in self._undrafted:
                return await self._draft(spot, about, text)
            if not spot.general:  # where Telegram knows no thread to show it in
                await self._bot.send_chat_action(
                    spot.chat, ChatAction.TYPING, message_thread_id=spot.thread, rate_limit_args=Urgency.TYPING
                )
        except (TelegramError, NotDelivered) as error:
            _LOG.debug("A sign of life was not shown in chat %s: %s", spot.chat, error)
        return False

    async def _draft(self, spot: Spot, about: str, text: str) -> bool:
        try:
            await self._bot.send_message_draft(
                spot.chat,
                _number(about),
                composed(text, rich=False)[-1].text,
                message_thread_id=spot.thread,
                rate_limit_args=Urgency.PROGRESS,
            )
        except (BadRequest, EndPointNotFound) as error:
            self._undrafted.add(spot.chat)
            _LOG.info("Telegram takes no drafts in chat %s: %s", spot.chat, error)
            return False
        return True


def _number(about: str) -> int:
    """Not 0, and the same whoever asks: a draft is told apart by it."""
    return int.from_bytes(hashlib.sha256(about.encode()).digest()[:4]) | 1
