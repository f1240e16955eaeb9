"""Whom the bot answers, and where."""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

BASE_URL = "https://api.telegram.org/bot"


@dataclass(frozen=True, slots=True)
class Webhook:
    """Telegram pushes to `url`, which something at the edge of the network brings to `host` and `port`."""

    url: str
    host: str
    port: int
    secret: str = field(repr=False)


def secret_of(token: str, url: str) -> str:
    """One that needs no place of its own: whoever has the token could set the webhook anyway."""
    return hmac.new(token.encode(), f"webhook {url}".encode(), hashlib.sha256).hexdigest()


@dataclass(frozen=True, slots=True)
class TelegramConfig:
    """Ids are Telegram's own. Nobody but `operators` and `users` is answered, and only in `chats` or in the
    private chat with that very person, whose id is the person's."""

    token: str = field(repr=False)
    base_url: str = BASE_URL
    operators: frozenset[int] = frozenset()
    users: frozenset[int] = frozenset()
    chats: frozenset[int] = frozenset()
    webhook: Webhook | None = None
    """Without one the bot is polled."""

    def narrowed(self, other: "TelegramConfig") -> "TelegramConfig":
        """With nobody and no chat that is not in the other too; the bot stays the same."""
        operators = self.operators & other.operators
        heard = (self.operators | self.users) & (other.operators | other.users)
        return replace(self, operators=operators, users=heard - operators, chats=self.chats & other.chats)

    def migrated(self, chats: Mapping[int, int]) -> "TelegramConfig":
        """With the new ids of those of its chats that have become others, by Telegram's own word."""
        return replace(self, chats=self.chats | {new for old, new in chats.items() if old in self.chats})

    def may_talk(self, user: int, chat: int) -> bool:
        return (user in self.operators or user in self.users) and (chat in self.chats or chat == user)

    def attended(self, chat: int) -> bool:
        """Whether an operator is there: in every allowed group, and in an operator's own private chat."""
        return chat in self.operators or (chat in self.chats and bool(self.operators))

    def may_show(self, chat: int) -> bool:
        """Whether anything may be shown there at all."""
        return chat in self.chats or chat in self.operators or chat in self.users


@dataclass(frozen=True, slots=True)
class Patience:
    """How long Telegram is waited for, in seconds."""

    connect_s: float = 5
    answer_s: float = 15
    poll_s: int = 25
    backoff_s: float = 30
    """The longest pause between attempts to reach Telegram."""
    conflict_s: float = 30
    """How long another poller may be a bridge that is just being replaced."""
    hopeless_s: float = 60
    """The pause where a person must act first: a refused token, a second poller."""
