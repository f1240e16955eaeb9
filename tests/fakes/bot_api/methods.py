"""What each method of the Bot API does to the world, and the errors that it gives."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from aiogram.methods import (
    AnswerCallbackQuery,
    CloseForumTopic,
    CreateForumTopic,
    DeleteMessage,
    EditForumTopic,
    EditMessageText,
    GetChat,
    GetChatMember,
    GetUpdates,
    ReopenForumTopic,
    SendChatAction,
    SendMessage,
    SetMyCommands,
)
from aiogram.types import InlineKeyboardMarkup

from tests.fakes.bot_api.contract import Method, given
from tests.fakes.bot_api.updates import Updates
from tests.fakes.bot_api.world import BOT, THREAD_NOT_FOUND, ApiError, Json, Room, Sent, Topic, World

MAX_TEXT = 4096
MAX_ENTITIES = 100
MAX_CALLBACK_DATA = 64
MAX_CALLBACK_ANSWER = 200
_NOT_MODIFIED = (
    "Bad Request: message is not modified: specified new message content and reply markup are exactly the same "
    "as a current content and reply markup of the message"
)


class Methods:
    """`answers` holds the text of every answered callback by its id, `commands` what `setMyCommands` set."""

    def __init__(self, world: World, updates: Updates) -> None:
        self._world = world
        self._updates = updates
        self.open_callbacks: set[str] = set()
        self.answers: dict[str, str | None] = {}
        self.commands: dict[str, str] = {}
        self._methods: dict[str, Callable[[Any], Awaitable[Any]]] = {
            "getMe": self._get_me,
            "getUpdates": self._get_updates,
            "deleteWebhook": self._delete_webhook,
            "sendMessage": self._send_message,
            "editMessageText": self._edit_message_text,
            "deleteMessage": self._delete_message,
            "sendChatAction": self._send_chat_action,
            "answerCallbackQuery": self._answer_callback_query,
            "setMyCommands": self._set_my_commands,
            "getChat": self._get_chat,
            "getChatMember": self._get_chat_member,
            "createForumTopic": self._create_forum_topic,
            "closeForumTopic": self._close_forum_topic,
            "reopenForumTopic": self._reopen_forum_topic,
            "editForumTopic": self._edit_forum_topic,
        }

    async def run(self, call: Method) -> Any:
        """Raises `ApiError`."""
        return await self._methods[call.__api_method__](call)

    async def _get_me(self, _: Method) -> Json:
        return BOT | {
            "can_join_groups": True,
            "can_read_all_group_messages": True,
            "supports_inline_queries": False,
            "has_topics_enabled": any(room.type == "private" and room.topics for room in self._world.rooms.values()),
        }

    async def _get_updates(self, call: GetUpdates) -> list[Json]:
        return await self._updates.poll(call.offset, call.limit, call.timeout or 0, call.allowed_updates)

    async def _delete_webhook(self, _: Method) -> bool:
        return True

    async def _send_message(self, call: SendMessage) -> Json:
        room = self._world.room(call.chat_id)
        content = _content(call.text, call.entities, call.reply_markup)
        reply = call.reply_parameters
        reply_to = reply.message_id if reply else None
        if reply_to is not None and reply_to not in room.messages:
            if not (reply and given(reply.allow_sending_without_reply)):
                raise ApiError(400, "Bad Request: message to be replied not found")
            reply_to = None
        thread = _open_thread(room, call.message_thread_id)
        message = room.place(BOT, content, thread=thread, reply_to=reply_to)
        sent = Sent(
            chat=room.id,
            thread=thread,
            message_id=message["message_id"],
            text=message["text"],
            buttons=_buttons(call.reply_markup),
            silent=bool(call.disable_notification),
        )
        self._world.show(room, sent)
        return message

    async def _edit_message_text(self, call: EditMessageText) -> Json:
        room = self._world.room(call.chat_id or 0)
        message = room.messages.get(call.message_id or 0)
        if message is None:
            raise ApiError(400, "Bad Request: message to edit not found")
        sent = room.sent.get(message["message_id"])
        if sent is None:
            raise ApiError(400, "Bad Request: message can't be edited")
        content = _content(call.text or "", call.entities, call.reply_markup)
        if all(message.get(key) == content.get(key) for key in ("text", "entities", "reply_markup")):
            raise ApiError(400, _NOT_MODIFIED)
        for key in ("entities", "reply_markup"):
            message.pop(key, None)
        message |= content | {"edit_date": message["date"]}
        buttons = _buttons(call.reply_markup)
        self._world.show(room, replace(sent, text=message["text"], buttons=buttons, edited=True))
        return message

    async def _delete_message(self, call: DeleteMessage) -> bool:
        room = self._world.room(call.chat_id)
        if room.messages.pop(call.message_id, None) is None:
            raise ApiError(400, "Bad Request: message to delete not found")
        room.sent.pop(call.message_id, None)
        return True

    async def _send_chat_action(self, call: SendChatAction) -> bool:
        _open_thread(self._world.room(call.chat_id), call.message_thread_id)
        return True

    async def _answer_callback_query(self, call: AnswerCallbackQuery) -> bool:
        if call.callback_query_id not in self.open_callbacks:
            description = "query is too old and response timeout expired or query ID is invalid"
            raise ApiError(400, f"Bad Request: {description}")
        if call.text is not None and len(call.text) > MAX_CALLBACK_ANSWER:
            raise ApiError(400, "Bad Request: MESSAGE_TOO_LONG")
        self.open_callbacks.discard(call.callback_query_id)
        self.answers[call.callback_query_id] = call.text
        return True

    async def _set_my_commands(self, call: SetMyCommands) -> bool:
        self.commands = {command.command: command.description for command in call.commands}
        return True

    async def _get_chat(self, call: GetChat) -> Json:
        room = self._world.room(call.chat_id)
        gifts = ("unlimited_gifts", "limited_gifts", "unique_gifts", "premium_subscription", "gifts_from_channels")
        accepted = {"accepted_gift_types": dict.fromkeys(gifts, True)}
        return room.chat | {"accent_color_id": 0, "max_reaction_count": 11} | accepted

    async def _get_chat_member(self, call: GetChatMember) -> Json:
        self._world.room(call.chat_id)
        user = BOT if call.user_id == BOT["id"] else {"id": call.user_id, "is_bot": False, "first_name": "Somebody"}
        return {"status": "member", "user": user}

    async def _create_forum_topic(self, call: CreateForumTopic) -> Json:
        room = self._world.room(call.chat_id)
        if not room.forum and room.type != "private":
            raise ApiError(400, "Bad Request: the chat is not a forum")
        if not 1 <= len(call.name) <= 128:
            raise ApiError(
                400, "Bad Request: TOPIC_TITLE_EMPTY" if not call.name else "Bad Request: invalid topic name"
            )
        thread = room.next_id
        room.next_id += 1
        room.topics[thread] = Topic(call.name)
        return {"message_thread_id": thread, "name": call.name, "icon_color": 7322096}

    async def _close_forum_topic(self, call: CloseForumTopic) -> bool:
        topic = _topic(self._world.room(call.chat_id), call.message_thread_id)
        if topic.closed:
            raise ApiError(400, "Bad Request: TOPIC_NOT_MODIFIED")
        topic.closed = True
        return True

    async def _reopen_forum_topic(self, call: ReopenForumTopic) -> bool:
        topic = _topic(self._world.room(call.chat_id), call.message_thread_id)
        if not topic.closed:
            raise ApiError(400, "Bad Request: TOPIC_NOT_MODIFIED")
        topic.closed = False
        return True

    async def _edit_forum_topic(self, call: EditForumTopic) -> bool:
        topic = _topic(self._world.room(call.chat_id), call.message_thread_id)
        if call.name is not None:
            topic.name = call.name
        return True


def _topic(room: Room, thread: int) -> Topic:
    topic = room.topics.get(thread)
    if topic is None or topic.deleted:
        raise ApiError(400, "Bad Request: TOPIC_ID_INVALID")
    return topic


def _open_thread(room: Room, thread: int | None) -> int | None:
    """Where a message asked for `thread` ends up: a deleted topic of a private chat gives the chat itself, as the
    real API has been seen to do; General is reached without a thread only."""
    if thread is None:
        return None
    topic = room.topics.get(thread)
    if topic is not None and topic.deleted and room.type == "private":
        return None
    if topic is None or topic.deleted:
        raise ApiError(400, THREAD_NOT_FOUND)
    if topic.closed:
        raise ApiError(400, "Bad Request: TOPIC_CLOSED")
    return thread


def _content(text: str, entities: Any, markup: Any) -> Json:
    text = text.strip()
    if not text:
        raise ApiError(400, "Bad Request: message text is empty")
    if len(text.encode("utf-16-le")) // 2 > MAX_TEXT:
        raise ApiError(400, "Bad Request: message is too long")
    content: Json = {"text": text}
    if entities:
        content["entities"] = [entity.model_dump(exclude_none=True) for entity in entities[:MAX_ENTITIES]]
    if isinstance(markup, InlineKeyboardMarkup):
        for row in markup.inline_keyboard:
            for button in row:
                if button.callback_data is not None and len(button.callback_data.encode()) > MAX_CALLBACK_DATA:
                    raise ApiError(400, "Bad Request: BUTTON_DATA_INVALID")
        content["reply_markup"] = markup.model_dump(exclude_none=True)
    return content


def _buttons(markup: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(markup, InlineKeyboardMarkup):
        return ()
    return tuple((button.text, button.callback_data or "") for row in markup.inline_keyboard for button in row)
