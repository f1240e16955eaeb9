"""Governance: the policy in force, which is the operator's rules with what people have granted since."""

from collections.abc import Sequence

from bridge.flow.ledger import Ledger
from bridge.grant import Grant
from bridge.ports.policy import Policy
from bridge.regime import Regime


class Governance:
    def __init__(self, ledger: Ledger, rules: Policy) -> None:
        self._ledger = ledger
        self._rules = rules
        self._made: tuple[int, Policy] | None = None

    def adopt(self, rules: Policy) -> None:
        """The operator's file says something else from now on. Grants stay."""
        self._rules = rules
        self._made = None

    async def policy(self, regime: Regime, *, also: Sequence[Grant] = ()) -> Policy:
        """Made anew once grants have changed. With a regime that a change is planned on, so is what it decides. `also`
        are grants that this very change gives."""
        if also:
            grants = await self._ledger.store.live_grants(self._ledger.clock.now())
            return self._rules.granted([*grants, *also])
        made = self._made
        if made is None or made[0] != regime.version:
            grants = await self._ledger.store.live_grants(self._ledger.clock.now())
            made = self._made = regime.version, self._rules.granted(grants)
        return made[1]
