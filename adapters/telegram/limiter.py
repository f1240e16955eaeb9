"""The budget, where every request of the bot passes."""

from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

from telegram.error import RetryAfter
from telegram.ext import BaseRateLimiter

from adapters.telegram.spending import Spending
from bridge.post import Urgency

Json = dict[str, Any]


class ChatLimiter(BaseRateLimiter[Urgency]):
    """Never waits in line: what the budget does not allow now is `Later`.

    Requests name their urgency (`rate_limit_args`). Those without one are made whatever is left, and are counted. What
    only reads, and what is of no chat, is not counted; it rests too once Telegram has answered it with 429.
    """

    def __init__(self, spending: Spending) -> None:
        self._spending = spending

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
        rate_limit_args: Urgency | None,
    ) -> bool | Json | list[Json]:
        """Raises `NotDelivered`, and whatever the request raises."""
        chat = data.get("chat_id")
        if not isinstance(chat, int) or endpoint.startswith("get"):
            return await self._uncounted(callback, args, kwargs, endpoint)
        request = await self._spending.begin(chat, rate_limit_args)
        try:
            return await callback(*args, **kwargs)
        except RetryAfter as error:
            await self._spending.halt(str(chat), seconds_of(error))
            raise
        finally:
            self._spending.end(request)

    async def _uncounted(
        self, callback: Callable[..., Coroutine[Any, Any, Any]], args: Any, kwargs: Json, endpoint: str
    ) -> bool | Json | list[Json]:
        self._spending.check(endpoint)
        try:
            result: bool | Json | list[Json] = await callback(*args, **kwargs)
        except RetryAfter as error:
            await self._spending.halt(endpoint, seconds_of(error))
            raise
        return result


def seconds_of(error: RetryAfter) -> float:
    after = error.retry_after
    return after.total_seconds() if isinstance(after, timedelta) else float(after)
