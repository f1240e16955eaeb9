"""What the settings say, ready for use: plain values, checked, with every default filled in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from bridge.limits import Limits
from bridge.session import Declared
from policy.rules import Rule


class PeerText(StrEnum):
    """How the text of other sessions reaches an agent (DESIGN §5)."""

    PULL = "pull"
    EMBED = "embed"


@dataclass(frozen=True, slots=True)
class StoreSettings:
    url: str
    retention_days: int


@dataclass(frozen=True, slots=True)
class WebhookSettings:
    """Telegram pushes to `url`; the bridge listens at `host` and `port` for it. Without a `secret` one is derived."""

    url: str
    host: str
    port: int
    secret: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class TelegramSettings:
    """`base_url` ends where the token follows. Only `operators` and `users` are heard, only in `chats` or
    in their own private chats."""

    token: str = field(repr=False)
    base_url: str
    operators: frozenset[int]
    users: frozenset[int]
    chats: frozenset[int]
    webhook: WebhookSettings | None = None


@dataclass(frozen=True, slots=True)
class WebSettings:
    """`host` is a loopback address; port 0 takes any free one."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """How an agent is started: `command` is run as it is, without a shell.

    `env` is set for it, `env_pass` names what is passed on from the bridge's environment; nothing else is. `hooks_env`
    is set where a session consents to hooks, `safe_env` in safe mode. `preset` is of which make it is.
    """

    name: str
    command: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    env_pass: tuple[str, ...]
    peer_text: PeerText
    hooks_env: Mapping[str, str] = field(default_factory=dict, repr=False)
    safe_env: Mapping[str, str] = field(default_factory=dict, repr=False)
    preset: str | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """`confirm_in_chat`: what a terminal would widen waits for an operator's word in a chat, where there is one."""

    home: Path
    profile: str
    store: StoreSettings
    telegram: TelegramSettings | None
    web: WebSettings | None
    limits: Limits
    agents: Mapping[str, AgentSettings]
    sessions: tuple[Declared, ...]
    rules: tuple[Rule, ...]
    confirm_in_chat: bool = True
