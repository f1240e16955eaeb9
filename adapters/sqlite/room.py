"""What becomes of the store when its disk is full.

The first write that fails for want of room costs the ballast: with what that frees, what was accepted before is settled
and told of, and nothing new is accepted until the ballast can be set aside again.
"""

import asyncio
import logging
import sqlite3

from adapters.sqlite.ballast import Ballast
from adapters.sqlite.plan import plan
from adapters.sqlite.writer import Writer
from bridge.errors import Code, Refused
from bridge.ports.store import Change

_log = logging.getLogger(__name__)
_FULL = "The disk is full: nothing new is accepted; %s"
_FREED = "what was set aside is used to settle what was accepted"
_NOTHING_TO_FREE = "and nothing was set aside"


class Room:
    """Stands before the writer. `short` says that the ballast has been given up already."""

    def __init__(self, writer: Writer, ballast: Ballast, *, short: bool = False) -> None:
        self._writer = writer
        self._ballast = ballast
        self._changing = asyncio.Lock()
        self._short = short
        if short:
            _log.error(_FULL, _FREED)

    async def write(self, change: Change) -> None:
        """As `Writer.write`."""
        if self._short and change.admits and await self.short():
            raise self._full()
        planned = plan(change)
        try:
            await self._writer.write(planned)
        except Refused as refused:
            if not self._wants_room(refused.__cause__):
                raise
            await self._give_way()
            if change.admits:
                raise self._full() from refused
            await self._writer.write(planned)

    async def short(self) -> bool:
        """As `Store.short`."""
        async with self._changing:
            if self._short and await asyncio.to_thread(self._ballast.make):
                self._short = False
                _log.warning("There is room on the disk again")
            return self._short

    async def _give_way(self) -> None:
        async with self._changing:
            if not self._short:
                self._short = True
                freed = await asyncio.to_thread(self._ballast.free)
                _log.error(_FULL, _FREED if freed else _NOTHING_TO_FREE)

    def _wants_room(self, error: BaseException | None) -> bool:
        """SQLite calls it an I/O error where the room was wanted for something else than a write."""
        if not isinstance(error, sqlite3.Error):
            return False
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        return code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and self._ballast.scarce)

    def _full(self) -> Refused:
        remedy = f"Make room there, {self._ballast.wanted >> 20} MiB at least; it goes on by itself."
        return Refused(Code.UNAVAILABLE, "the disk of the bridge's home is full", remedy=remedy)
