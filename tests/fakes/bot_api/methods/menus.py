"""The menus of commands: one for each scope and language."""

import re
from typing import Any

from aiogram.methods import DeleteMyCommands, GetMyCommands, SetMyCommands

from tests.fakes.bot_api.contract import Table, given
from tests.fakes.bot_api.world import Json, World, bad_request

_NAME = re.compile(r"[a-z0-9_]{1,32}")
_MAX_COMMANDS = 100
_MAX_DESCRIPTION = 256

Menu = dict[str, str]


class Menus:
    """`set` holds each menu, descriptions by command, under its scope (`default`, `chat:-1001`,
    `chat_member:-1001:111`) and language (empty for all others)."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.set: dict[tuple[str, str], Menu] = {}
        self.table: Table = {
            "setMyCommands": self._set,
            "getMyCommands": self._get,
            "deleteMyCommands": self._delete,
        }

    def shown(self, chat: int, user: int, language: str = "") -> Menu:
        """What that person sees in that chat, by the order that the Bot API gives to scopes."""
        room = self._world.rooms[chat]
        scopes = [f"chat:{chat}", "all_private_chats"]
        if room.type != "private":
            admin = user in room.members and room.members[user].manages
            scopes = [f"chat_member:{chat}:{user}"]
            scopes += [f"chat_administrators:{chat}"] if admin else []
            scopes += [f"chat:{chat}"]
            scopes += ["all_chat_administrators"] if admin else []
            scopes += ["all_group_chats"]
        keys = [(scope, spoken) for scope in [*scopes, "default"] for spoken in (language, "")]
        return next((self.set[key] for key in keys if key in self.set), {})

    def _set(self, call: SetMyCommands) -> bool:
        key = self._key(call)
        if len(call.commands) > _MAX_COMMANDS:
            raise bad_request("BOT_COMMANDS_TOO_MUCH")
        for command in call.commands:
            if _NAME.fullmatch(command.command.removeprefix("/")) is None:
                raise bad_request("BOT_COMMAND_INVALID")
            if not 0 < len(command.description) <= _MAX_DESCRIPTION:
                raise bad_request("BOT_COMMAND_DESCRIPTION_INVALID")
        self.set[key] = {command.command: command.description for command in call.commands}
        return True

    def _get(self, call: GetMyCommands) -> list[Json]:
        menu = self.set.get(self._key(call), {})
        return [{"command": command, "description": description} for command, description in menu.items()]

    def _delete(self, call: DeleteMyCommands) -> bool:
        self.set.pop(self._key(call), None)
        return True

    def _key(self, call: Any) -> tuple[str, str]:
        scope: Any = given(call.scope)
        if scope is None:
            return "default", call.language_code or ""
        chat, user = getattr(scope, "chat_id", None), getattr(scope, "user_id", None)
        if chat is not None:
            self._world.room(chat)
        return ":".join(str(part) for part in (scope.type, chat, user) if part is not None), call.language_code or ""
