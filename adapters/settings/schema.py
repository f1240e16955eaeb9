"""The form of the settings: every table and key, its type, and what its value may look like.

What is between keys (an agent that a session names, a place bound twice) is in `checks`.
"""

import re
from collections.abc import Iterable
from dataclasses import Field as DataclassField
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationInfo,
    create_model,
)
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, SettingsConfigDict

from adapters.acp.presets import PRESETS
from adapters.settings.addresses import Address, bindable, listening, place_problem
from adapters.settings.commands import COMMAND
from adapters.settings.model import PeerText
from adapters.settings.problems import choice
from adapters.settings.sources import EnvironmentText
from bridge.decision import Effect, Verb
from bridge.limits import Limits
from bridge.quiet import hours
from bridge.session import Busy, Kind, PeerTools
from bridge.turn import FailureKind
from policy.selectors import BadSelector, Selector, selector

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}\Z")
_GREATEST = 2**53
SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}\Z")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def wrong(what: str, remedy: str) -> PydanticCustomError:
    """A refusal by one of our own checks; `what` goes on after the name of the key."""
    return PydanticCustomError("tieline", "{what}", {"what": what, "remedy": remedy})


def _number(value: object) -> object:
    if isinstance(value, bool) or (isinstance(value, str) and not isinstance(value, EnvironmentText)):
        raise wrong("should be a number", "write it without quotes")
    return value


def _bounded(value: float) -> float:
    """No store keeps a greater whole number exactly, and no clock comes to such a time."""
    if abs(value) > _GREATEST:
        raise wrong("is out of all bounds", f"write a number of at most {_GREATEST}")
    return value


def _truth(value: object) -> object:
    if isinstance(value, bool) or (isinstance(value, EnvironmentText) and value in ("true", "false")):
        return value == "true" if isinstance(value, str) else value
    raise wrong("should be true or false", "write one of these, without quotes")


def _text(value: str) -> str:
    if not value.strip() or any(not character.isprintable() for character in value):
        raise wrong("should be text in one line", "write something, without control characters")
    return value


def _listed(value: object) -> object:
    if isinstance(value, EnvironmentText):
        return [EnvironmentText(part.strip()) for part in value.split(",")]
    return value


def _one_or_more(value: object) -> object:
    return [value] if isinstance(value, str) and not isinstance(value, EnvironmentText) else _listed(value)


def _name(value: str) -> str:
    if not _NAME.match(value):
        raise wrong(f"{value!r} is no name", "use 1 to 63 of a-z, 0-9 and -, and begin with a letter or digit")
    return value


def _variable(value: str) -> str:
    if not _VARIABLE.match(value):
        name = value.partition("=")[0]
        raise wrong(f"{name!r} is no name of a variable", "write the name alone; a value belongs into env")
    if value.startswith("TIELINE_"):
        raise wrong(f"{value} is the bridge's own", "remove it: an agent never gets the bridge's secrets")
    return value


def _one_of(what: str, known: Iterable[str]) -> AfterValidator:
    """The value becomes the one that is known: a member, where they are those of an enumeration."""
    every = list(known)

    def check(value: str) -> str:
        if value not in every:
            raise wrong(f"has the unknown {what} {value!r}", choice(value, every))
        return every[every.index(value)]

    return AfterValidator(check)


def _selector(value: str) -> Selector:
    try:
        return selector(value)
    except BadSelector as error:
        raise wrong(f"has a wrong selector: {error}", error.remedy) from None


def _place(value: str, around: ValidationInfo) -> str:
    if problem := place_problem(value, of_gateway=around.data.get("kind") == Kind.GATEWAY):
        raise wrong(*problem)
    return value


def _store_url(value: str) -> str:
    if value.startswith(("postgres:", "postgresql:")):
        raise wrong("is not supported yet for PostgreSQL", 'write url = "sqlite"')
    if value != "sqlite":
        raise wrong("names no store", 'write url = "sqlite"')
    return value


