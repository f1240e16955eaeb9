"""The charter: what holds of the operator's file as to what agents may do, and what of it an operator must accept first
(DESIGN §4)."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from bridge import wording
from bridge.approval import Subject
from bridge.audit import ActKind
from bridge.caller import Caller
from bridge.flow.governance import Governance
from bridge.flow.ledger import Ledger
from bridge.flow.proposals import Effects, Proposals
from bridge.flow.showing import show
from bridge.flow.work import Work
from bridge.grant import Grant
from bridge.ids import SYSTEM, Place
from bridge.message import Origin
from bridge.ports.policy import Policy
from bridge.post import PostKind
from bridge.proposed import WIDENING, widening_proposed
from bridge.regime import Regime
from bridge.views import FileState

Copy = Mapping[str, Any]
"""What agents must not widen, as JSON: only who makes it reads it."""

_FILE = Caller(SYSTEM, Origin.SYSTEM, person="tieline.toml")


class Charter:
    """The last copy that holds is in the store, and with it the difference that an operator has refused: nobody is
    asked about that again until it has been gone. `accepted` is told of a copy once an operator has accepted it."""

    def __init__(self, ledger: Ledger, governance: Governance, proposals: Proposals) -> None:
        self._ledger = ledger
        self._governance = governance
        self._proposals = proposals
        self._broken_at: float | None = None
        self._state = FileState.HOLDS
        self.accepted: Callable[[Copy], None] = lambda copy: None
        proposals.register(Subject.RULES, Effects(self._accept, refuse=self._refuse))

    @property
    def file(self) -> FileState:
        return self._state if self._broken_at is None else FileState.BROKEN

    def places(self) -> Sequence[Place]:
        """Where operators are asked. None where there is nobody to ask."""
        return self._proposals.places()

    async def granted(self) -> frozenset[str]:
        """The selectors by which the grants that hold name sessions."""
        return selectors_of(await self._ledger.store.live_grants(self._ledger.clock.now()))

    def govern(self, policy: Policy) -> None:
        """Decides by these rules from the next decision on."""
        self._governance.adopt(policy)

    async def hold(self, copy: Copy, *, unasked: int = 0, anyway: bool = False) -> None:
        """The copy holds. What an earlier file wanted beyond it is wanted no more. `unasked` is how much of it is wider
        and nobody could be asked about. Nothing is recorded where it held before, but with `anyway`."""

        async def body(work: Work) -> None:
            regime = await work.regime()
            waiting = await self._proposals.withdraw(work, Subject.RULES, WIDENING)
            if regime.accepted == _kept(copy) and not waiting and not anyway:
                return
            work.put_regime(replace(regime, accepted=_kept(copy)))
            if regime.accepted is not None:
                work.act(ActKind.RELOADED, _FILE, regime.id, unasked=unasked or None)

        await self._ledger.do(body)
        self._state = FileState.HOLDS

    async def restrict(self, copy: Copy, lines: Sequence[str]) -> bool:
        """What was accepted holds on, and operators are asked for the copy. False where they have refused the same
        already, or there is nobody to ask."""

        async def body(work: Work) -> bool:
            # Put as it is: whatever is admitted meanwhile by earlier rules is planned anew.
            regime = await work.regime()
            work.put_regime(regime)
            work.act(ActKind.RELOADED, _FILE, regime.id, waits=len(lines))
            if _refused(regime) != _digest(lines):
                return True
            await self._proposals.withdraw(work, Subject.RULES, WIDENING)
            return False

        fresh = await self._ledger.do(body)
        self._state = FileState.WAITS if fresh else FileState.REFUSED
        if not fresh or not self.places():
            return False
        content = {"copy": copy, "lines": list(lines)}
        text = widening_proposed(lines)
        await self._proposals.propose(_FILE, Subject.RULES, WIDENING, content, text, None)
        return True

    async def broken(self, problems: str) -> None:
        """The file cannot be read. Operators are told in one post, however often it is tried."""
        since = self._broken_at or self._ledger.clock.now()
        await self._tell(since, wording.file_broken(problems))
        self._broken_at = since

    async def mended(self) -> None:
        if self._broken_at is not None:
            await self._tell(self._broken_at, wording.FILE_MENDED)
            self._broken_at = None

    async def _tell(self, since: float, text: str) -> None:
        async def body(work: Work) -> None:
            for place in self.places():
                await show(work, f"file:{since}:{place}", place, PostKind.NOTICE, text)

        await self._ledger.do(body)

    async def _accept(self, work: Work, by: Caller, content: Mapping[str, Any]) -> None:
        copy = content["copy"]
        work.put_regime(replace(await work.regime(), accepted=_kept(copy)))

        def hold() -> None:
            self._state = FileState.HOLDS
            self.accepted(copy)

        work.then(hold)

    async def _refuse(self, work: Work, by: Caller, content: Mapping[str, Any]) -> None:
        regime = await work.regime()
        copy = accepted_copy(regime)
        if copy is not None:
            work.put_regime(replace(regime, accepted=_kept(copy, refused=_digest(content["lines"]))))

        def refuse() -> None:
            self._state = FileState.REFUSED

        work.then(refuse)


def selectors_of(grants: Iterable[Grant]) -> frozenset[str]:
    return frozenset(each for grant in grants for each in (grant.sender, grant.recipient))


def accepted_copy(regime: Regime) -> Copy | None:
    """The copy that holds. None before the first start."""
    kept: Copy | None = json.loads(regime.accepted)["copy"] if regime.accepted is not None else None
    return kept


def _refused(regime: Regime) -> str | None:
    refused: str | None = json.loads(regime.accepted)["refused"] if regime.accepted is not None else None
    return refused


def _kept(copy: Copy, refused: str | None = None) -> str:
    return json.dumps({"copy": copy, "refused": refused})


def _digest(lines: Sequence[str]) -> str:
    return sha256("\n".join(lines).encode()).hexdigest()
