"""Whom a worker tells what it does: one bridge, or nobody."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from adapters.worker.execution import QUESTION, Work
from adapters.worker.journal import Record
from adapters.worker.link import Frame, Link


class Owner:
    """Each is told every record once, in order, from the first that it has not stored. `damaged` is called where what
    it has to be told can no longer be read."""

    def __init__(self, link: Link, damaged: Callable[[], None]) -> None:
        self.link: Link | None = link
        self._damaged = damaged
        self._told = 0
        self._telling = asyncio.Lock()

    def becomes(self, link: Link, epoch: int, told: int) -> None:
        """Another bridge has stored all up to the record `told`. The one before hears so, and is told nothing more."""
        before, self.link, self._told = self.link, link, told
        if before is not None:
            before.close({"superseded": epoch})

    def begins(self, told: int = 0) -> None:
        """With records after that number, of a turn that begins or has to be told again."""
        self._told = told

    async def say(self, frame: Mapping[str, Any]) -> None:
        if self.link is not None:
            await self.link.send(frame)

    async def tell(self, work: Work, record: Record) -> None:
        """A record that is not kept has the number 0."""
        async with self._telling:
            if record.number == 0:
                await self.say(_told(work, record))
            elif record.number == self._told + 1:
                self._told = record.number
                await self.say(_told(work, record))
            elif record.number > self._told:
                await self._tell_rest(work)

    async def tell_rest(self, work: Work) -> None:
        """What is on record and has not been told."""
        async with self._telling:
            await self._tell_rest(work)

    async def _tell_rest(self, work: Work) -> None:
        link = self.link
        records = work.journal.since(self._told) if link is not None else ()
        if records is None:
            self._damaged()
        for record in records or ():
            if link is not self.link or record.number != self._told + 1:
                return  # It is told to the next one, or again.
            self._told = record.number
            await self.say(_told(work, record))


def _told(work: Work, record: Record) -> Frame:
    frame = {
        "tell": record.number,
        "turn": work.header.execution.turn,
        "kind": record.kind,
        "digest": record.digest,
        "body": record.body,
    }
    if record.kind == QUESTION and not work.asks(record.number):
        frame["over"] = True
    return frame
