"""The operator's file, read again while the bridge runs (DESIGN §4): all of it holds, or nothing of it."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from adapters.settings.guarded import Guarded
from adapters.settings.model import Settings, TelegramSettings
from adapters.settings.outlook import Outlook, outlook
from adapters.settings.problems import SettingsError
from bridge.errors import Code, Refused
from bridge.flow.charter import Copy
from bridge.flow.exchange import Exchange

log = logging.getLogger(__name__)

_NOBODY = (
    "No operator can be asked about it, for tieline.toml has no [telegram] any more: put it back, or start once with "
    "`tieline run --accept`"
)


class Revisions:
    """`read` reads the file anew. `running` are the settings of the start, as the file has them, and `view` is what
    holds of them, by `accepted`. `narrow` leaves people and chats out that are not in what it is given."""

    def __init__(
        self,
        exchange: Exchange,
        read: Callable[[], Settings],
        running: Settings,
        accepted: Guarded | None,
        view: Outlook,
        *,
        narrow: Callable[[TelegramSettings], None] = lambda people: None,
    ) -> None:
        self._exchange = exchange
        self._read = read
        self._running = running
        self._file = running
        self._accepted = accepted
        self._view = view
        self._narrow = narrow
        self._granted: frozenset[str] = frozenset()
        self._one_at_once = asyncio.Lock()
        exchange.charter.accepted = self._adopt

    async def begin(self) -> None:
        """Stores what holds from this start on, or asks for what would be wider."""
        with _surviving_a_store_without_room():
            await self._settle(anyway=False)

    async def reload(self) -> None:
        """Never fails for what is in the file: then what it said before holds on, and people are told."""
        charter = self._exchange.charter
        async with self._one_at_once:
            try:
                file = await asyncio.to_thread(self._read)
            except SettingsError as error:
                log.error("tieline.toml was read again, and what it said before holds on:\n%s", error)
                with _surviving_a_store_without_room():
                    await charter.broken(str(error))
                return
            with _surviving_a_store_without_room():
                await charter.mended()
            with _surviving_a_store_without_room():
                await self._revise(file)

    async def _revise(self, file: Settings) -> None:
        self._granted = await self._exchange.charter.granted()
        self._file = file
        self._look()
        if self._view.settings.telegram is not None:
            self._narrow(self._view.settings.telegram)
        await self._settle(anyway=True)
        await self._exchange.redeclare(self._view.settings.sessions, file.agents)
        later = list(_later(self._running, file))
        also = f"; {', '.join(later)} from the next start" if later else ""
        log.info("tieline.toml was read again, and holds: rules, sessions and places now%s", also)

    def _look(self) -> None:
        """Looks at the file by what is accepted, and decides by it from now on."""
        operators = self._accepted is not None and bool(self._accepted.operators)
        ask = operators or bool(self._exchange.charter.places())
        self._view = outlook(self._file, self._accepted, ask=ask, granted=self._granted)
        self._exchange.charter.govern(self._view.policy)

    async def _settle(self, *, anyway: bool) -> None:
        view, charter = self._view, self._exchange.charter
        copy = view.wanted.to_json()
        if not view.waiting:
            if view.unasked:
                log.warning(
                    "tieline.toml lets agents do more, and no operator could be asked:\n%s", _lines(view.unasked)
                )
            await charter.hold(copy, unasked=len(view.unasked), anyway=anyway)
            self._accepted = Guarded.from_json(copy)
            return
        log.warning("tieline.toml would let agents do more, which an operator must accept:\n%s", _lines(view.waiting))
        if not charter.places():
            log.error(_NOBODY)
        if not await charter.restrict(copy, view.waiting) and charter.places():
            log.info("An operator has refused the same before, and is not asked again")

    def _adopt(self, copy: Copy) -> None:
        """An operator has accepted a copy, which is in the store by now."""
        self._accepted = Guarded.from_json(copy)
        self._look()
        log.info("An operator has accepted what tieline.toml adds")


@contextmanager
def _surviving_a_store_without_room() -> Iterator[None]:
    """What holds does so also where that cannot be stored now; the next start or reading does it again."""
    try:
        yield
    except Refused as refused:
        if refused.code is not Code.UNAVAILABLE:
            raise
        log.error("What tieline.toml says holds as far as it can; it could not be stored: %s", refused.reason)


def _lines(lines: tuple[str, ...]) -> str:
    return "\n".join(f"+ {line}" for line in lines)


def _later(running: Settings, file: Settings) -> Iterator[str]:
    """What has changed and holds from the next start only."""
    for what in ("profile", "store", "telegram", "web", "limits", "agents"):
        if getattr(running, what) != getattr(file, what):
            yield what
