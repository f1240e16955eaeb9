"""What people say and do in chats."""

import re
from collections.abc import Sequence
from typing import TypedDict, Unpack

from tests.fakes.bot_api.chats import Chats
from tests.fakes.bot_api.entities import units
from tests.fakes.bot_api.media import Item, media_content
from tests.fakes.bot_api.methods.callbacks import Callbacks
from tests.fakes.bot_api.origins import of_user, person
from tests.fakes.bot_api.updates import Updates
from tests.fakes.bot_api.world import ANONYMOUS, BOT, CHANNEL_BOT, TELEGRAM, Json, Room, Sent, World

MAX_TEXT = 4096
_COMMAND = re.compile(r"/[A-Za-z0-9_]+(?:@\w+)?")


class Said(TypedDict, total=False):
    """How something is said. Without `chat` it is in the private chat with that user.

    `bot` makes its sender another bot, `anonymous` an anonymous administrator, `as_channel` a channel of that id.
    `forward` is where it was forwarded from (`origins`), `quote` the part that is replied to, `external_reply` a
    message of another chat or topic that is. `more` is put into the message as it is.
    """

    chat: int | None
    thread: int | None
    reply_to: int | None
    bot: bool
    anonymous: bool
    as_channel: int
    forward: Json
    forwarded_from: int | None
    quote: str
    external_reply: Json
    via_bot: bool
    more: Json


