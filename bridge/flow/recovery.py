"""Recovery: turns whose bridge is gone are taken over, so that nothing is lost and nothing runs twice.

A bridge takes over its own turns before it accepts, and those of others once their lease has lapsed. The order is
the guarantee: from the taking over on nothing that the earlier bridge writes of the turn is stored; then its agent is
proven dead or killed; only then are its inputs given back, tried again or parked. Where its agent has to be asked
first, that is done in the session's lane, so that no slow agent keeps the bridge from accepting. An agent that can be
adopted is not killed: its turn goes on in the session's lane (DESIGN §8).
"""

import asyncio
import logging
from dataclasses import dataclass
from functools import partial

from bridge.flow.agents import Agents
from bridge.flow.ledger import Ledger
from bridge.flow.turn_end import end_turn, lose_turn
from bridge.flow.turns import STOPPED, Turns
from bridge.flow.work import Work
from bridge.ids import SessionId, TurnId
from bridge.ports.runtime import Agent
from bridge.turn import Turn

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Found:
    """A turn that was taken over, and its agent, or what is recorded of it, where it was adopted."""

    turn: Turn
    agent: Agent | None


class Recovery:
    def __init__(self, ledger: Ledger, agents: Agents, turns: Turns) -> None:
        self._ledger = ledger
        self._agents = agents
        self._turns = turns
        self._undecided: dict[SessionId, Found] = {}

    def undecided(self) -> list[SessionId]:
        """The sessions in whose lane a turn that was taken over waits to be decided."""
        return list(self._undecided)

    def take_undecided(self, session: SessionId) -> "Found | None":
        return self._undecided.pop(session, None)

    async def restart(self) -> None:
        """Ends the agents that an earlier bridge of this node has left, idle ones too, all at once, and takes over
        its live turns: their leases are free, for only one bridge runs as a node. Raises `Refused(unavailable)`
        where the store cannot be written: to wait for it here would be a bridge that neither accepts nor says why."""
        found = [turn for turn in await self._ledger.store.last_turns() if turn.node == self._ledger.node]
        taken = [await self._ledger.do(partial(_take_over, turn=turn)) if turn.live else None for turn in found]
        async with asyncio.TaskGroup() as recovering:
            for turn, own in zip(found, taken, strict=True):
                recovering.create_task(self._recover(turn, own))

    async def reclaim(self, turn: Turn) -> None:
        """Takes over a turn whose lease has lapsed."""
        # One that runs here is late with its renewal, as after the machine slept: it is not lost.
        if self._turns.current(turn.session) is None:
            log.warning("%s: the lease of its turn has lapsed, and is taken over", turn.session)
            await self._recover(turn, await self._ledger.surely(partial(_take_over, turn=turn)))

    async def stop(self, session: SessionId, *, only: TurnId | None = None) -> bool:
        """Ends a turn that is not under way here, or was not when the stop was heard: a person's stop outranks the
        lease of another bridge. Returns once there is none, whoever ended it; False where there was none. With `only`
        no other turn than that one is meant."""
        tries = 0
        while (turn := await self._ledger.surely(lambda work: work.store.live_turn(session))) is not None:
            if only not in (None, turn.id):
                break
            if turn.node == self._ledger.node and self._turns.opened(session):
                # One that was taken over was there when the stop was heard, and its lane may have begun since. Any
                # other one has begun after the stop.
                if turn.epoch > 1 and await self._turns.stop(session, only=only):
                    return True
                break
            if tries > 0:
                # Two bridges that both stop it take it over from each other.
                await self._ledger.clock.sleep(self._ledger.backoff(tries, cap_s=1))
            tries += 1
            taken = await self._ledger.surely(partial(_take_over, turn=turn, lapsed=False))
            if taken is not None:
                found = self._undecided.pop(session, None)
                await self._agents.retire(session)
                if taken.process is not None:
                    await self._agents.end(taken.process)
                await self._ledger.surely(partial(end_turn, turn=taken, result=STOPPED))
                self._turns.expect_no_more(taken)
                if found is not None and found.agent is not None:
                    await found.agent.forget()
        return tries > 0

    async def _recover(self, turn: Turn, taken: Turn | None) -> None:
        # Between the look that found it and its taking over it may have come to its agent.
        process = turn.process if taken is None else taken.process
        agent = await self._adopted(taken) if taken is not None else None
        ended_or_taken = taken is not None or not turn.live
        if agent is None and process is not None and ended_or_taken and await self._is_ours(taken or turn):
            await self._agents.end(process)
        if taken is None:
            return
        if agent is not None or (taken.prompt_sent and not taken.tools_begun):
            self._undecided[taken.session] = Found(taken, agent)
            self._ledger.wake.lane(taken.session)
        else:
            doubt = "it had begun to use tools" if taken.tools_begun else ""
            await self._ledger.surely(lambda work: lose_turn(work, taken, doubt=doubt))

    async def _is_ours(self, turn: Turn) -> bool:
        """Whether its agent is nobody else's: a bridge that has taken it over since may have adopted that."""
        current = await self._ledger.surely(lambda work: work.turn(turn.id))
        return current is None or not current.live or current.epoch == turn.epoch

    async def _adopted(self, turn: Turn) -> Agent | None:
        session = await self._ledger.surely(lambda work: work.session(turn.session))
        if session is None or session.closed_at is not None or not turn.prompt_sent:
            return None
        try:
            agent = await self._agents.adopt(session, turn)
        except Exception:
            # A defect of a runtime must keep no bridge from starting: the agent is ended like one that nobody adopts.
            log.exception("%s: its agent could not be adopted", turn.session)
            return None
        if agent is not None:
            await self._turns.expect(turn)
        return agent


async def _take_over(work: Work, turn: Turn, *, lapsed: bool = True) -> Turn | None:
    """None where the turn has ended meanwhile, or was taken over by somebody else; and where another bridge leases it
    still, unless it need not have `lapsed`."""
    current = await work.turn(turn.id)
    if current is None or not current.live:
        return None
    if (current.node, current.epoch) == (work.means.node, turn.epoch + 1):
        return current  # stored by an attempt whose success was not heard of
    if current.epoch != turn.epoch:
        return None
    if lapsed and current.node != work.means.node and not current.lapsed(work.now):
        return None
    taken = current.taken_over(work.means.node, work.now + work.limits.lease_s)
    work.put(taken)
    return taken
