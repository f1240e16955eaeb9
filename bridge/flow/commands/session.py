"""What people do to the session at their place, and ask of it."""

from collections.abc import Sequence

from bridge import phrases
from bridge.flow.commands.command import Command, Group, Here
from bridge.flow.commands.standing import standing
from bridge.flow.control import Control
from bridge.flow.directory import Directory
from bridge.flow.ledger import Ledger
from bridge.flow.work import Work
from bridge.ports.chat import Heard


class OfTheSession:
    def __init__(self, ledger: Ledger, here: Here, control: Control, directory: Directory) -> None:
        self._ledger = ledger
        self._here = here
        self._control = control
        self._directory = directory

    @property
    def commands(self) -> Sequence[Command]:
        group = Group.HERE
        return (
            Command("status", "/status", "what the session here is doing", group, self._status, here=True),
            Command(
                "stop",
                "/stop [all]",
                "end the running turn; all: what is queued too",
                group,
                self._stop,
                operators_only=True,
                here=True,
            ),
            Command(
                "resume",
                "/resume",
                "take work again after a stop or a pause",
                group,
                self._resume,
                operators_only=True,
                here=True,
            ),
        )

    async def _stop(self, heard: Heard, rest: str) -> str:
        session = await self._here.session(heard)
        everything = rest.lower() == "all"
        stopped, cancelled = await self._control.stop(session.id, everything=everything)
        words = ["The turn is stopped." if stopped else "No turn was running."]
        if everything:
            words.append(f"Cancelled: {phrases.counted(cancelled, 'queued message')}.")
        if heard.outranks:
            words.append(f"Not acted on: {phrases.counted(heard.outranks, 'message')} that had not reached it by then.")
        return " ".join([*words, "Other sessions wait until /resume or your next message."])

    async def _resume(self, heard: Heard, rest: str) -> str:
        session = await self._here.session(heard)
        resumed = await self._control.resume(session.id)
        return f"{session.title} takes work again." if resumed else f"{session.title} was not stopped."

    async def fresh(self, heard: Heard, rest: str) -> str:
        session = await self._here.session(heard)
        failed = await self._control.renew(session.id)
        also = f" Closed as failed: {phrases.counted(failed, 'request')} that it had read." if failed else ""
        return f"{session.title} starts afresh with your next message.{also}"

    async def _status(self, heard: Heard, rest: str) -> str:
        session = await self._here.session(heard)
        view = await self._directory.view(session.id)
        return await standing(Work(self._ledger), session, view)
