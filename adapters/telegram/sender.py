"""Brings posts to Telegram, and says for sure whether they got there."""

import logging

from telegram import InlineKeyboardButton, InlineKeyboardMarkup, InputFile, LinkPreviewOptions, Message, ReplyParameters
from telegram.error import BadRequest, ChatMigrated, Forbidden, InvalidToken, NetworkError, RetryAfter, TelegramError

from adapters.telegram.config import Patience
from adapters.telegram.limiter import seconds_of
from adapters.telegram.markup import entities_of, plain, refuses_entities
from adapters.telegram.place import Spot, message_of, receipt
from adapters.telegram.text import visible
from adapters.telegram.wire import Bot, never_left
from bridge.backoff import FullJitter
from bridge.ids import PostId
from bridge.ports.chat import Ambiguous, NotDelivered
from bridge.ports.clock import Clock, Randomness
from bridge.post import Button, Post, PostKind

_LOG = logging.getLogger(__name__)

_SILENT = frozenset({PostKind.PROGRESS, PostKind.HANDOFF})
_NO_PREVIEW = LinkPreviewOptions(is_disabled=True)
_REMEDIES = {
    "message thread not found": "the topic was deleted: bind another place",
    "topic_deleted": "the topic was deleted: bind another place",
    "topic_id_invalid": "the topic was deleted: bind another place",
    "topic_closed": "reopen the topic",
    "chat not found": "check the chat's id, and whether the bot is in it",
    "bot was kicked": "add the bot to the chat again",
    "bot was blocked": "the person must start the bot again",
    "not enough rights": "allow the bot to write there",
}
_MAX_ANSWER = 200
_KEPT_IN_MIND = 500
_ROW_OF_BUTTONS = 3
_ROW_OF_CHARS = 40


class Sender:
    def __init__(self, bot: Bot, clock: Clock, randomness: Randomness, patience: Patience) -> None:
        self._bot = bot
        self._clock = clock
        self._patience = patience
        self._refused: dict[PostId, str] = {}
        self._jitter = FullJitter(randomness, cap_s=patience.backoff_s)

    async def deliver(self, post: Post, spot: Spot) -> str:
        """As `bridge.ports.chat.Chat.deliver`; `spot` is the post's place."""
        try:
            return await self._formatted(post, spot)
        except TelegramError as error:
            raise self._failure(error, post) from error

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
                disable_notification=post.kind in _SILENT,
                reply_markup=_keyboard(post.buttons),
                reply_parameters=_replying(post, spot),
                rate_limit_args=post.kind,
            )
        return await self._bot.send_message(
            spot.chat,
            visible(post.text),
            entities=entities_of(post),
            message_thread_id=spot.thread,
            disable_notification=post.kind in _SILENT,
            link_preview_options=_NO_PREVIEW,
            reply_markup=_keyboard(post.buttons),
            reply_parameters=_replying(post, spot),
            rate_limit_args=post.kind,
        )

    async def _landed(self, message: Message, spot: Spot) -> str:
        landed = message.message_thread_id if message.is_topic_message else None
        if landed != spot.thread:
            await self._take_back(message)
            raise NotDelivered("Telegram put it outside its topic, which may have been deleted")
        return receipt(spot.chat, message.message_id)

    async def _edit(self, post: Post, spot: Spot, sent: str) -> str:
        message = message_of(sent, spot.chat)
        if message is None:
            raise NotDelivered(f"{sent!r} is no message of {post.place}")
        try:
            await self._bot.edit_message_text(
                visible(post.text),
                spot.chat,
                message,
                entities=entities_of(post),
                link_preview_options=_NO_PREVIEW,
                reply_markup=_keyboard(post.buttons),
                rate_limit_args=post.kind,
            )
        except BadRequest as error:
            if "message is not modified" not in error.message.lower():
                raise
        return sent

    async def _take_back(self, message: Message) -> None:
        try:
            await self._bot.delete_message(message.chat.id, message.message_id)
        except TelegramError as error:
            _LOG.error("A message outside its topic in chat %s could not be deleted: %s", message.chat.id, error)

    def _failure(self, error: TelegramError, post: Post) -> NotDelivered | Ambiguous:
        now = self._clock.now()
        soon = now + self._jitter.after(post.attempts + 1)
        match error:
            case RetryAfter():
                return NotDelivered(error.message, retry_at=now + seconds_of(error))
            case InvalidToken():
                return NotDelivered("Telegram refuses the bot's token", retry_at=now + self._patience.hopeless_s)
            case ChatMigrated():
                return NotDelivered(
                    f"The group is a supergroup now, with the id {error.new_chat_id}: allow and bind that"
                )
            case BadRequest() | Forbidden():  # a BadRequest is a NetworkError, but Telegram's own word
                return NotDelivered(f"Telegram refused it: {error.message}{_remedy(error)}")
            case NetworkError() if never_left(error):
                return NotDelivered(f"Telegram cannot be reached: {error.message}", retry_at=soon)
            case _ if post.receipt is not None:  # an edit may be made twice
                return NotDelivered(f"It is not known whether it was edited: {error.message}", retry_at=soon)
            case _:
                return Ambiguous(f"Telegram did not confirm it: {error.message}")


def _remedy(error: TelegramError) -> str:
    said = error.message.lower()
    return next((f" ({remedy})" for known, remedy in _REMEDIES.items() if known in said), "")


def _replying(post: Post, spot: Spot) -> ReplyParameters | None:
    """What it answers may have been deleted."""
    answered = message_of(post.reply_to, spot.chat) if post.reply_to is not None else None
    return ReplyParameters(answered, allow_sending_without_reply=True) if answered is not None else None


def _keyboard(buttons: tuple[Button, ...]) -> InlineKeyboardMarkup | None:
    """Short labels share a row, as far as a telephone can show them."""
    rows: list[list[InlineKeyboardButton]] = []
    room = 0
    for button in buttons:
        room -= len(button.label)
        if not rows or room < 0 or len(rows[-1]) == _ROW_OF_BUTTONS:
            rows.append([])
            room = _ROW_OF_CHARS - len(button.label)
        rows[-1].append(InlineKeyboardButton(button.label, url=button.url, callback_data=button.action or None))
    return InlineKeyboardMarkup(rows) if rows else None
