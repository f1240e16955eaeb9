"""Commands, carried out once and answered at the place where they were typed."""

from collections.abc import Iterable, Mapping

from bridge import wording
from bridge.errors import Code, Refused
from bridge.flow.attempts import record_attempt
from bridge.flow.choices import Choices
from bridge.flow.commands.command import Command, Group, Here, Reply, word
from bridge.flow.commands.helping import helped
from bridge.flow.ledger import Ledger
from bridge.flow.showing import show
from bridge.ports.chat import Heard, MenuLine
from bridge.post import PostKind


class Commands:
    def __init__(self, ledger: Ledger, here: Here, choices: Choices, table: Iterable[Command]) -> None:
        self._ledger = ledger
        self._here = here
        self._choices = choices
        self._help = Command("help", "/help", "what you can do here", Group.LOOK, self._told)
        self._commands = {command.name: command for command in (*table, self._help)}

    @property
    def menu(self) -> Mapping[str, MenuLine]:
        """What people can be shown: each command's name, without the slash, and what it does."""
        return {one.name: MenuLine(one.help, one.operators_only, one.files) for one in self._commands.values()}

    def named(self, name: str) -> Command | None:
        return self._commands.get(name)

    async def run(self, heard: Heard) -> None:
        """Carries out one command, once a `heard.key`; what it has to say is posted at the place."""
        key = f"reply:{heard.key}"
        if await self._ledger.store.post(key) is not None:
            return
        said = await self.said(heard)
        if said is not None and said.text:
            # What is done is told, and not done again to be told.
            await self._ledger.surely(
                lambda work: show(work, key, heard.place, PostKind.REPLY, said.text, buttons=said.buttons)
            )

    async def said(self, heard: Heard) -> Reply | None:
        """Carries out a command, and returns what it has to say, also where it was refused."""
        name, rest = word(heard.text)
        command = self._commands.get(name.removeprefix("/").lower())
        if command is None and heard.silent:
            return None
        try:
            if command is None:
                raise Refused(Code.INVALID_REQUEST, f"there is no command {name[:40]}", remedy="See /help.")
            if heard.passed_on:
                raise Refused(
                    Code.INVALID_REQUEST,
                    f"a forwarded {name[:40]} is somebody else's, and not carried out",
                    remedy="Type it yourself, if you mean it.",
                )
            if command.operators_only and not heard.person.operator:
                refused = Refused(Code.NOT_PERMITTED, f"{name} is for operators", remedy="Ask one of them.")
                await record_attempt(self._ledger, await self._here.caller(heard), heard.text, refused)
                raise refused
            if command.picks is not None and not rest:
                return await self._choices.page(heard, command)
            said = await command.run(heard, rest)
            if not command.files:
                said = _with_unused(heard, said)
        except Refused as refused:
            if refused.code is Code.UNAVAILABLE:
                raise
            said = wording.refused_text(refused)
        return Reply(said) if isinstance(said, str) else said

    async def _told(self, heard: Heard, rest: str) -> str:
        session = await self._here.found(heard.place)
        attended = self._ledger.attended(heard.place)
        return helped(list(self._commands.values()), session, operator=heard.person.operator, attended=attended)


def _with_unused(heard: Heard, said: str | Reply | None) -> str | Reply | None:
    """Files that the command has no use for are not lost in silence."""
    if not any(one.path is not None for one in heard.attachments):
        return said
    if isinstance(said, Reply):
        return Reply(f"{said.text}\n{wording.UNUSED_FILES}", said.buttons)
    return f"{said}\n{wording.UNUSED_FILES}" if said else wording.UNUSED_FILES
