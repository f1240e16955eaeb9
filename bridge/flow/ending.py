"""Sessions that a person closes and opens again at their place, with their topics."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace

from bridge import wording
from bridge.flow.agents import Agents
from bridge.flow.closing import close_session
from bridge.flow.control import Control
from bridge.flow.errands import Errands
from bridge.flow.hints import Hints
from bridge.flow.leaving import leave, leaving, left, stay
from bridge.flow.ledger import Ledger
from bridge.flow.showing import revise
from bridge.flow.turns import Turns
from bridge.flow.work import Work
from bridge.ids import Place, SessionId
from bridge.ports.chat import Chat, Gone, NotDelivered
from bridge.post import PostState

log = logging.getLogger(__name__)

_PAUSE_S = 1
_TOLD_S = 30
"""How long a topic stays open at most so that its last words get there."""


class Ending:
    def __init__(
        self, ledger: Ledger, hints: Hints, turns: Turns, control: Control, agents: Agents, errands: Errands
    ) -> None:
        self._ledger = ledger
        self._hints = hints
        self._turns = turns
        self._control = control
        self._agents = agents
        self._errands = errands

    async def close(self, session: SessionId) -> None:
        """Ends its turn, and closes it as one that has left the operator's file is."""

        async def body(work: Work) -> None:
            known = await work.session(session)
            if known is not None and known.closed_at is None:
                await close_session(work, known, f"session_closed: {session} was closed")

        with self._turns.held(session):
            await self._control.halt(session)
            await self._ledger.surely(body)
            await self._agents.retire(session)

    async def reopen(self, session: SessionId) -> bool:
        """False where it was not closed."""

        async def body(work: Work) -> bool:
            known = await work.session(session)
            if known is None or known.closed_at is None:
                return False
            work.put(replace(known, closed_at=None, paused=None, rested=False))
            return True

        return await self._ledger.do(body)

    def close_topic(self, place: Place, last_words: str) -> None:
        """Closes the topic once the post of that key has got there: not everybody can write to a closed one."""

        async def closing(chat: Chat) -> None:
            try:
                await chat.close_topic(place)
            except NotDelivered as refused:
                log.info("%s is not closed: %s", place, refused.reason)

        self._errands.begin(self._after(last_words, place, closing))

    async def delete_topic(self, place: Place, last_words: str, said: str) -> None:
        """Deletes the topic once the post of that key has said so there, and nothing leads there any more. Where it
        stays, the post says why."""

        async def body(work: Work) -> None:
            await revise(work, last_words, said)
            await leave(work, place, last_words)

        await self._ledger.surely(body)
        self._begin_to_delete(place, last_words)

    async def resume(self) -> None:
        """Goes on with what an earlier bridge was about to delete."""
        left_over = await self._ledger.surely(lambda work: leaving(work.store))
        for place, last_words in left_over.items():
            self._begin_to_delete(place, last_words)

    def _begin_to_delete(self, place: Place, last_words: str) -> None:
        async def deleting(chat: Chat) -> None:
            kept = await self._kept(chat, place)

            async def body(work: Work) -> None:
                if kept is None:
                    await left(work, place)
                    return
                await revise(work, last_words, wording.topic_kept(kept))
                await stay(work, place)

            await self._ledger.surely(body)

        self._errands.begin(self._after(last_words, place, deleting))

    async def _kept(self, chat: Chat, place: Place) -> str | None:
        """Deletes it. Returns why it stays, if it does; what can be done later is waited for."""
        while True:
            try:
                await chat.delete_topic(self._ledger.led(place))
            except Gone:
                return None
            except NotDelivered as refused:
                if refused.retry_at is None:
                    return refused.reason
                await self._ledger.clock.sleep(max(_PAUSE_S, refused.retry_at - self._ledger.clock.now()))
            else:
                return None

    async def _after(self, last_words: str, place: Place, deed: Callable[[Chat], Awaitable[None]]) -> None:
        chat = self._ledger.chat_of(place)
        if chat is None:
            return
        over = asyncio.ensure_future(self._ledger.clock.sleep(_TOLD_S))
        told = asyncio.ensure_future(self._told(last_words))
        try:
            await asyncio.wait([over, told], return_when=asyncio.FIRST_COMPLETED)
            await deed(chat)
        finally:
            over.cancel()
            told.cancel()

    async def _told(self, key: str) -> None:
        with self._hints.watch_outbox() as hinted:
            while True:
                hinted.clear()
                post = await self._ledger.surely(lambda work: work.post(key))
                if post is not None and post.state is not PostState.PENDING:
                    return
                await hinted.wait()
