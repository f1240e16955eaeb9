"""Reactions of the bot to messages."""

from aiogram.methods import SetMessageReaction
from aiogram.types import ReactionTypeEmoji

from tests.fakes.bot_api.contract import Table
from tests.fakes.bot_api.world import World, bad_request

_EMOJI = (
    "👍 👎 ❤ 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤️‍🔥 "
    "🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨 "
    "🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂️ 🤷 🤷‍♀️ 😡"
)
ALLOWED = frozenset(_EMOJI.split())


class Reactions:
    def __init__(self, world: World) -> None:
        self._world = world
        self.table: Table = {"setMessageReaction": self._set}

    def _set(self, call: SetMessageReaction) -> bool:
        room = self._world.room(call.chat_id)
        if call.message_id not in room.messages:
            raise bad_request("message to react not found")
        emoji = tuple(each.emoji for each in call.reaction or () if isinstance(each, ReactionTypeEmoji))
        allowed = ALLOWED if room.reactions is None else room.reactions
        if len(emoji) != len(call.reaction or ()) or not set(emoji) <= allowed:
            raise bad_request("REACTION_INVALID")
        if len(emoji) > 1:
            raise bad_request("REACTIONS_TOO_MANY")
        if room.reacted.get(call.message_id, ()) == emoji:
            return True
        room.reacted[call.message_id] = emoji
        return True
