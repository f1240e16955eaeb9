"""What becomes of a list that a session or an agent is picked from: the next page, the command, or a wait for its text.

The list is the reply to the command that was typed without a name, and becomes what came of it. A post whose buttons do
not hold what was pressed shows something older: that is over.
"""

from dataclasses import replace

from bridge.errors import Code, Refused
from bridge.flow.agents import Agents
from bridge.flow.choices import NEW, Choices, name_in, short
from bridge.flow.commands.command import OVER, Command, Here, Picks, Reply
from bridge.flow.commands.handing import files
from bridge.flow.commands.run import Commands
from bridge.flow.ledger import Ledger
from bridge.flow.showing import revise
from bridge.ids import scheme_of
from bridge.ports.chat import Heard, Pressed
from bridge.post import Button, Post

VERBS = frozenset({"pick", "page", "drop", "with"})
_REPLY = "reply:"


class Picking:
    def __init__(self, ledger: Ledger, choices: Choices, commands: Commands, here: Here, agents: Agents) -> None:
        self._ledger = ledger
        self._choices = choices
        self._commands = commands
        self._here = here
        self._agents = agents
        self._busy: set[str] = set()

    async def press(self, pressed: Pressed, post: Post | None) -> str:
        """Returns what to tell the person. Raises `Refused` to anybody but the one who has asked."""
        verb, name, asker, which = _parts(pressed.action)
        command = self._commands.named(name)
        if post is None or command is None or post.key in self._busy or not _offers(post, pressed.action):
            return OVER
        if asker != short(pressed.person.id):
            raise Refused(Code.NOT_PERMITTED, "somebody else has asked for this", remedy=f"Type /{name} yourself.")
        heard = Heard(pressed.place, pressed.person, f"/{name}", post.key.removeprefix(_REPLY))
        self._busy.add(post.key)
        try:
            match verb:
                case "page":
                    await self._revise(post, await self._choices.page(heard, command, int(which or 0)))
                    return ""
                case "drop":
                    await self._revise(post, Reply("Nothing was handed on."))
                    return ""
                case "with":
                    return await self._topic(heard, which, post)
                case _:
                    return await self._pick(heard, command, which, post)
        finally:
            self._busy.discard(post.key)

    async def _pick(self, heard: Heard, command: Command, which: str, post: Post) -> str:
        view = await self._choices.picked(heard, which)
        if view is None:
            await self._revise(post, Reply("That session is not there any more."))
        elif command.picks is Picks.ADDRESSEE:
            drop = Button("Never mind", f"drop:{command.name}:{short(heard.person.id)}:{which}")
            await self._revise(post, Reply(f"Reply to this message with the text for {view.title}.", (drop,)))
        else:
            typed = Heard(heard.place, heard.person, f"/{command.name} {view.id}", heard.key)
            await self._revise(post, await self._commands.said(typed) or Reply(f"{view.title}."))
        return view.title if view is not None else OVER

    async def _topic(self, heard: Heard, which: str, post: Post) -> str:
        """That it is made is shown instead of the list by whoever makes it."""
        agent = next((name for name in self._agents.names() if short(name) == which), None)
        if agent is None:
            await self._revise(post, Reply("That agent is not there any more."))
            return OVER
        typed = Heard(heard.place, heard.person, f"/{NEW} {name_in(post.text)} {agent}", heard.key)
        if (refused := await self._commands.said(typed)) is not None:
            await self._revise(post, refused)
        return agent

    async def filled(self, heard: Heard) -> tuple[Heard, Post] | None:
        """The command whose text a message is, and the post that has waited for it. Raises `not_permitted` where
        somebody else was to write it."""
        if heard.reply_to is None or heard.passed_on:
            return None
        post = await self._ledger.store.sent_post(scheme_of(heard.place), heard.reply_to)
        if post is None or post.place != heard.place:
            return None
        for button in post.buttons:
            verb, name, asker, which = _parts(button.action)
            if verb != "drop":
                continue
            if asker != short(heard.person.id):
                raise Refused(Code.NOT_PERMITTED, "somebody else was asked for that text", remedy=f"Type /{name}.")
            view = await self._choices.picked(heard, which)
            if view is None:
                raise Refused(Code.UNKNOWN_SESSION, "that session is not there any more", remedy="See /sessions.")
            return replace(heard, text=f"/{name} {view.id} {heard.text}", attachments=files(heard.attachments)), post
        return None

    async def close(self, post: Post) -> None:
        """The text has come, and what became of it is shown by itself."""
        await self._revise(post, Reply("The text has come."))

    async def _revise(self, post: Post, reply: Reply) -> None:
        await self._ledger.surely(lambda work: revise(work, post.key, reply.text, buttons=reply.buttons))


def _parts(action: str) -> tuple[str, str, str, str]:
    verb, _, rest = action.partition(":")
    name, _, rest = rest.partition(":")
    asker, _, which = rest.partition(":")
    return verb, name, asker, which


def _offers(post: Post, action: str) -> bool:
    return any(button.action == action for button in post.buttons)
