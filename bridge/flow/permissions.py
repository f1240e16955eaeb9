"""What the policy in force says of the sessions, for people who ask (DESIGN §4)."""

from collections.abc import Iterable, Mapping

from bridge.decision import Circumstances, Effect, Party, Verb, party
from bridge.flow.governance import Governance
from bridge.flow.kin import line_of
from bridge.flow.ledger import Ledger
from bridge.grant import HANDING_WORK
from bridge.ids import SessionId, profile_of
from bridge.lineage import decided
from bridge.ports.policy import Policy
from bridge.session import Session
from bridge.views import DecisionView, PermissionsView, Reach

_PEERS = 200
"""Of so many sessions a person is told at most: each costs some decisions."""


class Permissions:
    def __init__(self, ledger: Ledger, governance: Governance) -> None:
        self._ledger = ledger
        self._governance = governance

    async def decision(self, sender: Session, recipient: Session, verb: Verb) -> DecisionView:
        """What a new conversation would be told, whoever asks."""
        line, other = [await line_of(self._ledger.store.session, one) for one in (sender, recipient)]
        decision = decided(await self._policy(), line, other, verb, self._now())
        places = await self._ledger.store.places(other[-1].id)
        return DecisionView(
            sender=sender.id,
            recipient=recipient.id,
            verb=verb,
            effect=decision.effect,
            rule=decision.rule,
            reason=decision.reason,
            attended=any(self._ledger.attended(one.place) for one in places),
        )

    async def denied(self, sender: Session, recipient: Session, verbs: Iterable[Verb]) -> Mapping[Verb, str]:
        """What of it is denied, and by which rule or grant."""
        policy, now = await self._policy(), self._now()
        said = {verb: policy.denied(party(sender), party(recipient), verb, now) for verb in verbs}
        return {verb: one.rule for verb, one in said.items() if one is not None}

    async def of(self, session: Session) -> PermissionsView:
        """Of the profile's open sessions, but children."""
        policy, now = await self._policy(), self._now()
        here = party(session)
        every = [
            party(one)
            for one in await self._ledger.store.sessions()
            if one.closed_at is None
            and one.parent is None
            and one.id != session.id
            and profile_of(one.id) == profile_of(session.id)
        ]
        seen = policy.visible(here, every, now.now)
        peers = [one for one in every if one.id in seen]
        looked_at = peers[:_PEERS]
        return PermissionsView(
            may=_grouped((one.id, *_permitted(policy, here, one, now)) for one in looked_at),
            others_may=_grouped((one.id, *_permitted(policy, one, here, now)) for one in looked_at),
            more=len(peers) - len(looked_at),
        )

    async def _policy(self) -> Policy:
        return await self._governance.policy(await self._ledger.regime())

    def _now(self) -> Circumstances:
        return Circumstances(self._ledger.clock.now(), None)


_Verbs = tuple[Verb, ...]


def _permitted(policy: Policy, sender: Party, recipient: Party, now: Circumstances) -> tuple[_Verbs, _Verbs]:
    """What is allowed, and what is asked about."""
    said = {verb: policy.decide(sender, recipient, verb, now).effect for verb in HANDING_WORK}
    allowed, asked = (tuple(verb for verb in said if said[verb] is effect) for effect in (Effect.ALLOW, Effect.ASK))
    return allowed, asked


def _grouped(told: Iterable[tuple[SessionId, _Verbs, _Verbs]]) -> tuple[Reach, ...]:
    alike: dict[tuple[_Verbs, _Verbs], list[SessionId]] = {}
    for ident, allowed, asked in told:
        if allowed or asked:
            alike.setdefault((allowed, asked), []).append(ident)
    return tuple(Reach(tuple(idents), *verbs) for verbs, idents in alike.items())
