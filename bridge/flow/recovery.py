"""Recovery: what a bridge does before it accepts, so that nothing of an earlier one is lost or run twice."""

from bridge.flow.agents import Agents
from bridge.flow.ledger import Ledger
from bridge.flow.turn_end import lose_turn


async def recover(ledger: Ledger, agents: Agents) -> None:
    """Ends the agents of turns that an earlier bridge ran, then gives back or parks their inputs."""
    for turn in await ledger.store.live_turns():
        if turn.process is not None:
            await agents.end(turn.process)
        await ledger.surely(lambda work, turn=turn: lose_turn(work, turn))  # type: ignore[misc]
