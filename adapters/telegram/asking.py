"""Single questions to the Bot API, for who sets a bot up or looks whether it is well: the answers are plain JSON."""

import json
import logging
from collections.abc import Mapping
from enum import Enum, auto
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlencode

from telegram.error import (
    BadRequest,
    ChatMigrated,
    Conflict,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TelegramError,
)

from adapters.telegram.config import Patience, TelegramConfig
from adapters.telegram.limiter import seconds_of
from adapters.telegram.wire import Wire, never_left

_LIBRARY = logging.getLogger("telegram")


class Why(Enum):
    TOKEN = auto()
    """Telegram refuses the token."""
    NO_API = auto()
    """Whoever answers there is no Bot API."""
    CONFLICT = auto()
    """Somebody else takes the bot's updates: another poller, or a webhook."""
    REFUSED = auto()
    """The Bot API has said no; the reason is its own word."""
    MIGRATED = auto()
    """The group has another id now, which is `chat`."""
    FLOOD = auto()
    """Not before `after_s`."""
    AWAY = auto()
    """It was not reached, so that nothing was done."""
    UNSURE = auto()
    """No answer came: it may have been done."""


class Unanswered(Exception):
    """A question got no answer. As text it is for people, and without the token."""

    def __init__(self, why: Why, reason: str, *, chat: int = 0, after_s: float = 0) -> None:
        super().__init__(reason)
        self.why = why
        self.reason = reason
        self.chat = chat
        self.after_s = after_s


class Asking:
    """Use it as an asynchronous context. One question at a time, apart from those that wait: `poll`."""

    def __init__(self, config: TelegramConfig, patience: Patience | None = None) -> None:
        self._patience = patience or Patience()
        self._wire = Wire(config, self._patience)
        self._asked = self._wire.polling()
        self._polled = self._wire.polling()
        self._level = logging.NOTSET

    async def __aenter__(self) -> Self:
        # The library would log whatever answers in place of a Bot API, and that may repeat the token.
        self._level = _LIBRARY.level
        _LIBRARY.setLevel(logging.CRITICAL)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _LIBRARY.setLevel(self._level)
        await self._asked.shutdown()
        await self._polled.shutdown()

    async def ask(self, method: str, **fields: object) -> Any:
        """The result. Raises `Unanswered`."""
        return await self._answer(self._asked, method, fields, self._patience.answer_s)

    async def poll(self, **fields: object) -> list[Any]:
        """The updates that wait, or come within `timeout` seconds. Raises `Unanswered`."""
        wait_s = fields.get("timeout", 0)
        answer_s = self._patience.answer_s + (wait_s if isinstance(wait_s, int) else 0)
        found = await self._answer(self._polled, "getUpdates", fields, answer_s)
        return found if isinstance(found, list) else []

    async def _answer(self, request: Any, method: str, fields: Mapping[str, object], answer_s: float) -> Any:
        query = urlencode({name: _written(value) for name, value in fields.items()})
        url = f"{self._wire.url(method)}?{query}" if query else self._wire.url(method)
        try:
            return json.loads(await request.retrieve(url, read_timeout=answer_s))["result"]
        except TelegramError as error:
            raise self._failure(error) from None
        except (ValueError, KeyError, TypeError):
            raise self._no_api() from None

    def _failure(self, error: TelegramError) -> Unanswered:
        said = error.message.removeprefix("Bad Request: ").removeprefix("Forbidden: ")
        match error:
            case InvalidToken() | BadRequest() | Forbidden() if isinstance(error.__cause__, TelegramError):
                return self._no_api()  # for it is no JSON
            case InvalidToken():
                return Unanswered(Why.TOKEN, "Telegram refuses the token")
            case Conflict() if "webhook" in said.lower():
                return Unanswered(Why.CONFLICT, "the bot has a webhook")
            case Conflict():
                return Unanswered(Why.CONFLICT, "another program polls this bot")
            case ChatMigrated():
                reason = f"the group is a supergroup now, with the id {error.new_chat_id}"
                return Unanswered(Why.MIGRATED, reason, chat=error.new_chat_id)
            case RetryAfter():
                after_s = seconds_of(error)
                return Unanswered(Why.FLOOD, f"Telegram wants a pause of {after_s:.0f} s", after_s=after_s)
            case BadRequest() | Forbidden():
                return Unanswered(Why.REFUSED, said)
            case NetworkError() if never_left(error):
                return Unanswered(Why.AWAY, f"{self._wire.config.base_url} cannot be reached")
            case _:
                return Unanswered(Why.UNSURE, f"no answer came from {self._wire.config.base_url}")

    def _no_api(self) -> Unanswered:
        return Unanswered(Why.NO_API, f"what answers at {self._wire.config.base_url} is no Bot API")


def _written(value: object) -> object:
    return json.dumps(value) if isinstance(value, list | dict | bool) else value
