"""Which session a place is bound to."""

from collections.abc import Sequence

from bridge.admission import closed_session
from bridge.errors import Code, Refused
from bridge.flow.commands.command import Command, Group, Picks
from bridge.flow.directory import Directory
from bridge.flow.roster import Roster
from bridge.ports.chat import Heard


class Places:
    def __init__(self, directory: Directory, roster: Roster) -> None:
        self._directory = directory
        self._roster = roster

    @property
    def commands(self) -> Sequence[Command]:
        group = Group.PLACES
        return (
            Command(
                "bind",
                "/bind NAME",
                "bind this place to a session",
                group,
                self._bind,
                operators_only=True,
                picks=Picks.SESSION,
            ),
            Command("unbind", "/unbind", "free this place of its session", group, self._unbind, operators_only=True),
        )

    async def _bind(self, heard: Heard, rest: str) -> str:
        if not rest:
            raise Refused(Code.INVALID_REQUEST, "it takes a session", remedy="Like: /bind career; see /sessions.")
        session = await self._directory.find(rest)
        if session.closed_at is not None:
            raise closed_session(session.id)
        await self._roster.bind(heard.place, session.id)
        return f"This place is bound to {session.title} ({session.id})."

    async def _unbind(self, heard: Heard, rest: str) -> str:
        session = await self._roster.unbind(heard.place)
        return f"This place is not bound to {session} any more, which goes on by itself."
