"""Two policies at once, where what both permit is permitted."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from bridge.decision import Circumstances, Decision, Effect, Party, Verb
from bridge.grant import Grant
from policy.decide import Rules

_RANK = {Effect.DENY: 0, Effect.ASK: 1, Effect.ALLOW: 2}


class Stricter:
    """An implementation of `bridge.ports.policy.Policy`. Of two decisions the stricter one holds, deny before ask
    before allow. `because` is added to the reason where `one` is stricter than `other`."""

    def __init__(self, one: "Rules | Stricter", other: "Rules | Stricter", *, because: str = "") -> None:
        self._one = one
        self._other = other
        self._because = because

    def granted(self, grants: Sequence[Grant]) -> "Stricter":
        return Stricter(self._one.granted(grants), self._other.granted(grants), because=self._because)

    def decide(self, sender: Party, recipient: Party, verb: Verb, context: Circumstances) -> Decision:
        one = self._one.decide(sender, recipient, verb, context)
        other = self._other.decide(sender, recipient, verb, context)
        if _RANK[one.effect] < _RANK[other.effect]:
            return replace(one, reason=f"{one.reason}; {self._because}") if self._because else one
        if _RANK[other.effect] < _RANK[one.effect]:
            return other
        # A grant that one of them needs must be used up, though the other does without.
        return other if one.grant is None else one

    def denied(self, sender: Party, recipient: Party, verb: Verb, context: Circumstances) -> Decision | None:
        return self._one.denied(sender, recipient, verb, context) or self._other.denied(
            sender, recipient, verb, context
        )

    def visible(self, viewer: Party, others: Sequence[Party], now: float) -> Collection[str]:
        return {*self._one.visible(viewer, others, now)} & {*self._other.visible(viewer, others, now)}
