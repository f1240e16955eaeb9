"""How Telegram's numbers are written as places, people and receipts."""

import re
from dataclasses import dataclass

from bridge.ids import Place

SCHEME = "telegram"

_SUPERGROUPS = -1_000_000_000_000
"""The ids of supergroups and channels are below it."""

_PLACE = re.compile(rf"{SCHEME}:(?P<chat>-?[0-9]{{1,19}})(?:/(?:(?P<thread>[0-9]{{1,19}})|(?P<general>general)))?\Z")
_PERSON = re.compile(rf"{SCHEME}:(?P<user>[0-9]{{1,19}})\Z")
_SUPERGROUP = "-100"
"""Begins the ids of supergroups, among which are all groups with topics."""

_RECEIPT = re.compile(r"(?P<chat>-?[0-9]{1,19})/(?P<message>[0-9]{1,19})\Z")


@dataclass(frozen=True, slots=True)
class Spot:
    """A topic of a chat, a forum's General, or a chat without topics as a whole."""

    chat: int
    thread: int | None = None
    general: bool = False

    @property
    def place(self) -> Place:
        if self.general:
            return Place(f"{SCHEME}:{self.chat}/general")
        return Place(f"{SCHEME}:{self.chat}" if self.thread is None else f"{SCHEME}:{self.chat}/{self.thread}")


def spot(place: str) -> Spot | None:
    """None unless `place` is one of Telegram's."""
    found = _PLACE.match(place)
    if found is None:
        return None
    thread = found["thread"]
    return Spot(int(found["chat"]), int(thread) if thread else None, general=bool(found["general"]))


def chats_of(old: Place, new: Place) -> tuple[int, int]:
    """The chats of two places; the same number twice where not both are Telegram's."""
    one, other = spot(old), spot(new)
    return (one.chat, other.chat) if one is not None and other is not None else (0, 0)


def is_basic(chat: int) -> bool:
    """Whether it may be a group that becomes a supergroup, with another id then."""
    return _SUPERGROUPS < chat < 0


def is_numbered_by_all(chat: int) -> bool:
    """Whether its messages have the same numbers for everybody. Elsewhere they are those of each account, and another
    bot begins with the first ones again."""
    return chat < _SUPERGROUPS


def person_id(user: int) -> str:
    return f"{SCHEME}:{user}"


def user_of(person: str) -> int | None:
    found = _PERSON.match(person)
    return int(found["user"]) if found else None


def receipt(chat: int, message: int) -> str:
    """Names a message among all of Telegram's: its own id is unique within a chat only."""
    return f"{chat}/{message}"


def link(written: str) -> str | None:
    """Where members of a supergroup find the message. Messages of other chats have no address."""
    found = _RECEIPT.match(written)
    if found is None or not found["chat"].startswith(_SUPERGROUP):
        return None
    return f"https://t.me/c/{found['chat'].removeprefix(_SUPERGROUP)}/{found['message']}"


def topic_link(where: Spot) -> str | None:
    """The same of a topic, which has the id of the message that it began with."""
    return link(receipt(where.chat, where.thread)) if where.thread is not None else None


def message_of(written: str, chat: int) -> int | None:
    """The message's id within `chat`; None if the receipt is of another chat."""
    found = _RECEIPT.match(written)
    return int(found["message"]) if found and int(found["chat"]) == chat else None
