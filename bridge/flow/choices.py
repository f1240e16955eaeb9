"""Lists to pick a session from, page by page, as buttons. All that a list knows stands in its buttons."""

import hashlib
from collections.abc import Sequence

from bridge.caller import Caller
from bridge.errors import Code, Refused
from bridge.flow.commands.command import Command, Here, Reply
from bridge.flow.directory import Directory
from bridge.ids import SHELL, handle_of
from bridge.message import Origin
from bridge.ports.chat import Heard
from bridge.post import Button
from bridge.views import SessionView

PAGE = 8
_MOST = 500
_MOST_AGENTS = 50
_LABEL_CHARS = 36


class Choices:
    def __init__(self, directory: Directory, here: Here) -> None:
        self._directory = directory
        self._here = here

    async def page(self, heard: Heard, command: Command, number: int = 0) -> Reply:
        """Raises `invalid_request` where there is nothing to pick, and what the command would where nobody is here."""
        if command.here:
            await self._here.session(heard)
        views = await self._sessions(heard)
        if not views:
            raise Refused(
                Code.INVALID_REQUEST, "it takes a session, and there is no other one", remedy=f"Like: {command.usage}"
            )
        number = min(max(number, 0), (len(views) - 1) // PAGE)
        shown = views[number * PAGE : (number + 1) * PAGE]
        whose = f"{command.name}:{short(heard.person.id)}"
        buttons = [Button(_label(view, views), f"pick:{whose}:{short(view.id)}") for view in shown]
        if number > 0:
            buttons.append(Button("‹ Back", f"page:{whose}:{number - 1}"))
        if len(views) > (number + 1) * PAGE:
            buttons.append(Button("More ›", f"page:{whose}:{number + 1}"))
        return Reply(f"Which session? ({command.usage})", tuple(buttons))

    async def picked(self, heard: Heard, which: str) -> SessionView | None:
        """The one whose button it was, while it may be meant still."""
        return next((view for view in await self._sessions(heard) if short(view.id) == which), None)

    async def _sessions(self, heard: Heard) -> list[SessionView]:
        """Those that the person may mean: not the one here, none that another has spawned, and no shell's."""
        caller = Caller((await self._here.caller(heard)).session, Origin.USER)
        here = await self._here.found(heard.place)
        views, _ = await self._directory.sessions(caller, children=False, limit=_MOST)
        others = [one for one in views if (here is None or one.id != here.id) and handle_of(one.id) != SHELL]
        return sorted(others, key=lambda view: (view.title.casefold(), view.id))


NEW = "new"
"""The command that a topic is made with."""
_WHICH, _AGENT = "Which agent is to work in “", "”? (/new NAME AGENT)"


def agents(heard: Heard, name: str, known: Sequence[str]) -> Reply:
    """Of a topic that is to be made, the name stands in the text."""
    asker = short(heard.person.id)
    buttons = [Button(agent[:_LABEL_CHARS], f"with:{NEW}:{asker}:{short(agent)}") for agent in known[:_MOST_AGENTS]]
    return Reply(f"{_WHICH}{name}{_AGENT}", tuple(buttons))


def name_in(text: str) -> str:
    return text.removeprefix(_WHICH).removesuffix(_AGENT)


def short(text: str) -> str:
    """Stands for an id in the few bytes that a button has. It proves nothing: who picks is checked as who types is."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]


def _label(view: SessionView, among: Sequence[SessionView]) -> str:
    alike = sum(one.title.casefold() == view.title.casefold() for one in among) > 1
    return (f"{view.title} ({handle_of(view.id)})" if alike else view.title)[:_LABEL_CHARS]
