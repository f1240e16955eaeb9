"""Commands, carried out once and answered at the place where they were typed."""

from collections.abc import Iterable, Mapping

from bridge import wording
from bridge.errors import Code, Refused
from bridge.flow.attempts import record_attempt
from bridge.flow.commands.command import Command, Group, Here, word
from bridge.flow.ledger import Ledger
from bridge.flow.showing import show
from bridge.ports.chat import Heard, MenuLine
from bridge.post import PostKind


class Commands:
    def __init__(self, ledger: Ledger, here: Here, table: Iterable[Command]) -> None:
        self._ledger = ledger
        self._here = here
        self._help = Command("help", "/help", "what you can do here", Group.LOOK, self._told)
        self._commands = {command.name: command for command in (*table, self._help)}

    @property
    def menu(self) -> Mapping[str, MenuLine]:
        """What people can be shown: each command's name, without the slash, and what it does."""
        return {one.name: MenuLine(one.help, one.operators_only) for one in self._commands.values()}

    async def run(self, heard: Heard) -> None:
        """Carries out one command, once a `heard.key`; what it has to say is posted at the place."""
        reply = f"reply:{heard.key}"
        if await self._ledger.store.post(reply) is not None:
            return
        said = await self.said(heard)
        if said:
            # What is done is told, and not done again to be told.
            await self._ledger.surely(lambda work: show(work, reply, heard.place, PostKind.NOTICE, said))

    async def said(self, heard: Heard) -> str | None:
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
            said = await command.run(heard, rest)
            unused = not command.files and any(one.path is not None for one in heard.attachments)
            return "\n".join(filter(None, (said, wording.UNUSED_FILES if unused else None))) or None
        except Refused as refused:
            if refused.code is Code.UNAVAILABLE:
                raise
            return wording.refused_text(refused)

    async def _told(self, heard: Heard, rest: str) -> str:
        usable = [one for one in self._commands.values() if heard.person.operator or not one.operators_only]
        lines = [f"{one.usage} – {one.help}" for one in usable]
        return "\n".join([*lines, "@NAME TEXT – the same as /handoff NAME TEXT"])
