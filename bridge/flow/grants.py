"""Grants: what people allow and forbid while the bridge runs, and take back (DESIGN §4)."""

from collections.abc import Sequence

from bridge.audit import ActKind
from bridge.caller import Caller
from bridge.decision import Effect, Verb
from bridge.errors import Code, Refused
from bridge.flow.ledger import Ledger
from bridge.flow.work import Work
from bridge.grant import Grant, GrantId, Scope
from bridge.ids import ConversationId

_END_CHARS = 8
"""As much of an id, from its end, tells it from others in all likelihood."""


class Grants:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def every(self) -> list[Grant]:
        """Those that hold, by id."""
        return await self._ledger.store.live_grants(self._ledger.clock.now())

    async def give(
        self,
        by: Caller,
        sender: str,
        recipient: str,
        verbs: Sequence[Verb],
        scope: Scope,
        *,
        effect: Effect = Effect.ALLOW,
        conversation: ConversationId | None = None,
        life_s: float | None = None,
    ) -> Grant:
        """Live from its commit on, also for turns that run."""
        return await self._ledger.do(
            lambda work: give(work, by, sender, recipient, verbs, scope, conversation, effect=effect, life_s=life_s)
        )

    async def find(self, ident: str) -> Grant:
        """One that holds, by its id or by the end of it, for ids begin alike. Raises `invalid_request` where there is
        none, or several end so."""
        every = await self.every()
        end = ident.strip().lower()
        found = [one for one in every if one.id == end]
        if not found and len(end) >= _END_CHARS:
            found = [one for one in every if one.id.endswith(end)]
        if not found:
            raise _unknown(ident)
        if len(found) > 1:
            remedy = f"Give more of the one that you mean: {', '.join(one.id for one in found[:5])}"
            raise Refused(Code.INVALID_REQUEST, f"the ids of {len(found)} grants end in {ident[:60]}", remedy=remedy)
        return found[0]

    async def revoke(self, by: Caller, ident: GrantId) -> Grant:
        return await self._ledger.do(lambda work: revoke(work, by, ident))


async def holding(work: Work, ident: GrantId) -> Grant:
    """Raises `invalid_request` for one that is not known or does not hold any more."""
    grant = await work.store.grant(ident)
    if grant is None or not grant.live(work.now):
        raise _unknown(ident)
    return grant


async def revoke(work: Work, by: Caller, ident: GrantId) -> Grant:
    """Takes a grant back in the change of `work`. Raises as `holding` does."""
    grant = await holding(work, ident)
    revoked = grant.revoked(work.now, by.name)
    work.put(revoked)
    work.put_regime(await work.regime())
    work.act(ActKind.REVOKED, by, grant.id, sender=grant.sender, to=grant.recipient)
    return revoked


def _unknown(ident: str) -> Refused:
    remedy = f"See those that hold: tieline policy list, or /policy; the last {_END_CHARS} characters of an id will do."
    return Refused(Code.INVALID_REQUEST, f"no grant {ident[:60]} holds", remedy=remedy)


async def give(
    work: Work,
    by: Caller,
    sender: str,
    recipient: str,
    verbs: Sequence[Verb],
    scope: Scope,
    conversation: ConversationId | None = None,
    *,
    effect: Effect = Effect.ALLOW,
    life_s: float | None = None,
) -> Grant:
    """Gives a grant in the change of `work`."""
    grant = Grant(
        id=GrantId(work.new_id()),
        sender=sender,
        recipient=recipient,
        verbs=tuple(dict.fromkeys(verbs)),
        effect=effect,
        scope=scope,
        by=by.name,
        via=by.place or by.session,
        given_at=work.now,
        expires_at=work.now + life_s if life_s is not None else None,
        conversation=conversation,
    )
    work.put(grant)
    work.put_regime(await work.regime())
    work.act(
        ActKind.GRANTED,
        by,
        grant.id,
        sender=sender,
        to=recipient,
        verbs=list(grant.verbs),
        effect=effect.value,
        scope=scope.value,
        expires_at=grant.expires_at,
    )
    return grant
