"""Recovery: what a bridge does before it accepts, so that nothing of an earlier one is lost or run twice."""

import asyncio

from bridge.flow.agents import Agents
from bridge.flow.ledger import Ledger
from bridge.flow.turn_end import lose_turn
from bridge.turn import Turn


async def recover(ledger: Ledger, agents: Agents) -> None:
    """Ends the agents that an earlier bridge has left, idle ones too, all at once. The inputs of each running turn are
    given back or parked once its agent is gone."""
    async with asyncio.TaskGroup() as recovering:
        for turn in await ledger.store.last_turns():
            recovering.create_task(_recover(ledger, agents, turn))


async def _recover(ledger: Ledger, agents: Agents, turn: Turn) -> None:
    if turn.process is not None:
        await agents.end(turn.process)
    if turn.live:
        await ledger.surely(lambda work: lose_turn(work, turn))
