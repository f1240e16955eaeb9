"""The bot itself, and what it can learn of chats and their members."""

from aiogram.methods import GetChat, GetChatAdministrators, GetChatMember, GetMe, LeaveChat

from tests.fakes.bot_api.contract import Table
from tests.fakes.bot_api.members import member_json
from tests.fakes.bot_api.world import BOT, Json, Member, World, bad_request


class Chats:
    def __init__(self, world: World) -> None:
        self._world = world
        self.table: Table = {
            "getMe": self._me,
            "getChat": self._chat,
            "getChatMember": self._member,
            "getChatAdministrators": self._administrators,
            "leaveChat": self._leave,
        }

    def _me(self, _: GetMe) -> Json:
        topics = self._world.private_topics
        if topics is None:
            topics = any(room.type == "private" and room.topics for room in self._world.rooms.values())
        return BOT | {
            "can_join_groups": True,
            "can_read_all_group_messages": not self._world.privacy,
            "supports_inline_queries": False,
            "can_connect_to_business": False,
            "has_main_web_app": False,
            "has_topics_enabled": topics,
            "allows_users_to_create_topics": topics,
        }

    def _chat(self, call: GetChat) -> Json:
        room = self._world.room(call.chat_id)
        gifts = ("unlimited_gifts", "limited_gifts", "unique_gifts", "premium_subscription", "gifts_from_channels")
        told: Json = {"accent_color_id": 0, "max_reaction_count": 11}
        told["accepted_gift_types"] = dict.fromkeys(gifts, True)
        if room.reactions is not None:
            told["available_reactions"] = [{"type": "emoji", "emoji": each} for each in sorted(room.reactions)]
        return room.chat | told

    def _member(self, call: GetChatMember) -> Json:
        room = self._world.room(call.chat_id)
        if call.user_id == BOT["id"]:
            return member_json(BOT, room.bot)
        if call.user_id <= 0:
            raise bad_request("invalid user_id specified")
        user = {"id": call.user_id, "is_bot": False, "first_name": "Somebody"}
        return member_json(user, room.members.get(call.user_id, Member()))

    def _administrators(self, call: GetChatAdministrators) -> list[Json]:
        room = self._world.room(call.chat_id)
        if room.type == "private":
            raise bad_request("there are no administrators in the private chat")
        known = {BOT["id"]: room.bot} | room.members
        return [
            member_json(BOT if user == BOT["id"] else {"id": user, "is_bot": False, "first_name": "Somebody"}, member)
            for user, member in known.items()
            if member.manages
        ]

    def _leave(self, call: LeaveChat) -> bool:
        room = self._world.room(call.chat_id)
        room.members[BOT["id"]] = Member("left")
        return True
