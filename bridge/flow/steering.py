"""Telling a running turn that mail waits (`busy = "steer"`, DESIGN §5). Nothing is ever typed into it."""

from collections.abc import Set

from bridge.caller import Caller
from bridge.flow.agents import Agents
from bridge.flow.ledger import Ledger
from bridge.ids import MessageId, SessionId, TurnId
from bridge.message import Message, Origin
from bridge.quiet import kept_until
from bridge.session import Busy, Session
from bridge.turn import Turn


class Steering:
    """Which handoffs a session's turn has been told of, and so may read. Kept in memory only: with the bridge the turn
    is lost, and what it has not read keeps its own turn anyway."""

    def __init__(self, ledger: Ledger, agents: Agents) -> None:
        self._ledger = ledger
        self._agents = agents
        self._told: dict[SessionId, tuple[TurnId, frozenset[MessageId]]] = {}

    def told(self, turn: Turn) -> Set[MessageId]:
        of, told = self._told.get(turn.session, (turn.id, frozenset()))
        return told if of == turn.id else frozenset()

    async def tells(self, caller: Caller) -> bool:
        """Whether what a tool returns now has to say that mail waits: once of each handoff that has come since the
        caller's turn began."""
        store = self._ledger.store
        session = await store.session(caller.session) if caller.turn is not None else None
        if (
            session is None
            or session.rested
            or caller.turn is None
            or in_effect(session, self._agents) is not Busy.STEER
        ):
            return False
        turn = await store.turn(caller.turn)
        if turn is None or not turn.live:
            return False
        now = self._ledger.clock.now()
        come = {one.id for one in await store.queue(session.id) if _steers(one, session, turn, now)}
        known = self.told(turn)
        self._told[session.id] = (turn.id, frozenset(known | come))
        return not come <= known


def in_effect(session: Session, agents: Agents) -> Busy:
    """What the session's `busy` comes to: an agent without the bridge's tools can neither read several messages in one
    turn nor be told of any."""
    without_tools = not session.runs or agents.embeds(session)
    return Busy.QUEUE if without_tools and session.habits.busy in (Busy.COLLECT, Busy.STEER) else session.habits.busy


def _steers(message: Message, session: Session, turn: Turn, now: float) -> bool:
    """A person's words are prompted, and so keep their own turn, as what came before this one does."""
    handoff = message.wake and message.takes_room and message.origin is Origin.PEER
    comes = message.queued_at >= turn.started_at and now < message.expires_at and not message.waits(now)
    return handoff and comes and kept_until(session, message, now) is None
