"""What a test does with the fake Bot API: set up chats, act as people, and wait for what the bot shows."""

import asyncio
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from tests.fakes.bot_api.methods import Methods
from tests.fakes.bot_api.server import Fault, Request, Server
from tests.fakes.bot_api.updates import Updates
from tests.fakes.bot_api.world import ANONYMOUS, Json, Room, Sent, Topic, World

TOKEN = "123456:TEST-token-of-the-fake"


class BotApi:
    """A Bot API server for one bot, on a free port of loopback, while the context is open."""

    def __init__(self, token: str = TOKEN) -> None:
        self._world = World()
        self.updates = Updates(self._world)
        self._methods = Methods(self._world, self.updates)
        self._server = Server(self._world, self._methods, token)
        self._callbacks = 0

    async def __aenter__(self) -> Self:
        await self._server.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._server.stop()
        if error is None and self._server.drift:
            raise self._server.drift[0]

    # The server
    @property
    def token(self) -> str:
        """Changing it revokes the one before: requests with that get 401."""
        return self._server.token

    @token.setter
    def token(self, token: str) -> None:
        self._server.token = token

    @property
    def base_url(self) -> str:
        """What to set as `telegram.base_url`."""
        return f"http://127.0.0.1:{self._server.port}/bot"

    @property
    def requests(self) -> list[Request]:
        return self._server.requests

    def calls(self, method: str) -> list[Request]:
        return [request for request in self.requests if request.method == method]

    async def down(self) -> None:
        """Stops listening; everything is kept for `up`, which listens on the same port again."""
        await self._server.stop()

    async def up(self) -> None:
        await self._server.start()

    async def restart(self) -> None:
        """Cuts all connections. Chats, messages and updates that nobody acknowledged are still there."""
        await self.down()
        await self.up()

    def fail(self, method: str, fault: Fault, times: int = 1) -> None:
        """The next requests of that method go wrong."""
        self._server.fail(method, fault, times)

    def flood(self, chat: int, retry_after: int, times: int = 1) -> None:
        """The next requests that concern the chat are answered with 429."""
        self._server.flood(chat, retry_after, times)

    # Chats
    def forum(self, chat: int, topics: Mapping[int, str] | None = None, title: str = "Office") -> None:
        """A supergroup with topics. A thread is also the id of its topic's service message."""
        self._room(Room(chat, "supergroup", title, forum=True), topics)

    def group(self, chat: int, title: str = "Group") -> None:
        self._room(Room(chat, "group", title), None)

    def supergroup(self, chat: int, title: str = "Supergroup") -> None:
        """One without topics."""
        self._room(Room(chat, "supergroup", title), None)

    def private(self, user: int, topics: Mapping[int, str] | None = None) -> None:
        """A private chat, with topics if the bot has them enabled."""
        self._room(Room(user, "private", f"User {user}"), topics)

    def _room(self, room: Room, topics: Mapping[int, str] | None) -> None:
        room.topics = {thread: Topic(name) for thread, name in (topics or {}).items()}
        self._world.rooms[room.id] = room

    def close_topic(self, chat: int, thread: int) -> None:
        self._world.rooms[chat].topics[thread].closed = True

    def delete_topic(self, chat: int, thread: int) -> None:
        self._world.rooms[chat].topics[thread].deleted = True

    def remove_bot(self, chat: int) -> None:
        """From then on the bot gets 403 there: kicked from a group, or blocked by its user."""
        room = self._world.rooms[chat]
        private = room.type == "private"
        room.gone = "bot was blocked by the user" if private else f"bot was kicked from the {room.type} chat"

    def migrate(self, chat: int, to: int) -> None:
        """A group becomes a supergroup with another id."""
        old = self._world.rooms[chat]
        old.migrated_to = to
        self.supergroup(to, old.title)

    # People
    def say(
        self,
        text: str | None = None,
        *,
        user: int,
        chat: int | None = None,
        thread: int | None = None,
        reply_to: int | None = None,
        caption: str | None = None,
        bot: bool = False,
        anonymous: bool = False,
        forwarded_from: int | None = None,
        via_bot: bool = False,
    ) -> int:
        """A message arrives; returns its id. Without `chat` it is said in the private chat with that user.

        With `caption` it is a photo. `bot` makes its sender another bot, `anonymous` an anonymous administrator.
        """
        if chat is None:
            chat = user
            if user not in self._world.rooms:
                self.private(user)
        room = self._world.rooms[chat]
        sender = ANONYMOUS if anonymous else self._user(user, bot=bot)
        content: Json = {} if text is None else {"text": text}
        if forwarded_from is not None:
            writer = self._user(forwarded_from, bot=False)
            content["forward_origin"] = {"type": "user", "date": 1, "sender_user": writer}
        if via_bot:
            content["via_bot"] = self._user(999, bot=True)
        if caption is not None:
            photo = {"file_id": "photo", "file_unique_id": "photo", "width": 90, "height": 90}
            content |= {"caption": caption, "photo": [photo]}
        if text is not None and text.startswith("/"):
            content["entities"] = [{"type": "bot_command", "offset": 0, "length": len(text.split()[0])}]
        if anonymous:
            content["sender_chat"] = room.chat
        message = room.place(sender, content, thread=thread, reply_to=reply_to)
        self.updates.add("message", message)
        return int(message["message_id"])

    def edit(self, chat: int, message_id: int, text: str) -> None:
        """A person edits what was said."""
        message = self._world.rooms[chat].messages[message_id]
        message |= {"text": text, "edit_date": message["date"]}
        self.updates.add("edited_message", dict(message))

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
        self._methods.open_callbacks.add(callback)
        query = {"id": callback, "from": self._user(user), "message": shown, "chat_instance": "1", "data": data}
        self.updates.add("callback_query", query)
        return callback

    def raw(self, update: Json) -> int:
        """Adds an update as it is, valid or not; returns its number."""
        return self.updates.add_raw(update)

    def repeat(self) -> None:
        """The updates that wait are delivered twice in one answer."""
        self.updates.pending = [update for update in self.updates.pending for _ in range(2)]
        self._world.pulse()

    @staticmethod
    def _user(user: int, *, bot: bool = False) -> Json:
        return {"id": user, "is_bot": bot, "first_name": f"User {user}"}

    # What the bot has shown
    def sent(self, chat: int, thread: int | None = None) -> list[Sent]:
        """What stands in that topic, or outside topics, by now: the last state of each message of the bot."""
        return [sent for sent in self._world.rooms[chat].sent.values() if sent.thread == thread]

    @property
    def history(self) -> list[Sent]:
        """Every state of every message of the bot, in order."""
        return self._world.history

    @property
    def answers(self) -> Mapping[str, str | None]:
        """The texts of the callbacks that were answered, by their ids."""
        return self._methods.answers

    @property
    def commands(self) -> Mapping[str, str]:
        return self._methods.commands

    async def seen(self, matches: Callable[[Sent], bool], timeout: float = 5) -> Sent:
        """The first state ever shown that matches; waits until there is one."""
        await self.until(lambda: any(map(matches, self.history)), timeout)
        return next(sent for sent in self.history if matches(sent))

    async def answered(self, callback: str, timeout: float = 5) -> str | None:
        await self.until(lambda: callback in self.answers, timeout)
        return self.answers[callback]

    async def acknowledged(self, number: int, timeout: float = 5) -> None:
        """Waits until the bot has acknowledged the update of that number."""
        await self.until(lambda: self.updates.acknowledged >= number, timeout)

    async def until(self, holds: Callable[[], bool], timeout: float = 5) -> None:
        """Waits for what depends on the server's state; looks again after each request, never by polling."""
        try:
            async with asyncio.timeout(timeout):
                while not holds():
                    await self._world.change()
        except TimeoutError:
            shown = "\n".join(f"  {sent}" for sent in self.history[-20:]) or "  nothing"
            last = ", ".join(request.method for request in self.requests[-10:]) or "none"
            raise AssertionError(f"not within {timeout} s; last requests: {last}; shown:\n{shown}") from None
