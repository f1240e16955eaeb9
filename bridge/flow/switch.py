"""The switch: a person stops all traffic between agents at once, and lets it go on (DESIGN §4)."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from bridge.approval import Subject
from bridge.audit import ActKind
from bridge.caller import Caller
from bridge.errors import Code, Refused
from bridge.flow.ledger import Ledger
from bridge.flow.proposals import Effects, Proposals
from bridge.flow.work import Work
from bridge.ids import Place
from bridge.proposed import RESUMING, resume_proposed
from bridge.regime import Regime
from bridge.views import RegimeView


class Switch:
    def __init__(self, ledger: Ledger, proposals: Proposals) -> None:
        self._ledger = ledger
        self._proposals = proposals
        proposals.register(Subject.PAUSE, Effects(self._accepted, check=_check))

    async def pause(self, by: Caller) -> RegimeView:
        self._ledger.forget_regime()  # another bridge may have ended a pause since

        async def body(work: Work) -> RegimeView:
            regime = await work.regime()
            if not regime.paused:
                regime = replace(regime, paused_at=work.now, paused_by=by.name)
                work.put_regime(regime)
                work.act(ActKind.PAUSED, by, regime.id)
            return _view(regime)

        return await self._ledger.do(body)

    async def resume(self, by: Caller) -> RegimeView:
        """That agents reach each other again widens, whoever has paused them: it is proposed where that takes an
        operator's word."""
        self._ledger.forget_regime()  # another bridge may have begun a pause since
        if self._proposals.must_wait(by):
            return await self._propose(by)
        return await self._ledger.do(lambda work: self._resume(work, by))

    async def _propose(self, by: Caller) -> RegimeView:
        regime = await self._ledger.regime()
        if not regime.paused:
            return _view(regime)
        text = resume_proposed(by.name, self._ledger.named(regime.paused_by or ""))
        content, life_s = {"paused_at": regime.paused_at}, self._ledger.limits.held_life_s
        await self._proposals.propose(by, Subject.PAUSE, RESUMING, content, text, life_s)
        return _view(regime, self._proposals.asked_at())

    async def _resume(self, work: Work, by: Caller) -> RegimeView:
        await self._proposals.withdraw(work, Subject.PAUSE, RESUMING)
        return await _go_on(work, by)

    async def _accepted(self, work: Work, by: Caller, content: Mapping[str, Any]) -> None:
        await _go_on(work, by)


async def _check(work: Work, content: Mapping[str, Any]) -> None:
    """What was to be ended is the pause that was shown, and no later one."""
    if (await work.regime()).paused_at != content["paused_at"]:
        raise Refused(Code.INVALID_REQUEST, "that pause is over", remedy="Refuse this.")


async def _go_on(work: Work, by: Caller) -> RegimeView:
    regime = await work.regime()
    if not regime.paused:
        return _view(regime)
    going = replace(regime, paused_at=None, paused_by=None)
    work.put_regime(going)
    work.act(ActKind.RESUMED, by, regime.id, paused_by=regime.paused_by)
    for session in await work.store.waiting_sessions():
        work.then(partial(work.wake.lane, session))
    for session in await work.store.unsettled():
        work.then(partial(work.wake.mail, session))
        for message in await work.store.queue(session):
            if message.in_reply_to is not None:
                work.then(partial(work.wake.closed, message.in_reply_to))
    return _view(going)


def _view(regime: Regime, waits_for: tuple[Place, ...] = ()) -> RegimeView:
    return RegimeView(regime.paused, regime.paused_by, regime.paused_at, waits_for)
