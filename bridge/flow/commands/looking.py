"""What people look up at a place."""

from collections.abc import Sequence

from bridge import wording
from bridge.caller import Caller
from bridge.flow.commands.command import Command, Group, Here
from bridge.flow.directory import Directory
from bridge.message import Origin
from bridge.ports.chat import Heard


class Looking:
    def __init__(self, here: Here, directory: Directory) -> None:
        self._here = here
        self._directory = directory

    @property
    def commands(self) -> Sequence[Command]:
        return (
            Command("sessions", "/sessions [active | all]", "the sessions you can reach", Group.LOOK, self._sessions),
        )

    async def _sessions(self, heard: Heard, rest: str) -> str:
        caller = Caller((await self._here.caller(heard)).session, Origin.USER)
        every = rest.lower() == "all"
        views, more = await self._directory.sessions(
            caller, active=rest.lower() == "active", every=every, children=every
        )
        lines = [wording.session_line(view) for view in views]
        if more:
            lines.append("…")
        return "\n".join(lines) or "No sessions."
