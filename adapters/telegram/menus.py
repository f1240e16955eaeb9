"""The menus of commands: what each person sees is what that person may do."""

import asyncio
import hashlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence

from telegram import (
    BotCommand,
    BotCommandScope,
    BotCommandScopeAllGroupChats,
    BotCommandScopeAllPrivateChats,
    BotCommandScopeChat,
    BotCommandScopeChatMember,
    BotCommandScopeDefault,
)
from telegram.error import RetryAfter, TelegramError

from adapters.telegram.config import TelegramConfig
from adapters.telegram.place import SCHEME
from adapters.telegram.wire import Bot
from bridge.errors import Refused
from bridge.ports.chat import Intake, MenuLine, NotDelivered

_LOG = logging.getLogger(__name__)

_NOTE = "menu:"
_MAX_HELP = 256


class Menus:
    """Sets what has changed since it was last set, and takes back what is of nobody any more. What Telegram refuses is
    tried again at the next start: a menu is no more than a convenience."""

    def __init__(self, bot: Bot, config: Callable[[], TelegramConfig], commands: Mapping[str, MenuLine]) -> None:
        self._bot = bot
        self._config = config
        self.commands = commands
        self.changed = asyncio.Event()
        """Is set once Telegram can be reached, and where fewer people are operators from now on."""

    async def run(self, intake: Intake) -> None:
        """Until it is cancelled."""
        while True:
            await self.changed.wait()
            self.changed.clear()
            try:
                await self._bring(intake)
            except Exception:  # noqa: BLE001 - a task of its own: no defect of a menu may end the polling
                _LOG.exception("The menus of commands could not be set")

    async def _bring(self, intake: Intake) -> None:
        try:
            notes = await intake.recall(SCHEME)
        except Refused:
            return
        known = {key.removeprefix(_NOTE): text for key, text in notes.items() if key.startswith(_NOTE)}
        wanted = self._wanted()
        for scope in [*wanted, *(scope for scope in known if scope not in wanted)]:
            menu = wanted.get(scope)
            mark = self._mark(menu)
            if known.get(scope, "") == mark:
                continue
            try:
                await self._set(scope, menu)
                await intake.remember(SCHEME, f"{_NOTE}{scope}", mark)
            except (RetryAfter, NotDelivered, Refused) as error:
                _LOG.info("The menus of commands are set at the next start: %s", error)
                return
            except TelegramError as error:
                _LOG.info("The menu of commands for %s was not set: %s", scope, error)

    def _wanted(self) -> dict[str, Sequence[BotCommand]]:
        """Of each scope, what it shows. Whoever is in none of them, a stranger in another group, sees nothing."""
        config = self._config()
        every = [BotCommand(name, line.help[:_MAX_HELP]) for name, line in self.commands.items()]
        own = [one for one in every if not self.commands[one.command].operators_only]
        wanted: dict[str, Sequence[BotCommand]] = {"default": (), "private": own, "groups": own}
        for operator in sorted(config.operators):
            wanted[f"chat:{operator}"] = every
            for chat in sorted(config.chats):
                if chat < 0:
                    wanted[f"member:{chat}:{operator}"] = every
        return wanted if every else {}

    async def _set(self, scope: str, menu: Sequence[BotCommand] | None) -> None:
        if menu:
            await self._bot.set_my_commands(menu, _scope(scope))
        else:
            await self._bot.delete_my_commands(_scope(scope))

    def _mark(self, menu: Sequence[BotCommand] | None) -> str:
        """Tells one menu of one bot from others; empty where nothing is kept of it."""
        if menu is None:
            return ""
        bot = self._config().token.partition(":")[0]
        told = json.dumps([bot, *((one.command, one.description) for one in menu)])
        return hashlib.sha256(told.encode()).hexdigest()[:16]


def _scope(written: str) -> BotCommandScope:
    kind, *numbers = written.split(":")
    match kind, [int(number) for number in numbers]:
        case "private", []:
            return BotCommandScopeAllPrivateChats()
        case "groups", []:
            return BotCommandScopeAllGroupChats()
        case "chat", [chat]:
            return BotCommandScopeChat(chat)
        case "member", [chat, user]:
            return BotCommandScopeChatMember(chat, user)
        case _:
            return BotCommandScopeDefault()
