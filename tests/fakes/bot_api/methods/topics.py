"""Topics, as the bot makes and changes them."""

from typing import Any

from aiogram.methods import (
    CloseForumTopic,
    CloseGeneralForumTopic,
    CreateForumTopic,
    DeleteForumTopic,
    EditForumTopic,
    EditGeneralForumTopic,
    HideGeneralForumTopic,
    ReopenForumTopic,
    ReopenGeneralForumTopic,
    UnhideGeneralForumTopic,
)

from tests.fakes.bot_api.contract import Table
from tests.fakes.bot_api.updates import Updates
from tests.fakes.bot_api.world import BOT, GENERAL, ICON_COLOR, Json, Room, Topic, World, bad_request

MAX_NAME = 128
MAX_OWN = 11
"""So many messages of its own it may delete with their topic (TDLib's `deleteForumTopic`)."""


class Topics:
    """In groups it takes an administrator with `can_manage_topics`; a topic of the bot's own may be changed without.
    To delete one takes `can_delete_messages`, but for a small one of its own in which nobody else has said anything.
    In private chats topics are made, renamed and deleted, not closed.

    What becomes of topics the bot is told by updates, also of what it does itself: of all that it sends, the real
    server leaves out of its updates all but such service messages (`Client::need_skip_update_message`)."""

    def __init__(self, world: World, updates: Updates) -> None:
        self._world = world
        self._updates = updates
        self.table: Table = {
            "createForumTopic": self._create,
            "editForumTopic": self._edit,
            "closeForumTopic": self._close,
            "reopenForumTopic": self._reopen,
            "deleteForumTopic": self._delete,
            "editGeneralForumTopic": self._edit_general,
            "closeGeneralForumTopic": self._close_general,
            "reopenGeneralForumTopic": self._reopen_general,
            "hideGeneralForumTopic": self._hide_general,
            "unhideGeneralForumTopic": self._unhide_general,
        }

    def _create(self, call: CreateForumTopic) -> Json:
        room = self._room(call, private=True)
        name = _checked_name(self._world, call.name)
        if room.type != "private" and not _manages(room):
            raise bad_request("not enough rights to create a topic")
        thread = room.new_id()
        room.topics[thread] = Topic(name, by_bot=True)
        created = {"forum_topic_created": {"name": name, "icon_color": ICON_COLOR}}
        self._updates.add("message", room.place(BOT, created, thread=thread, message_id=thread))
        return {"message_thread_id": thread, "name": name, "icon_color": ICON_COLOR}

    def _edit(self, call: EditForumTopic) -> bool:
        room = self._room(call, private=True)
        topic = _topic(room, call.message_thread_id, "edit")
        if call.name is not None:
            name = _checked_name(self._world, call.name)
            if name == topic.name:
                raise bad_request("TOPIC_NOT_MODIFIED")
            topic.name = name
            self._tell(room, {"forum_topic_edited": {"name": name}}, call.message_thread_id)
        return True

    def _close(self, call: CloseForumTopic) -> bool:
        return self._switch(call, closed=True)

    def _reopen(self, call: ReopenForumTopic) -> bool:
        return self._switch(call, closed=False)

    def _switch(self, call: Any, *, closed: bool) -> bool:
        room = self._room(call)
        topic = _topic(room, call.message_thread_id, "edit")
        if topic.closed == closed:
            raise bad_request("TOPIC_NOT_MODIFIED")
        topic.closed = closed
        what = "forum_topic_closed" if closed else "forum_topic_reopened"
        self._tell(room, {what: {}}, call.message_thread_id)
        return True

    def _delete(self, call: DeleteForumTopic) -> bool:
        room = self._room(call, private=True)
        if call.message_thread_id == GENERAL:
            raise bad_request("TOPIC_ID_INVALID")
        topic = _topic(room, call.message_thread_id, "delete", right="can_delete_messages", own=_is_small(room, call))
        topic.deleted = True
        return True

    def _edit_general(self, call: EditGeneralForumTopic) -> bool:
        general = self._general(call)
        if call.name == general.name:
            raise bad_request("TOPIC_NOT_MODIFIED")
        general.name = _checked_name(self._world, call.name)
        self._tell(self._room(call), {"forum_topic_edited": {"name": general.name}})
        return True

    def _close_general(self, call: CloseGeneralForumTopic) -> bool:
        return self._switch_general(call, closed=True)

    def _reopen_general(self, call: ReopenGeneralForumTopic) -> bool:
        return self._switch_general(call, closed=False)

    def _switch_general(self, call: Any, *, closed: bool) -> bool:
        general = self._general(call)
        if general.closed == closed:
            raise bad_request("TOPIC_NOT_MODIFIED")
        general.closed = closed
        self._tell(self._room(call), {"forum_topic_closed" if closed else "forum_topic_reopened": {}})
        return True

    def _hide_general(self, call: HideGeneralForumTopic) -> bool:
        return self._hide(call, hidden=True)

    def _unhide_general(self, call: UnhideGeneralForumTopic) -> bool:
        return self._hide(call, hidden=False)

    def _hide(self, call: Any, *, hidden: bool) -> bool:
        general = self._general(call)
        room = self._room(call)
        if room.hidden_general == hidden:
            raise bad_request("TOPIC_NOT_MODIFIED")
        room.hidden_general = hidden
        general.closed = general.closed or hidden
        self._tell(room, {"general_forum_topic_hidden" if hidden else "general_forum_topic_unhidden": {}})
        return True

    def _tell(self, room: Room, content: Json, thread: int | None = None) -> None:
        self._updates.add("message", room.place(BOT, content, thread=thread))

    def _general(self, call: Any) -> Topic:
        room = self._room(call)
        if not _manages(room):
            raise bad_request("not enough rights to edit the topic")
        return room.general

    def _room(self, call: Any, *, private: bool = False) -> Room:
        room = self._world.room(call.chat_id)
        topics = room.forum or (private and room.type == "private" and self._has_private_topics(room))
        if not topics:
            raise bad_request("the chat is not a forum")
        return room

    def _has_private_topics(self, room: Room) -> bool:
        setting = self._world.private_topics
        return room.has_topics if setting is None else setting


def _manages(room: Room, right: str = "can_manage_topics") -> bool:
    return room.bot.manages and room.bot.may(right)


def _is_small(room: Room, call: DeleteForumTopic) -> bool:
    inside = [one for one in room.messages.values() if one.get("message_thread_id") == call.message_thread_id]
    return len(inside) <= MAX_OWN and all(one.get("from", {}).get("id") == BOT["id"] for one in inside)


def _topic(room: Room, thread: int, what: str, right: str = "can_manage_topics", *, own: bool = True) -> Topic:
    topic = room.topics.get(thread)
    if topic is None or topic.deleted:
        raise bad_request("TOPIC_ID_INVALID")
    if room.type != "private" and not _manages(room, right) and not (own and topic.by_bot):
        raise bad_request(f"not enough rights to {what} the topic")
    return topic


def _checked_name(world: World, name: str) -> str:
    name = name.strip()
    if not name:
        raise bad_request("title must be non-empty")
    if len(name) > MAX_NAME:
        world.losses.append(f"the end of the topic's name {name!r}")
    return name[:MAX_NAME].strip()
