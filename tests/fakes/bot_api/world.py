"""What a Bot API server knows of chats, topics, members, messages and files."""

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

BOT: Json = {"id": 123456, "is_bot": True, "first_name": "Tieline", "username": "tieline_bot"}
ANONYMOUS: Json = {"id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot"}
CHANNEL_BOT: Json = {"id": 136817688, "is_bot": True, "first_name": "Channel", "username": "Channel_Bot"}
TELEGRAM: Json = {"id": 777000, "is_bot": False, "first_name": "Telegram"}

GENERAL = 1
ICON_COLOR = 7322096
THREAD_NOT_FOUND = "message thread not found"


class ApiError(Exception):
    """What the Bot API answers instead of a result."""

    def __init__(self, code: int, description: str, parameters: Mapping[str, int] | None = None) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.parameters = parameters


def bad_request(description: str) -> ApiError:
    return ApiError(400, f"Bad Request: {description}")


@dataclass(frozen=True, slots=True)
class Entity:
    """A piece of formatted text, in UTF-16 units. `more` is what its kind needs: a url, a language."""

    type: str
    offset: int
    length: int
    more: str | None = None

    @property
    def end(self) -> int:
        return self.offset + self.length


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that the bot has sent; `kind` is `photo` or `document`."""

    kind: str
    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Sent:
    """One state of a message of the bot: what people saw from its sending, or an edit, until the next edit.

    `thread` is None outside topics, in General too. `text` is the caption where there is a `file`. A button is its
    label with its data, or its URL. `silent` says that its sending made no sound, `at` when, by the clock of the API.
    """

    chat: int
    thread: int | None
    message_id: int
    text: str
    buttons: tuple[tuple[str, str], ...] = ()
    silent: bool = False
    edited: bool = False
    entities: tuple[Entity, ...] = ()
    file: Upload | None = None
    reply_to: int | None = None
    at: float = field(default=0, compare=False)

    def marked(self, kind: str) -> list[str]:
        """The pieces of its text that have that kind of entity."""
        units = self.text.encode("utf-16-le")
        return [
            units[entity.offset * 2 : entity.end * 2].decode("utf-16-le")
            for entity in self.entities
            if entity.type == kind
        ]


@dataclass(frozen=True, slots=True)
class Draft:
    """A message that the bot seems to be writing, for 30 seconds from `at` on."""

    chat: int
    thread: int | None
    draft_id: int
    text: str
    at: float


@dataclass(slots=True)
class Topic:
    """`refusal` is what is answered to whoever writes to it after it was deleted."""

    name: str
    closed: bool = False
    deleted: bool = False
    refusal: str = THREAD_NOT_FOUND
    by_bot: bool = False


@dataclass(frozen=True, slots=True)
class Member:
    """Somebody's standing in a chat: a `status` of the Bot API, with the rights that differ from the usual ones."""

    status: str = "member"
    rights: Mapping[str, bool] = field(default_factory=dict)

    @property
    def present(self) -> bool:
        return self.status in ("creator", "administrator", "member") or (
            self.status == "restricted" and self.rights.get("is_member", True)
        )

    @property
    def manages(self) -> bool:
        return self.status in ("creator", "administrator")

    def may(self, right: str) -> bool:
        """Whether a right of administrators, or one that a restriction takes away, is theirs."""
        if self.status == "creator":
            return True
        if self.status == "administrator":
            return self.rights.get(right, True)
        if self.status == "restricted":
            return self.rights.get(right, False)
        return self.status == "member" and right.startswith("can_send")


