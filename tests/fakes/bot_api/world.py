"""What a Bot API server knows of chats, topics and messages."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

BOT: Json = {"id": 123456, "is_bot": True, "first_name": "Tieline", "username": "tieline_bot"}
ANONYMOUS: Json = {"id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot"}

THREAD_NOT_FOUND = "Bad Request: message thread not found"


class ApiError(Exception):
    """What the Bot API answers instead of a result."""

    def __init__(self, code: int, description: str, parameters: Mapping[str, int] | None = None) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.parameters = parameters


@dataclass(frozen=True, slots=True)
class Sent:
    """One state of a message of the bot: what people saw from its sending, or an edit, until the next edit.

    `thread` is None outside topics, in General too. `silent` says that its sending made no sound.
    """

    chat: int
    thread: int | None
    message_id: int
    text: str
    buttons: tuple[tuple[str, str], ...] = ()
    silent: bool = False
    edited: bool = False


@dataclass(slots=True)
class Topic:
    name: str
    closed: bool = False
    deleted: bool = False


@dataclass(slots=True)
class Room:
    """One chat. `gone` is the reason why the bot may not write there; `migrated_to` its new id, if it has one."""

    id: int
    type: str
    title: str
    forum: bool = False
    topics: dict[int, Topic] = field(default_factory=dict)
    messages: dict[int, Json] = field(default_factory=dict)
    sent: dict[int, Sent] = field(default_factory=dict)
    gone: str | None = None
    migrated_to: int | None = None
    next_id: int = 1000

    @property
    def chat(self) -> Json:
        named = {"first_name": self.title} if self.type == "private" else {"title": self.title}
        return {"id": self.id, "type": self.type, **named, **({"is_forum": True} if self.forum else {})}

    def place(self, sender: Json, content: Json, *, thread: int | None = None, reply_to: int | None = None) -> Json:
        """Puts a message into the chat and returns it.

        A message of a topic that replies to nothing carries the topic's service message as its reply, and in a
        supergroup without topics a reply carries the first message of its chain as a thread, as in the real API.
        """
        message: Json = {"message_id": self.next_id, "date": int(time.time()), "chat": self.chat, "from": sender}
        self.next_id += 1
        if thread is not None:
            message |= {"message_thread_id": thread, "is_topic_message": True}
            message["reply_to_message"] = self._topic_message(thread)
        if reply_to is not None:
            replied = {key: value for key, value in self.messages[reply_to].items() if key != "reply_to_message"}
            message["reply_to_message"] = replied
            if thread is None and self.type == "supergroup":
                message["message_thread_id"] = replied.get("message_thread_id", reply_to)
        message |= content
        self.messages[message["message_id"]] = message
        return message

    def _topic_message(self, thread: int) -> Json:
        created = {"name": self.topics[thread].name, "icon_color": 7322096}
        return {
            "message_id": thread,
            "date": int(time.time()),
            "chat": self.chat,
            "from": BOT,
            "message_thread_id": thread,
            "is_topic_message": True,
            "forum_topic_created": created,
        }


class World:
    """All chats, and a pulse: everything that waits for a change wakes up with it and looks again."""

    def __init__(self) -> None:
        self.rooms: dict[int, Room] = {}
        self.history: list[Sent] = []
        self._changed = asyncio.Event()

    def pulse(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def change(self) -> None:
        await self._changed.wait()

    def room(self, chat: int | str) -> Room:
        """Raises `ApiError` where the bot cannot act in that chat."""
        room = self.rooms.get(int(chat)) if str(chat).lstrip("-").isdigit() else None
        if room is None:
            raise ApiError(400, "Bad Request: chat not found")
        if room.migrated_to is not None:
            description = "Bad Request: group chat was upgraded to a supergroup chat"
            raise ApiError(400, description, {"migrate_to_chat_id": room.migrated_to})
        if room.gone is not None:
            raise ApiError(403, f"Forbidden: {room.gone}")
        return room

    def show(self, room: Room, sent: Sent) -> None:
        room.sent[sent.message_id] = sent
        self.history.append(sent)
        self.pulse()
