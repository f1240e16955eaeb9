"""Topics as Telegram has them: made, renamed, closed, opened and deleted, and what is done where one is lost."""

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from telegram.error import BadRequest, ChatMigrated, Forbidden, NetworkError, RetryAfter, TelegramError

from adapters.telegram.limiter import seconds_of
from adapters.telegram.lost import TopicClosed, is_gone
from adapters.telegram.making import Making, Unclear
from adapters.telegram.place import Spot
from adapters.telegram.sender import Sender
from adapters.telegram.wire import Bot, never_left
from bridge.ports.chat import Blocked, Gone, NotDelivered
from bridge.ports.clock import Clock
from bridge.post import Post, Urgency

_T = TypeVar("_T")

_LOG = logging.getLogger(__name__)

_BLOCKED_S = 600
"""How long what people must set right is left alone before it is tried again, where nothing tells that it is."""
_SOON_S = 5
_TELLINGS = 2
"""So often Telegram must say that a topic is deleted. After that it is not asked again: each time costs a request of
those that are needed to make another one."""
_MAX_NAME = 128
_RIGHTS = ("not enough rights", "chat_admin_required", "need administrator rights", "can_manage_topics")
_MANAGE, _DELETE = "manage topics", "delete messages"
"""Rights of an administrator, as the apps call them."""


class Topics:
    def __init__(self, bot: Bot, sender: Sender, making: Making, clock: Clock) -> None:
        self._bot = bot
        self._sender = sender
        self._making = making
        self._clock = clock
        self._gone: dict[Spot, int] = {}

    async def deliver(self, post: Post, spot: Spot) -> str:
        """As `bridge.ports.chat.Chat.deliver`. A closed topic is opened again where the bot may."""
        if self._gone.get(spot, 0) >= _TELLINGS:
            raise Gone("the topic was deleted")
        try:
            return await self._deliver(post, spot)
        except Gone as gone:
            if await self._switched_off(spot):
                self._gone.pop(spot, None)
                off = "topics are switched off there: switch them on again, or bind its session elsewhere"
                raise self._blocked(off) from gone
            if spot.chat > 0 or self._gone[spot] >= _TELLINGS:
                raise
            # Topics may have been switched on just now. That one is gone is for good, so Telegram is asked twice, if
            # not at once then where it takes the next post: else the first question would be asked again and again.
        except TopicClosed:
            try:
                await self.reopen(spot)
            except NotDelivered as refused:
                if refused.retry_at is not None:
                    raise
                raise self._blocked(f"the topic is closed: open it again ({refused.reason})") from refused
        try:
            return await self._deliver(post, spot)
        except TopicClosed as closed:
            raise self._blocked("the topic is closed: open it again") from closed

    async def _deliver(self, post: Post, spot: Spot) -> str:
        try:
            receipt = await self._sender.deliver(post, spot)
        except Gone:
            self._gone[spot] = self._gone.get(spot, 0) + 1
            raise
        self._gone.pop(spot, None)
        return receipt

    async def is_forum(self, chat: int) -> bool:
        """Whether it has topics, as far as the bot may know. Raises `NotDelivered` where it can be told later only."""
        try:
            found = await self._ask(lambda: self._bot.get_chat(chat))
        except NotDelivered as refused:
            if refused.retry_at is not None:
                raise
            return False
        return bool(found.is_forum)

    async def open(self, chat: int, name: str) -> Spot:
        """Raises `NotDelivered`; without `retry_at` also where it is not known whether Telegram has made one."""
        called = _named(name)

        async def create() -> int:
            request = self._bot.create_forum_topic
            made = await self._ask(lambda: request(chat, called, rate_limit_args=Urgency.REPLY), once=True)
            return made.message_thread_id

        return await self._making.make(chat, called, create)

    async def rename(self, spot: Spot, name: str) -> None:
        thread = _thread(spot)
        await self._do(
            lambda: self._bot.edit_forum_topic(spot.chat, thread, name=_named(name), rate_limit_args=Urgency.PROGRESS)
        )

    async def close(self, spot: Spot) -> None:
        thread = _thread(spot, groups_only=True)
        await self._do(lambda: self._bot.close_forum_topic(spot.chat, thread, rate_limit_args=Urgency.REPLY))

    async def reopen(self, spot: Spot) -> None:
        thread = _thread(spot, groups_only=True)
        await self._do(lambda: self._bot.reopen_forum_topic(spot.chat, thread, rate_limit_args=Urgency.REPLY))

    async def delete(self, spot: Spot) -> None:
        thread = _thread(spot)
        await self._do(lambda: self._bot.delete_forum_topic(spot.chat, thread, rate_limit_args=Urgency.REPLY), _DELETE)
        await self._making.forget(spot)

    async def _switched_off(self, spot: Spot) -> bool:
        """Whether the topic may be there still, though no topic of its chat can be reached now."""
        try:
            if spot.chat < 0:
                return not await self.is_forum(spot.chat)
            return (await self._bot.get_me()).has_topics_enabled is False
        except (NotDelivered, TelegramError) as error:
            _LOG.info("It is not known whether chat %s has topics: %s", spot.chat, error)
            return False

    def _blocked(self, reason: str) -> Blocked:
        return Blocked(reason, retry_at=self._clock.now() + _BLOCKED_S)

    async def _do(self, request: Callable[[], Awaitable[bool]], right: str = _MANAGE) -> None:
        """What is so already counts as done."""
        try:
            await self._ask(request, right)
        except NotDelivered as refused:
            if "topic_not_modified" not in refused.reason.lower():
                raise

    async def _ask(self, request: Callable[[], Awaitable[_T]], right: str = _MANAGE, *, once: bool = False) -> _T:
        """`right` is what the bot needs for it. `once` says that the request must not be made twice."""
        try:
            return await request()
        except TelegramError as error:
            raise self._failure(error, right, once=once) from error

    def _failure(self, error: TelegramError, right: str, *, once: bool) -> NotDelivered:
        now = self._clock.now()
        said = error.message.lower()
        match error:
            case RetryAfter():
                return NotDelivered(error.message, retry_at=now + seconds_of(error))
            case ChatMigrated():
                return NotDelivered("the group is a supergroup now", retry_at=now)
            case BadRequest() if is_gone(error):
                return Gone(f"the topic was deleted ({error.message})")
            case BadRequest() | Forbidden() if any(right in said for right in _RIGHTS):
                return NotDelivered(f"the bot may not {right}: make it an administrator with the right to {right}")
            case BadRequest() if "not a forum" in said:
                return NotDelivered("that chat has no topics: switch them on in its settings")
            case BadRequest() | Forbidden():
                return NotDelivered(f"Telegram refuses it: {error.message}")
            case NetworkError() if once and not never_left(error):
                return Unclear(f"it is not known whether Telegram has done it: {error.message}")
            case _:
                return NotDelivered(f"Telegram cannot be reached: {error.message}", retry_at=now + _SOON_S)


def _named(name: str) -> str:
    return " ".join(name.split())[:_MAX_NAME]


def _thread(spot: Spot, *, groups_only: bool = False) -> int:
    if spot.thread is None:
        raise NotDelivered("this is no topic of its own")
    if groups_only and spot.chat > 0:
        raise NotDelivered("topics of private chats cannot be closed or opened")
    return spot.thread
