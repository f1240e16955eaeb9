"""The chats of a test, and what people do to them: topics, members, migration."""

from collections.abc import Collection, Mapping

from tests.fakes.bot_api.members import member_json
from tests.fakes.bot_api.origins import person
from tests.fakes.bot_api.updates import Updates
from tests.fakes.bot_api.world import (
    BOT,
    ICON_COLOR,
    THREAD_NOT_FOUND,
    Json,
    Member,
    Room,
    Topic,
    World,
)


class Chats:
    """What has a `user` is done by that person: the bot hears of it, where Telegram tells it. Without one it has been
    so before."""

    def __init__(self, world: World, updates: Updates) -> None:
        self._world = world
        self.updates = updates

    # As they are
    def forum(self, chat: int, topics: Mapping[int, str] | None = None, title: str = "Office") -> None:
        """A supergroup with topics. A thread is also the id of its topic's service message."""
        self._room(Room(chat, "supergroup", title, forum=True), topics)

    def group(self, chat: int, title: str = "Group") -> None:
        self._room(Room(chat, "group", title), None)

    def supergroup(self, chat: int, title: str = "Supergroup") -> None:
        """One without topics."""
        self._room(Room(chat, "supergroup", title), None)

    def channel(self, chat: int, title: str = "News") -> None:
        self._room(Room(chat, "channel", title), None)

    def private(self, user: int, topics: Mapping[int, str] | None = None) -> None:
        """A private chat, with topics if the bot has them enabled."""
        self._room(Room(user, "private", f"User {user}"), topics)

    def _room(self, room: Room, topics: Mapping[int, str] | None) -> None:
        room.topics = {thread: Topic(name) for thread, name in (topics or {}).items()}
        self._world.rooms[room.id] = room

    def room(self, chat: int) -> Room:
        """What there is to know of a chat, by now."""
        return self._world.rooms[chat]

    def privacy(self, *, on: bool = True) -> None:
        """With privacy mode on, the bot does not get what people say in groups, unless it is an administrator."""
        self._world.privacy = on

    def private_topics(self, *, on: bool = True) -> None:
        """Whether the bot may have topics in private chats. Where it is not said, it may in those that have some."""
        self._world.private_topics = on

    def allow_reactions(self, chat: int, allowed: Collection[str]) -> None:
        self._world.rooms[chat].reactions = frozenset(allowed)

    # Members
    def member(
        self,
        chat: int,
        user: int,
        status: str = "member",
        *,
        by: int | None = None,
        link: str | None = None,
        **rights: bool,
    ) -> None:
        """Somebody's standing, with the rights that differ from the usual ones: `member(chat, api.bot,
        "administrator", can_manage_topics=False)`. With `by` it is changed by that person, and the bot hears of it;
        `link` is the address by which somebody joined."""
        room = self._world.rooms[chat]
        old = room.bot if user == BOT["id"] else room.members.get(user, Member("left"))
        new = room.members[user] = Member(status, rights)
        if user == BOT["id"] and status not in ("left", "kicked"):
            room.gone = None
        if by is None:
            return
        who = BOT if user == BOT["id"] else person(user)
        told = {
            "chat": room.chat,
            "from": person(by),
            "date": 1_800_000_000,
            "old_chat_member": member_json(who, old),
            "new_chat_member": member_json(who, new),
        }
        if link is not None:
            link_: Json = {"invite_link": link, "creator": BOT, "creates_join_request": False}
            told["invite_link"] = link_ | {"is_primary": False, "is_revoked": False}
        self.updates.add("my_chat_member" if user == BOT["id"] else "chat_member", told)

    def remove_bot(self, chat: int) -> None:
        """From then on the bot gets 403 there: kicked from a group, or blocked by its user."""
        room = self._world.rooms[chat]
        private = room.type == "private"
        room.gone = "bot was blocked by the user" if private else f"bot was kicked from the {room.type} chat"

    # Topics
    def create_topic(self, chat: int, name: str, *, user: int) -> int:
        """Returns its thread."""
        room = self._world.rooms[chat]
        thread = room.new_id()
        room.topics[thread] = Topic(name)
        created = {"forum_topic_created": {"name": name, "icon_color": ICON_COLOR}}
        self._deliver(room, room.place(person(user), created, thread=thread, message_id=thread))
        return thread

    def rename_topic(self, chat: int, thread: int, name: str, *, user: int | None = None) -> None:
        self._world.rooms[chat].topics[thread].name = name
        self.service(chat, {"forum_topic_edited": {"name": name}}, user=user, thread=thread)

    def close_topic(self, chat: int, thread: int, *, user: int | None = None) -> None:
        self._world.rooms[chat].topics[thread].closed = True
        self.service(chat, {"forum_topic_closed": {}}, user=user, thread=thread)

    def reopen_topic(self, chat: int, thread: int, *, user: int | None = None) -> None:
        self._world.rooms[chat].topics[thread].closed = False
        self.service(chat, {"forum_topic_reopened": {}}, user=user, thread=thread)

    def delete_topic(self, chat: int, thread: int, refusal: str = THREAD_NOT_FOUND) -> None:
        """Telegram tells nobody. `refusal` is what whoever writes to it is answered: `TOPIC_DELETED` and
        `TOPIC_ID_INVALID` have been seen too."""
        topic = self._world.rooms[chat].topics[thread]
        topic.deleted, topic.refusal = True, refusal

    def close_general(self, chat: int, *, user: int | None = None) -> None:
        self._world.rooms[chat].general.closed = True
        self.service(chat, {"forum_topic_closed": {}}, user=user)

    def hide_general(self, chat: int, *, user: int | None = None, hidden: bool = True) -> None:
        """Hiding it closes it."""
        room = self._world.rooms[chat]
        room.hidden_general = room.general.closed = hidden
        what = "general_forum_topic_hidden" if hidden else "general_forum_topic_unhidden"
        self.service(chat, {what: {}}, user=user)

    def switch_topics(self, chat: int, *, on: bool) -> None:
        """Switches the topics of a supergroup on or off; those that it had are kept."""
        self._world.rooms[chat].forum = on

    def migrate(self, chat: int, to: int, *, topics: Mapping[int, str] | None = None, user: int | None = None) -> None:
        """A group becomes a supergroup with another id, and both say so. With `topics` it has them at once."""
        old = self._world.rooms[chat]
        new = Room(to, "supergroup", old.title, forum=topics is not None)
        new.members = dict(old.members)
        self._room(new, topics)
        self.service(chat, {"migrate_to_chat_id": to}, user=user)
        old.migrated_to = to
        self.service(to, {"migrate_from_chat_id": chat}, user=user)

    def service(self, chat: int, content: Json, *, user: int | None, thread: int | None = None) -> int:
        """Any service message, such as `{"new_chat_members": […]}` or `{"pinned_message": …}`; returns its id."""
        room = self._world.rooms[chat]
        message = room.place(None if user is None else person(user), content, thread=thread)
        if user is not None:
            self._deliver(room, message)
        return int(message["message_id"])

    def _deliver(self, room: Room, message: Json, kind: str = "message") -> None:
        """What happens where the bot is not, it does not hear of."""
        if room.gone is None and room.migrated_to is None and room.bot.present:
            self.updates.add(kind, message)
