"""Brings posts to Telegram, and says for sure whether they got there."""

import logging

from telegram import InputFile, LinkPreviewOptions, Message, ReplyParameters
from telegram.error import BadRequest, TelegramError

from adapters.telegram.failures import Failures, unchanged
from adapters.telegram.keyboard import keyboard
from adapters.telegram.markup import entities_of, plain, refuses_entities
from adapters.telegram.place import Spot, message_of, receipt
from adapters.telegram.text import visible
from adapters.telegram.wire import Bot
from bridge.ids import PostId
from bridge.ports.chat import Gone, NotDelivered
from bridge.post import Post

_LOG = logging.getLogger(__name__)

_NO_PREVIEW = LinkPreviewOptions(is_disabled=True)
_MAX_ANSWER = 200
_KEPT_IN_MIND = 500


class Sender:
    def __init__(self, bot: Bot, failures: Failures) -> None:
        self._bot = bot
        self._failures = failures
        self._refused: dict[PostId, str] = {}

    async def deliver(self, post: Post, spot: Spot) -> str:
        """As `bridge.ports.chat.Chat.deliver`; `spot` is the post's place."""
        try:
            return await self._formatted(post, spot)
        except TelegramError as error:
            raise self._failures.of(error, post) from error

    async def _formatted(self, post: Post, spot: Spot) -> str:
        """Plainly, where Telegram does not take the formatting. That is kept in mind: the budget may allow one of the
        two requests only, each time."""
        if post.markup is None or self._refused.get(post.id) == post.markup:
            return await self._show(plain(post), spot)
        try:
            return await self._show(post, spot)
        except BadRequest as error:
            if not refuses_entities(error):
                raise
            _LOG.warning("A text is shown without its formatting: %s", error.message)
        self._refused[post.id] = post.markup
        if len(self._refused) > _KEPT_IN_MIND:
            del self._refused[next(iter(self._refused))]
        return await self._show(plain(post), spot)

    async def _show(self, post: Post, spot: Spot) -> str:
        if post.receipt is not None:
            return await self._edit(post, spot, post.receipt)
        return await self._landed(await self._send(post, spot), spot)

    async def answer(self, query: str, text: str) -> None:
        """Tells the person who pressed a button, if Telegram still takes it: what the button did is stored."""
        try:
            await self._bot.answer_callback_query(query, visible(text)[:_MAX_ANSWER])
        except TelegramError as error:
            _LOG.info("A pressed button was not answered: %s", error)

    async def _send(self, post: Post, spot: Spot) -> Message:
        if post.file is not None:
            return await self._bot.send_document(
                spot.chat,
                InputFile(post.text.encode("utf-8", "replace"), post.file),
                message_thread_id=spot.thread,
                disable_notification=post.silent,
                reply_markup=keyboard(post.buttons),
                reply_parameters=_replying(post, spot),
                rate_limit_args=post.urgency,
            )
        return await self._bot.send_message(
            spot.chat,
            visible(post.text),
            entities=entities_of(post),
            message_thread_id=spot.thread,
            disable_notification=post.silent,
            link_preview_options=_NO_PREVIEW,
            reply_markup=keyboard(post.buttons),
            reply_parameters=_replying(post, spot),
            rate_limit_args=post.urgency,
        )

    async def _landed(self, message: Message, spot: Spot) -> str:
        landed = message.message_thread_id if message.is_topic_message else None
        if landed != spot.thread:
            await self._take_back(message)
            raise Gone("Telegram put it outside its topic, which may have been deleted")
        return receipt(spot.chat, message.message_id)

    async def _edit(self, post: Post, spot: Spot, sent: str) -> str:
        message = message_of(sent, spot.chat)
        if message is None:
            raise NotDelivered(f"{sent!r} is no message of {post.place}")
        if post.file is not None:  # of a document only the buttons change
            request = self._bot.edit_message_reply_markup(
                spot.chat, message, reply_markup=keyboard(post.buttons), rate_limit_args=post.urgency
            )
        else:
            request = self._bot.edit_message_text(
                visible(post.text),
                spot.chat,
                message,
                entities=entities_of(post),
                link_preview_options=_NO_PREVIEW,
                reply_markup=keyboard(post.buttons),
                rate_limit_args=post.urgency,
            )
        try:
            await request
        except BadRequest as error:
            if not unchanged(error):
                raise
        return sent

    async def _take_back(self, message: Message) -> None:
        try:
            await self._bot.delete_message(message.chat.id, message.message_id)
        except TelegramError as error:
            _LOG.error("A message outside its topic in chat %s could not be deleted: %s", message.chat.id, error)


def _replying(post: Post, spot: Spot) -> ReplyParameters | None:
    """What it answers may have been deleted."""
    answered = message_of(post.reply_to, spot.chat) if post.reply_to is not None else None
    return ReplyParameters(answered, allow_sending_without_reply=True) if answered is not None else None
