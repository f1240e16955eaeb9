"""What Telegram says that was done to a chat or a topic. Whoever did it: these are facts, and no wishes."""

from telegram import ChatMember, ChatMemberRestricted, ChatMemberUpdated, Message

from adapters.telegram.config import TelegramConfig
from adapters.telegram.place import Spot, is_basic, spot
from bridge.ids import Place
from bridge.ports.chat import Admitted, Happening, Migrated, Person, Renamed, Reopened

_OUT = (ChatMember.LEFT, ChatMember.BANNED)


def happening(message: Message, config: TelegramConfig, person: Person | None, bot: str) -> Happening | None:
    """None for what is no such word, or of a chat that is not allowed, or what the bot of that username has done
    itself. A chat that says it was another one is believed where that one is allowed, and could become another.
    `person` is who did it, where that is known and heard."""
    chat = message.chat.id
    if message.migrate_from_chat_id is not None:
        return _migrated(message.migrate_from_chat_id, chat, config)
    if message.migrate_to_chat_id is not None:
        return _migrated(chat, message.migrate_to_chat_id, config)
    if not config.may_show(chat):
        return None
    if message.general_forum_topic_unhidden is not None:
        return Reopened(Spot(chat, general=True).place)
    thread = message.message_thread_id
    if message.forum_topic_reopened is not None:
        return Reopened(Spot(chat, thread, general=thread is None).place)
    edited = message.forum_topic_edited
    if (
        edited is not None
        and edited.name
        and thread is not None
        and not (message.from_user and message.from_user.is_bot)
    ):
        return Renamed(Spot(chat, thread).place, edited.name, person)
    return None


def admitted(changed: ChatMemberUpdated, config: TelegramConfig) -> Admitted | None:
    """Somebody has let the bot in again, or given it another right, or unblocked it."""
    now = changed.new_chat_member
    there = now.is_member if isinstance(now, ChatMemberRestricted) else now.status not in _OUT
    return Admitted(Spot(changed.chat.id).place) if there and config.may_show(changed.chat.id) else None


def _migrated(old: int, new: int, config: TelegramConfig) -> Migrated | None:
    believed = old in config.chats and is_basic(old) and new < 0 and new != old
    return Migrated(Spot(old).place, Spot(new).place) if believed else None


class Shifts:
    """General goes on as the chat where its topics are switched off, and the chat as General where they are switched
    on: it is the same line of messages."""

    def __init__(self) -> None:
        self._told: dict[int, Place] = {}

    def of(self, place: Place) -> Migrated | None:
        """What something said at `place` tells, the first time."""
        where = spot(place)
        if where is None or where.thread is not None or where.chat >= 0 or self._told.get(where.chat) == place:
            return None
        self._told[where.chat] = place
        return Migrated(Spot(where.chat, general=not where.general).place, place)