@dataclass(slots=True)
class Room:
    """One chat. `gone` is the reason why the bot may not write there; `migrated_to` its new id, if it has one.

    `reactions` are those that the chat allows, None for all of Telegram's. `linked` is the channel whose posts are
    forwarded into it.
    """

    id: int
    type: str
    title: str
    forum: bool = False
    topics: dict[int, Topic] = field(default_factory=dict)
    messages: dict[int, Json] = field(default_factory=dict)
    sent: dict[int, Sent] = field(default_factory=dict)
    members: dict[int, Member] = field(default_factory=dict)
    reacted: dict[int, tuple[str, ...]] = field(default_factory=dict)
    reactions: frozenset[str] | None = None
    general: Topic = field(default_factory=lambda: Topic("General"))
    hidden_general: bool = False
    gone: str | None = None
    migrated_to: int | None = None
    next_id: int = 1000

    @property
    def chat(self) -> Json:
        named = {"first_name": self.title} if self.type == "private" else {"title": self.title}
        return {"id": self.id, "type": self.type, **named, **({"is_forum": True} if self.forum else {})}

    @property
    def has_topics(self) -> bool:
        return self.forum or (self.type == "private" and bool(self.topics))

    @property
    def bot(self) -> Member:
        """An administrator of groups, where nothing else was said."""
        return self.members.get(BOT["id"], Member("member" if self.type == "private" else "administrator"))

    def new_id(self) -> int:
        self.next_id += 1
        return self.next_id - 1

    def place(
        self,
        sender: Json | None,
        content: Json,
        *,
        thread: int | None = None,
        reply_to: int | None = None,
        message_id: int | None = None,
    ) -> Json:
        """Puts a message into the chat and returns it.

        A message of a topic that replies to nothing carries the topic's service message as its reply, and in a
        supergroup without topics a reply carries the first message of its chain as a thread, as in the real API.
        """
        number = self.new_id() if message_id is None else message_id
        message: Json = {"message_id": number, "date": int(time.time()), "chat": self.chat}
        if sender is not None:
            message["from"] = sender
        if thread is not None:
            message |= {"message_thread_id": thread, "is_topic_message": True}
            if "forum_topic_created" not in content:
                message["reply_to_message"] = self._topic_message(thread)
        if reply_to is not None:
            replied = {key: value for key, value in self.messages[reply_to].items() if key != "reply_to_message"}
            message["reply_to_message"] = replied
            if thread is None and self.type == "supergroup":
                message["message_thread_id"] = replied.get("message_thread_id", reply_to)
        message |= content
        self.messages[number] = message
        return message

    def _topic_message(self, thread: int) -> Json:
        created = {"name": self.topics[thread].name, "icon_color": ICON_COLOR}
        return {
            "message_id": thread,
            "date": int(time.time()),
            "chat": self.chat,
            "from": BOT,
            "message_thread_id": thread,
            "is_topic_message": True,
            "forum_topic_created": created,
        }


@dataclass(frozen=True, slots=True)
class Stored:
    """A file on the server. `size` is what the server says of it, whatever the length of its data."""

    file_id: str
    path: str
    data: bytes
    size: int


class World:
    """All chats and files, and a pulse: everything that waits for a change wakes up with it and looks again.

    `losses` says what the real server would have dropped without a word. `private_topics` is the bot's setting that
    lets it have topics in private chats; with `privacy` on, it does not get what people say in groups.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.rooms: dict[int, Room] = {}
        self.files: dict[str, Stored] = {}
        self.history: list[Sent] = []
        self.drafts: list[Draft] = []
        self.losses: list[str] = []
        self.private_topics: bool | None = None
        self.privacy = False
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
            raise bad_request("chat not found")
        if room.migrated_to is not None:
            description = "Bad Request: group chat was upgraded to a supergroup chat"
            raise ApiError(400, description, {"migrate_to_chat_id": room.migrated_to})
        if room.gone is not None:
            raise ApiError(403, f"Forbidden: {room.gone}")
        if room.bot.status == "kicked":
            raise ApiError(403, f"Forbidden: bot was kicked from the {room.type} chat")
        if not room.bot.present:
            raise ApiError(403, f"Forbidden: bot is not a member of the {room.type} chat")
        return room

    def show(self, room: Room, sent: Sent) -> None:
        room.sent[sent.message_id] = sent
        self.history.append(sent)
        self.pulse()

    def store(self, name: str, data: bytes, size: int | None = None) -> Stored:
        """Keeps a file that may be downloaded."""
        number = len(self.files) + 1
        last = re.split(r"[/\\]", name)[-1]
        file = Stored(f"file-{number}", f"files/{number}-{last}", data, len(data) if size is None else size)
        self.files[file.file_id] = file
        return file
