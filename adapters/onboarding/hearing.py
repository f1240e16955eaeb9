"""What people do that a bot is told of: what they say to it, and where they seat it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adapters.cli.plain import one_line

PRIVATE = "private"
GROUPS = ("group", "supergroup")
OWN = ("/here", "/start")
"""Commands that are for a setup."""
_NAMED = re.compile(r"(/\w+)@(\w+)")
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Somebody:
    id: int
    name: str

    def __str__(self) -> str:
        return f"{self.name} (id {self.id})"


@dataclass(frozen=True, slots=True)
class Room:
    """A chat as an update tells of it."""

    id: int
    kind: str
    title: str


@dataclass(frozen=True, slots=True)
class Said:
    """Somebody's own words, which are no forward."""

    person: Somebody
    room: Room
    text: str
    thread: int | None


@dataclass(frozen=True, slots=True)
class Seated:
    """Somebody has changed what the bot is in a chat."""

    person: Somebody
    room: Room
    present: bool


@dataclass(frozen=True, slots=True)
class Moved:
    """A group has another id now."""

    room: int
    to: int


Event = Said | Seated | Moved


def read(update: Mapping[str, Any], username: str) -> Event | None:
    """None for whatever else there is, and for what does not have Telegram's form. A command that names another bot is
    none of ours."""
    try:
        if "my_chat_member" in update:
            seated = update["my_chat_member"]
            status = seated["new_chat_member"]["status"]
            return Seated(
                _somebody(seated["from"]),
                _room(seated["chat"]),
                status in ("member", "administrator", "restricted", "creator"),
            )
        if "message" in update:
            return _message(update["message"], username)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return None


def _message(message: Mapping[str, Any], username: str) -> Said | Moved | None:
    if "migrate_to_chat_id" in message:
        return Moved(int(message["chat"]["id"]), int(message["migrate_to_chat_id"]))
    if {"sender_chat", "forward_origin", "via_bot"} & set(message) or message["from"]["is_bot"]:
        return None
    text = str(message.get("text", "")).strip()
    if (named := _NAMED.match(text)) is not None:
        if named[2].lower() != username.lower():
            return None
        text = named[1] + text[named.end() :]
    thread = int(message["message_thread_id"]) if message.get("is_topic_message") else None
    return Said(_somebody(message["from"]), _room(message["chat"]), text, thread) if text else None


def _somebody(user: Mapping[str, Any]) -> Somebody:
    names = [str(user.get(part) or "") for part in ("first_name", "last_name")]
    at = f" @{user['username']}" if user.get("username") else ""
    return Somebody(int(user["id"]), shown(" ".join(filter(None, names)) + at))


def _room(chat: Mapping[str, Any]) -> Room:
    return Room(int(chat["id"]), str(chat["type"]), title_of(chat))


def title_of(chat: Mapping[str, Any]) -> str:
    return shown(str(chat.get("title") or chat.get("first_name") or chat["id"]))


def shown(text: str) -> str:
    """A stranger's name, safe for a terminal and for a comment in a file."""
    return one_line(text)[:_SHOWN] or "?"
