"""The budget, where every request of the bot passes."""

from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

from telegram.error import RetryAfter
from telegram.ext import BaseRateLimiter

from adapters.telegram.budget import Budget
from bridge.ports.chat import NotDelivered
from bridge.ports.clock import Clock
from bridge.post import PostKind

Json = dict[str, Any]

_EDIT = "editMessageText"


class ChatLimiter(BaseRateLimiter[PostKind]):
    """Never waits in line: what the budget does not allow now is `NotDelivered` until it does.

    Requests for a post name its kind. Progress, and what has become of a handoff that is shown already, give way to
    the others. Requests without a kind are made whatever is left, and are counted.
    """

    def __init__(self, budget: Budget, clock: Clock) -> None:
        self._budget = budget
        self._clock = clock

    async def initialize(self) -> None:
        """Needs nothing."""

    async def shutdown(self) -> None:
        """Holds nothing."""

    async def process_request(
        self,
        callback: Callable[..., Coroutine[Any, Any, bool | Json | list[Json]]],
        args: Any,
        kwargs: Json,
        endpoint: str,
        data: Json,
        rate_limit_args: PostKind | None,
    ) -> bool | Json | list[Json]:
        """Raises `NotDelivered`, and whatever the request raises."""
        chat = data.get("chat_id")
        if not isinstance(chat, int):
            return await callback(*args, **kwargs)
        self._spend(chat, rate_limit_args, endpoint)
        try:
            return await callback(*args, **kwargs)
        except RetryAfter as error:
            self._budget.halt(chat, self._clock.now() + seconds_of(error))
            raise

    def _spend(self, chat: int, kind: PostKind | None, endpoint: str) -> None:
        now = self._clock.now()
        if kind is None:
            self._budget.spend(chat, now)
            return
        revises = kind is PostKind.HANDOFF and endpoint == _EDIT
        opens = self._budget.take(chat, now, yielding=kind is PostKind.PROGRESS or revises)
        if opens is not None:
            raise NotDelivered("Telegram takes only so many messages from a bot", retry_at=opens)


def seconds_of(error: RetryAfter) -> float:
    after = error.retry_after
    return after.total_seconds() if isinstance(after, timedelta) else float(after)