class People(Chats):
    def __init__(self, world: World, updates: Updates, callbacks: Callbacks) -> None:
        super().__init__(world, updates)
        self._open_callbacks = callbacks.open
        self._callbacks = 0
        self._albums = 0
        self._reactions: dict[tuple[int, int, int], list[Json]] = {}

    def say(self, text: str | None = None, *, user: int, caption: str | None = None, **said: Unpack[Said]) -> int:
        """A message arrives; returns its id. With `caption` it is a photo."""
        content: Json = {} if text is None else _words("text", "entities", text)
        if caption is not None:
            content |= media_content(self._world, Item("photo", caption=caption))
        return self._arrives(content, user, said)

    def paste(self, text: str, *, user: int, **said: Unpack[Said]) -> list[int]:
        """A text of any length, which the sender's app cuts into messages of 4,096 units."""
        return [self.say(part, user=user, **said) for part in _pieces(text)]

    def send_file(self, item: Item, *, user: int, **said: Unpack[Said]) -> int:
        return self._arrives(media_content(self._world, item), user, said)

    def photo(self, data: bytes = b"photo", *, user: int, caption: str | None = None, **said: Unpack[Said]) -> int:
        return self.send_file(Item("photo", data, caption=caption), user=user, **said)

    def document(
        self,
        data: bytes = b"text",
        *,
        user: int,
        name: str | None = "notes.txt",
        mime: str | None = "text/plain",
        size: int | None = None,
        caption: str | None = None,
        **said: Unpack[Said],
    ) -> int:
        return self.send_file(Item("document", data, name, mime, size, caption), user=user, **said)

    def voice(self, data: bytes = b"voice", *, user: int, caption: str | None = None, **said: Unpack[Said]) -> int:
        return self.send_file(Item("voice", data, caption=caption), user=user, **said)

    def album(self, items: Sequence[Item], *, user: int, **said: Unpack[Said]) -> list[int]:
        """Several files in one message, as people see it; each arrives by itself."""
        self._albums += 1
        group = {"media_group_id": f"album-{self._albums}"}
        return [self._arrives(media_content(self._world, item) | group, user, said) for item in items]

    def forward(self, text: str, origin: Json, *, user: int, **said: Unpack[Said]) -> int:
        """Forwards what was said elsewhere (`origins`)."""
        return self._arrives(_words("text", "entities", text) | {"forward_origin": origin}, user, said)

    def edit(self, chat: int, message_id: int, text: str) -> None:
        """A person edits what was said, or the caption of a file."""
        room = self._world.rooms[chat]
        message = room.messages[message_id]
        name, marks = ("text", "entities") if "text" in message else ("caption", "caption_entities")
        message.pop(marks, None)
        message |= _words(name, marks, text) | {"edit_date": message["date"] + 1}
        self._deliver(room, dict(message), "edited_message")

    def react(self, chat: int, message_id: int, emoji: str | None, *, user: int) -> None:
        """Sets a person's reaction, or with None takes it away. The update tells no topic."""
        key = (chat, message_id, user)
        new: list[Json] = [] if emoji is None else [{"type": "emoji", "emoji": emoji}]
        room = self._world.rooms[chat]
        told = {
            "chat": room.chat,
            "message_id": message_id,
            "user": person(user),
            "date": 1_800_000_000,
            "old_reaction": self._reactions.get(key, []),
            "new_reaction": new,
        }
        self._reactions[key] = new
        if room.bot.manages or room.type == "private":
            self._deliver(room, told, "message_reaction")

    def press(self, message: Sent, data: str, user: int, *, old: bool = False) -> str:
        """Presses a button that the message has, or had; returns the id of the callback.

        An `old` message is no longer accessible: the callback tells its chat and id only.
        """
        states = [
            seen for seen in self._world.history if (seen.chat, seen.message_id) == (message.chat, message.message_id)
        ]
        assert any(data == action for seen in states for _, action in seen.buttons), f"{data!r} is no button of it"
        room = self._world.rooms[message.chat]
        inaccessible = {"chat": room.chat, "message_id": message.message_id, "date": 0}
        shown = inaccessible if old else room.messages[message.message_id]
        self._callbacks += 1
        callback = str(self._callbacks)
        self._open_callbacks.add(callback)
        query = {"id": callback, "from": person(user), "message": shown, "chat_instance": "1", "data": data}
        self.updates.add("callback_query", query)
        return callback

    def joins(self, chat: int, *, user: int, link: str | None = None) -> None:
        """Somebody joins a group, by a link where one is given."""
        self.member(chat, user, "member", by=user, link=link)
        self.service(chat, {"new_chat_members": [person(user)]}, user=user)

    def asks_to_join(self, chat: int, *, user: int) -> None:
        told = {"chat": self._world.rooms[chat].chat, "from": person(user), "user_chat_id": user, "date": 1_800_000_000}
        self.updates.add("chat_join_request", told)

    def post(self, text: str, *, chat: int, linked: int | None = None) -> int:
        """A post in a channel; with `linked`, Telegram forwards it into that group too, and its id there is
        returned."""
        room = self._world.rooms[chat]
        message = room.place(None, _words("text", "entities", text) | {"sender_chat": room.chat})
        self._deliver(room, message, "channel_post")
        if linked is None:
            return int(message["message_id"])
        group = self._world.rooms[linked]
        origin = {"type": "channel", "date": message["date"], "chat": room.chat, "message_id": message["message_id"]}
        handed = _words("text", "entities", text) | {"sender_chat": room.chat, "is_automatic_forward": True}
        copy = group.place(TELEGRAM, handed | {"forward_origin": origin})
        self._deliver(group, copy)
        return int(copy["message_id"])

    def _arrives(self, content: Json, user: int, said: Said) -> int:
        chat = said.get("chat")
        if chat is None:
            chat = user
            if user not in self._world.rooms:
                self.private(user)
        room = self._world.rooms[chat]
        sender, extra = self._sender(room, user, said)
        if "caption" in content:
            content = content | _words("caption", "caption_entities", content["caption"])
        content = content | extra | said.get("more", {})
        message = room.place(sender, content, thread=said.get("thread"), reply_to=said.get("reply_to"))
        if self._reaches_bot(room, message):
            self._deliver(room, dict(message))
        return int(message["message_id"])

    def _sender(self, room: Room, user: int, said: Said) -> tuple[Json, Json]:
        """Who it seems to come from, and what tells so."""
        extra: Json = {}
        forwarded = said.get("forwarded_from")
        if forwarded is not None:
            extra["forward_origin"] = of_user(forwarded)
        if "forward" in said:
            extra["forward_origin"] = said["forward"]
        if said.get("via_bot"):
            extra["via_bot"] = person(999, bot=True)
        if "quote" in said:
            extra["quote"] = {"text": said["quote"], "position": 0, "is_manual": True}
        if "external_reply" in said:
            extra["external_reply"] = said["external_reply"]
        if said.get("anonymous"):
            return ANONYMOUS, extra | {"sender_chat": room.chat}
        if "as_channel" in said:
            channel = {"id": said["as_channel"], "type": "channel", "title": "Channel"}
            return CHANNEL_BOT, extra | {"sender_chat": channel}
        return person(user, bot=said.get("bot", False)), extra

    def _reaches_bot(self, room: Room, message: Json) -> bool:
        """With privacy mode on the bot gets commands and replies to it, unless it is an administrator."""
        if not self._world.privacy or room.type == "private" or room.bot.manages:
            return True
        text: str = message.get("text") or message.get("caption") or ""
        replied = message.get("reply_to_message", {})
        to_bot = replied.get("from", {}).get("id") == BOT["id"] and "forum_topic_created" not in replied
        return text.startswith("/") or to_bot


def _words(name: str, marks: str, text: str) -> Json:
    command = _COMMAND.match(text)
    if command is None:
        return {name: text}
    return {name: text, marks: [{"type": "bot_command", "offset": 0, "length": units(command.group())}]}


def _pieces(text: str) -> list[str]:
    """Each is cut at a space or a line's end near the limit, where there is one, and trimmed."""
    pieces: list[str] = []
    while text:
        end = min(len(text), MAX_TEXT)
        while units(text[:end]) > MAX_TEXT:
            end -= 1
        if end < len(text):
            near = max(text.rfind(space, end - 100, end) for space in (" ", "\n"))
            end = near if near > 0 else end
        pieces.append(text[:end].strip())
        text = text[end:].lstrip()
    return [piece for piece in pieces if piece]
