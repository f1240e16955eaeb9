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

    async def revoke(self, by: Caller, ident: str) -> Grant:
        """Raises `invalid_request` for one that is not known or does not hold any more."""

        async def body(work: Work) -> Grant:
            grant = await work.store.grant(GrantId(ident))
            if grant is None or not grant.live(work.now):
                remedy = "See those that hold: tieline policy list, or /policy."
                raise Refused(Code.INVALID_REQUEST, f"no grant {ident[:60]} holds", remedy=remedy)
            revoked = grant.revoked(work.now, by.name)
            work.put(revoked)
            work.put_regime(await work.regime())
            work.act(ActKind.REVOKED, by, grant.id, sender=grant.sender, to=grant.recipient)
            return revoked

        return await self._ledger.do(body)


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
