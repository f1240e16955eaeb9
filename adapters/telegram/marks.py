"""Reactions of the bot to people's messages, by which they see how it stands."""

import logging

from telegram.constants import ReactionEmoji
from telegram.error import BadRequest, Forbidden, TelegramError

from adapters.telegram.failures import Failures
from adapters.telegram.place import Spot, message_of
from adapters.telegram.wire import Bot
from bridge.ports.chat import NotDelivered
from bridge.post import Mark, Post

_LOG = logging.getLogger(__name__)

_SIGNS = {
    Mark.ACCEPTED: ReactionEmoji.EYES,
    Mark.DONE: ReactionEmoji.OK_HAND_SIGN,
    Mark.REFUSED: ReactionEmoji.THUMBS_DOWN,
}
_OF_THE_MESSAGE = ("message to react not found", "message_id_invalid", "message not found")


class Marks:
    """A chat that does not allow them gets none any more, for as long as the bridge runs."""

    def __init__(self, bot: Bot, failures: Failures) -> None:
        self._bot = bot
        self._failures = failures
        self._without: set[int] = set()

    async def deliver(self, post: Post, spot: Spot) -> str:
        """As `bridge.ports.chat.Chat.deliver`, for a mark."""
        message = message_of(post.receipt or "", spot.chat)
        if message is None or post.receipt is None:
            raise NotDelivered(f"{post.receipt!r} is no message of {post.place}")
        if spot.chat in self._without:
            raise NotDelivered("reactions are not allowed there")
        try:
            await self._bot.set_message_reaction(
                spot.chat, message, _SIGNS[Mark(post.text)], rate_limit_args=post.urgency
            )
        except TelegramError as error:
            if isinstance(error, BadRequest | Forbidden):
                if not _of_the_message(error):
                    _LOG.info("Chat %s allows the bot no reactions: %s", spot.chat, error.message)
                    self._without.add(spot.chat)
                raise NotDelivered(error.message) from error
            raise self._failures.of(error, post) from error
        return post.receipt


def _of_the_message(error: TelegramError) -> bool:
    """Whether only that message can have none, for it is gone."""
    return any(known in error.message.lower() for known in _OF_THE_MESSAGE)
