"""Spawning: a turn makes a child session and hands it its first task, in one change (DESIGN §8)."""

from dataclasses import replace

from bridge.caller import Caller
from bridge.errors import Code, Refused
from bridge.flow.admission import Admission, Newborn
from bridge.flow.agents import Agents
from bridge.flow.kin import below, line_of
from bridge.flow.ledger import Ledger
from bridge.flow.refusal import refuse_early
from bridge.flow.work import Work
from bridge.lineage import caps_of, child, form, over
from bridge.message import Intent
from bridge.turn import Turn
from bridge.views import Receipt, Send


class Children:
    def __init__(self, ledger: Ledger, admission: Admission, agents: Agents) -> None:
        self._ledger = ledger
        self._admission = admission
        self._agents = agents

    async def spawn(self, caller: Caller, agent: str, title: str, task: str) -> Receipt:
        """A request to a new child of the caller, whose id is the receipt's `to`. It goes the way of every message, and
        is decided by the verb `spawn`. Where that asks a person, the task is held and the child begins once it is
        approved. Raises `Refused`; then there is no child."""
        if caller.turn is None:
            raise Refused(
                Code.NOT_PERMITTED,
                "a child lives as long as a turn that the bridge runs, and none of this session runs",
                remedy="Hand the work to a session that you can reach: peer_sessions lists them.",
            )

        async def body(work: Work) -> Receipt | Refused:
            turn = await work.turn(caller.turn) if caller.turn is not None else None
            return await self._spawn(work, caller, turn, agent, title, task)

        outcome = await self._ledger.do_as(caller, body)
        if isinstance(outcome, Refused):
            raise outcome
        return outcome

    async def _spawn(
        self, work: Work, caller: Caller, turn: Turn | None, agent: str, title: str, task: str
    ) -> Receipt | Refused:
        parent = await work.session(caller.session)
        if parent is None or turn is None:
            return Refused(Code.UNKNOWN_SESSION, "the session that would spawn does not exist")
        if refused := form(agent, title):
            return refuse_early(work, caller, Send(agent, task, wake=True, spawns=agent), refused)
        made = child(parent, turn.id, agent, title, work.new_id(), work.now)
        send = Send(made.id, task, Intent.REQUEST, wake=True, spawns=agent)
        line = await line_of(work.session, parent)
        root = line[-1]
        caps = root.caps or caps_of(work.limits)
        against = self._unknown(agent) or over(caps, len(line), len(await below(work, root.id)))
        # All are put, also where nothing of them changes: what spawns or closes in the same line at once conflicts.
        puts = (parent, replace(root, caps=caps), made)
        return await self._admission.admit(work, caller, send, newborn=Newborn(made, puts, against))

    def _unknown(self, agent: str) -> Refused | None:
        if self._agents.configured(agent):
            return None
        return Refused(
            Code.INVALID_REQUEST,
            f"no agent named {agent!r} is configured",
            remedy="Name one that the operator has set up.",
        )
