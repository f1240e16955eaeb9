"""Topics that the bridge has named keep to the titles of their sessions. A name that people gave is never touched."""

import asyncio
import logging
from dataclasses import replace

from bridge.flow.errands import Errands
from bridge.flow.ledger import Ledger
from bridge.flow.work import Work
from bridge.ids import Place
from bridge.ports.chat import NotDelivered
from bridge.session import Topic

log = logging.getLogger(__name__)

NAME_CHARS = 128
_PACE_S = 300
"""How long a name stays at least: each renaming is told to everybody in the chat."""


class Naming:
    """Whoever changes a title lets it `look`; it has a task only while a name has to wait."""

    def __init__(self, ledger: Ledger, errands: Errands) -> None:
        self._ledger = ledger
        self._errands = errands
        self._looked = asyncio.Event()
        self._looking = False
        self._refused: set[tuple[Place, str]] = set()

    def look(self) -> None:
        """A title may have changed."""
        self._looked.set()
        if not self._looking:
            self._looking = True
            self._errands.begin(self._run())

    async def _run(self) -> None:
        try:
            while self._looked.is_set():
                self._looked.clear()
                again = await self._settle()
                if again is not None:
                    await self._wait(again)
        finally:
            self._looking = False

    async def _wait(self, until: float) -> None:
        """Until then, or until a title may have changed again."""
        pause_s = max(until - self._ledger.clock.now(), 1)
        over = asyncio.ensure_future(self._ledger.clock.sleep(pause_s))
        looked = asyncio.ensure_future(self._looked.wait())
        try:
            await asyncio.wait([over, looked], return_when=asyncio.FIRST_COMPLETED)
        finally:
            over.cancel()
            looked.cancel()
        self._looked.set()

    async def _settle(self) -> float | None:
        """Gives the names that are due; returns when to look again, where something has to wait."""
        later: list[float] = []
        for place, topic, name in await self._ledger.surely(_outdated):
            chat, due = self._ledger.chat_of(place), (topic.named_at or 0) + _PACE_S
            if chat is None or (place, name) in self._refused:
                continue
            if due > self._ledger.clock.now():
                later.append(due)
                continue
            try:
                await chat.rename_topic(place, name)
            except NotDelivered as refused:
                if refused.retry_at is not None:
                    later.append(refused.retry_at)
                    continue
                self._refused.add((place, name))
                log.warning("%s could not be renamed to %r: %s", place, name, refused.reason)
            else:
                await self._ledger.surely(lambda work, at=place, now=name: _named(work, at, now))  # type: ignore[misc]
        return min(later, default=None)


async def _outdated(work: Work) -> list[tuple[Place, Topic, str]]:
    """The topics whose name is ours and not the title any more, each with the name that it is to have."""
    found = []
    for binding in await work.store.bindings():
        topic = binding.topic
        if topic is not None and topic.ours and binding.gone_at is None and binding.session is not None:
            session = await work.session(binding.session)
            if session is not None and session.closed_at is None and (name := topic_name(session.title)) != topic.name:
                found.append((binding.place, topic, name))
    return found


async def _named(work: Work, place: Place, name: str) -> None:
    binding = await work.store.binding(place)
    if binding is not None and binding.topic is not None and binding.topic.ours:
        work.put(replace(binding, topic=Topic(name, ours=True, named_at=work.now)))


def topic_name(title: str) -> str:
    """A title as the name of a topic: one line, not too long, never empty."""
    return " ".join(title.split())[:NAME_CHARS].strip() or "Session"
