"""Retirement: ends what a child runs once it is closed, and closes those that a bridge that died has left."""

import asyncio
import logging

from bridge.flow.agents import Agents
from bridge.flow.closing import close_session
from bridge.flow.control import Control
from bridge.flow.ledger import Ledger
from bridge.flow.turns import Turns
from bridge.flow.work import Work
from bridge.ids import SessionId

log = logging.getLogger(__name__)

_LEFT = "children do not outlive the bridge that has spawned them"


class Retirement:
    def __init__(self, turns: Turns, control: Control, agents: Agents, tasks: asyncio.TaskGroup) -> None:
        self._turns = turns
        self._control = control
        self._agents = agents
        self._tasks = tasks

    def begin(self, session: SessionId) -> None:
        ending = self._end(session)
        try:
            self._tasks.create_task(ending)
        except RuntimeError:
            # The group takes no more tasks: the bridge is ending, and its agents end with it.
            ending.close()

    async def _end(self, session: SessionId) -> None:
        try:
            with self._turns.held(session):
                await self._control.halt(session)
                await self._agents.retire(session)
        except Exception:
            # A task of its own: its defect must not end the bridge. The child is closed, and begins nothing more.
            log.exception("%s: what it ran could not be ended", session)


async def retire_left(ledger: Ledger) -> None:
    """Closes the children of what an earlier bridge of this node ran, before anything of it is recovered: whatever
    becomes of their parents' turns, they are neither gone on with nor tried again."""

    async def body(work: Work) -> None:
        for child in await work.store.children():
            current = await work.session(child.id) or child
            turn = await work.turn(child.spawned_in) if child.spawned_in is not None else None
            left = turn is None or not turn.live or turn.node == ledger.node
            if current.closed_at is None and left:
                await close_session(work, current, _LEFT, withdrawn_by=child.parent)

    await ledger.do(body)