def _mode(value: str) -> str:
    if value not in ("acp", COMMAND):
        raise wrong(f"has the unknown mode {value!r}", 'write mode = "acp" or mode = "command"')
    return value


def _exit_code(value: str) -> str:
    if not value.isascii() or not value.isdigit() or not 1 <= int(value) <= 255:
        raise wrong(f"has {value!r}, which is no exit code", "write one from 1 to 255, in quotes")
    return value


def _folder(value: str) -> str:
    if not value.startswith(("/", "~")):
        raise wrong("should be an absolute path", "begin it with / or ~")
    return value


def _hours(value: str) -> str:
    try:
        hours(value)
    except ValueError:
        raise wrong(f"has {value!r}, which are no hours", 'write hours like "22:00-07:00"') from None
    return value


def _http(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise wrong("should be a URL", "write one that begins with https:// or http://")
    return value


def _address(value: object) -> Address:
    address = listening(value) if isinstance(value, str) else None
    if address is None:
        raise wrong("should be a loopback address", 'write listen = "127.0.0.1:8484"')
    return address


def _public(value: str) -> str:
    """Where Telegram pushes to; it takes https only, and no address with a fragment or a login."""
    parts = urlsplit(value)
    if parts.scheme != "https" or not parts.hostname or parts.username or parts.fragment or parts.query:
        raise wrong("should be a public https URL", 'write one like "https://bridge.example.org/telegram"')
    return value


def _behind(value: object) -> Address:
    address = bindable(value) if isinstance(value, str) else None
    if address is None:
        raise wrong("should be an address and a port", 'write listen = "127.0.0.1:8443"')
    return address


def _secret(value: SecretStr) -> SecretStr:
    if not SECRET.match(value.get_secret_value()):
        raise wrong("is no secret that Telegram takes", "use 1 to 256 of A-Z, a-z, 0-9, _ and -, or leave it out")
    return value


def _token(value: SecretStr) -> SecretStr:
    token = value.get_secret_value().strip()
    if not token or any(character.isspace() or not character.isprintable() for character in token):
        raise wrong("is no token", "copy it from the chat with @BotFather")
    return SecretStr(token)


Text = Annotated[str, AfterValidator(_text)]
Name = Annotated[str, AfterValidator(_name)]
Variable = Annotated[str, AfterValidator(_variable)]
ExitCode = Annotated[str, AfterValidator(_exit_code)]
Truth = Annotated[bool, BeforeValidator(_truth)]
Whole = Annotated[int, BeforeValidator(_number), AfterValidator(_bounded)]
Positive = Annotated[Whole, Field(gt=0)]
Texts = Annotated[list[Text], BeforeValidator(_listed)]
Chats = Annotated[list[Whole], BeforeValidator(_listed)]
People = Annotated[list[Annotated[Whole, Field(gt=0)]], BeforeValidator(_listed)]
Selectors = Annotated[
    list[Annotated[str, AfterValidator(_selector)]], BeforeValidator(_one_or_more), Field(min_length=1)
]
Verbs = Annotated[list[Annotated[str, _one_of("verb", Verb)]], BeforeValidator(_one_or_more), Field(min_length=1)]


class Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StoreTable(Table):
    url: Annotated[str, AfterValidator(_store_url)] = "sqlite"
    retention_days: Annotated[Whole, Field(gt=0)] = 30


class WebhookTable(Table):
    url: Annotated[str, AfterValidator(_public)]
    listen: Annotated[Any, AfterValidator(_behind)] = Address("127.0.0.1", 8443)
    secret: Annotated[SecretStr, AfterValidator(_secret)] | None = None
    secret_file: Text | None = None


class TelegramTable(Table):
    token: Annotated[SecretStr, AfterValidator(_token)] | None = None
    token_file: Text | None = None
    base_url: Annotated[str, AfterValidator(_http)] = "https://api.telegram.org/bot"
    operators: People = []
    users: People = []
    chats: Chats = []
    webhook: WebhookTable | None = None


class WebTable(Table):
    listen: Annotated[Any, AfterValidator(_address)] = Address("127.0.0.1", 8484)


class AgentTable(Table):
    preset: Annotated[str, _one_of("preset", PRESETS)] | None = None
    command: Annotated[list[Text], Field(min_length=1)] | None = None
    mode: Annotated[str, AfterValidator(_mode)] = "acp"
    peer_text: Annotated[str, _one_of("way", PeerText)] = PeerText.PULL
    env: dict[Variable, str] = {}
    env_pass: Annotated[list[Variable], BeforeValidator(_listed)] | None = None
    hooks_env: dict[Variable, str] | None = None
    safe_env: dict[Variable, str] | None = None
    resume: Annotated[list[Text], Field(min_length=1)] | None = None
    output: Annotated[str, _one_of("form", ("text", "json"))] | None = None
    text: Text | None = None
    session: Text | None = None
    lost: Text | None = None
    exit_codes: dict[ExitCode, Annotated[str, _one_of("kind of failure", FailureKind)]] = {}


class ServerTable(Table):
    command: Annotated[list[Text], Field(min_length=1)]
    env_pass: Annotated[list[Variable], BeforeValidator(_listed)] = []


class SessionTable(Table):
    agent: str | None = None
    kind: Annotated[str, _one_of("kind", Kind)] | None = None
    cwd: Annotated[Text, AfterValidator(_folder)] | None = None
    title: Text | None = None
    project: Text | None = None
    tags: Texts = []
    accept_wake: Truth = True
    busy: Annotated[str, _one_of("way", Busy)] = Busy.QUEUE
    inbox_limit: Positive | None = None
    max_chars: Positive | None = None
    reply_wake: Truth | None = None
    peer_tools: Annotated[str, _one_of("way", PeerTools)] = PeerTools.ASK
    peer_mode: Text | None = None
    hidden: Truth = False
    quiet: Annotated[tuple[Annotated[str, AfterValidator(_hours)], ...], BeforeValidator(_listed)] = ()
    timezone: Text | None = None
    model: Text | None = None
    mode: Text | None = None
    preamble: str | None = None
    servers: dict[Name, ServerTable] = {}
    files: Texts = []
    hooks: Truth = False
    safe: Truth = False
    label: Name | None = None
    fallback: Texts = []
    places: Annotated[list[Annotated[str, AfterValidator(_place)]], BeforeValidator(_listed)] = []


class RuleTable(Table):
    senders: Selectors = Field(alias="from")
    recipients: Selectors = Field(alias="to")
    verbs: Verbs
    effect: Annotated[str, _one_of("effect", Effect)]


class PolicyTable(Table):
    rules: list[RuleTable] = []
    confirm_in_chat: Truth = True


def _limit(limit: DataclassField[Any]) -> Any:
    bounds = Field(gt=0, allow_inf_nan=False)
    return Annotated[limit.type, BeforeValidator(_number), bounds, AfterValidator(_bounded)], limit.default


if TYPE_CHECKING:
    LimitsTable = Table
else:
    # The retention is set as store.retention_days.
    _limits = {each.name: _limit(each) for each in fields(Limits) if each.name != "retention_s"}
    LimitsTable = create_model("LimitsTable", __base__=Table, **_limits)


class File(BaseSettings):
    """`tieline.toml` as a whole."""

    model_config = SettingsConfigDict(extra="forbid", frozen=True, case_sensitive=True)

    profile: Name = "default"
    store: StoreTable = StoreTable()
    telegram: TelegramTable | None = None
    web: WebTable | None = None
    limits: LimitsTable = LimitsTable()
    agents: dict[Name, AgentTable] = {}
    sessions: dict[Name, SessionTable] = {}
    policy: PolicyTable = PolicyTable()
