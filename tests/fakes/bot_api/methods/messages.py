"""Text that is sent, edited and deleted."""

from dataclasses import replace
from typing import Any

from aiogram.methods import (
    DeleteMessage,
    EditMessageCaption,
    EditMessageReplyMarkup,
    EditMessageText,
    SendMessage,
)

from tests.fakes.bot_api.content import buttons_of, caption_content, entities_of, markup_content, text_content
from tests.fakes.bot_api.contract import Table
from tests.fakes.bot_api.methods.threads import check_may_send, open_thread, replied_to
from tests.fakes.bot_api.world import BOT, Json, Room, Sent, World, bad_request

_NOT_MODIFIED = (
    "message is not modified: specified new message content and reply markup are exactly the same "
    "as a current content and reply markup of the message"
)


class Messages:
    def __init__(self, world: World) -> None:
        self._world = world
        self.table: Table = {
            "sendMessage": self._send,
            "editMessageText": self._edit_text,
            "editMessageCaption": self._edit_caption,
            "editMessageReplyMarkup": self._edit_buttons,
            "deleteMessage": self._delete,
        }

    def _send(self, call: SendMessage) -> Json:
        room = self._world.room(call.chat_id)
        content = text_content(self._world, call.text, call.entities, call.reply_markup, call.parse_mode)
        check_may_send(room, "text messages")
        thread = open_thread(room, call.message_thread_id)
        reply_to = replied_to(room, call.reply_parameters, thread)
        message = room.place(BOT, content, thread=thread, reply_to=reply_to)
        sent = Sent(
            chat=room.id,
            thread=thread,
            message_id=message["message_id"],
            text=message["text"],
            buttons=buttons_of(content),
            silent=bool(call.disable_notification),
            entities=entities_of(content),
            reply_to=reply_to,
            at=self._world.clock(),
        )
        self._world.show(room, sent)
        return message

    def _edit_text(self, call: EditMessageText) -> Json:
        room, message, sent = self._own(call)
        if sent.file is not None:
            raise bad_request("there is no text in the message to edit")
        content = text_content(self._world, call.text or "", call.entities, call.reply_markup, call.parse_mode)
        return self._edited(room, message, sent, content, ("text", "entities", "reply_markup"))

    def _edit_caption(self, call: EditMessageCaption) -> Json:
        room, message, sent = self._own(call)
        if sent.file is None:
            raise bad_request("there is no caption in the message to edit")
        content = caption_content(self._world, call.caption, call.caption_entities, call.reply_markup, call.parse_mode)
        return self._edited(room, message, sent, content, ("caption", "caption_entities", "reply_markup"))

    def _edit_buttons(self, call: EditMessageReplyMarkup) -> Json:
        room, message, sent = self._own(call)
        return self._edited(room, message, sent, markup_content(call.reply_markup), ("reply_markup",))

    def _own(self, call: Any) -> tuple[Room, Json, Sent]:
        room = self._world.room(call.chat_id or 0)
        message = room.messages.get(call.message_id or 0)
        if message is None:
            raise bad_request("message to edit not found")
        sent = room.sent.get(message["message_id"])
        if sent is None:
            raise bad_request("message can't be edited")
        return room, message, sent

    def _edited(self, room: Room, message: Json, sent: Sent, content: Json, parts: tuple[str, ...]) -> Json:
        if all(message.get(key) == content.get(key) for key in parts):
            raise bad_request(_NOT_MODIFIED)
        for key in parts:
            message.pop(key, None)
        message |= content | {"edit_date": message["date"]}
        now = replace(
            sent,
            text=message.get("text") or message.get("caption") or "",
            buttons=buttons_of(message),
            entities=entities_of(message),
            edited=True,
            at=self._world.clock(),
        )
        self._world.show(room, now)
        return message

    def _delete(self, call: DeleteMessage) -> bool:
        room = self._world.room(call.chat_id)
        if call.message_id not in room.messages:
            raise bad_request("message to delete not found")
        if call.message_id not in room.sent and not (room.bot.manages and room.bot.may("can_delete_messages")):
            raise bad_request("message can't be deleted")
        del room.messages[call.message_id]
        room.sent.pop(call.message_id, None)
        return True
