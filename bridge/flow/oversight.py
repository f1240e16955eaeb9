"""Oversight: what people decide about agents, from a shell or a place (DESIGN §4, §7)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bridge import phrases
from bridge.approval import Subject
from bridge.audit import Act
from bridge.caller import Caller
from bridge.decision import Effect, Verb, Verdict
from bridge.errors import Code, Refused
from bridge.flow.approvals import Approvals, Decided
from bridge.flow.attempts import record_attempt
from bridge.flow.directory import Directory
from bridge.flow.grants import Grants, give, holding, revoke
from bridge.flow.ledger import Ledger
from bridge.flow.permissions import Permissions
from bridge.flow.proposals import Effects, Proposals
from bridge.flow.switch import Switch
from bridge.flow.work import Work
from bridge.grant import Grant, Scope
from bridge.ids import ConversationId, address
from bridge.message import Message, Origin
from bridge.proposed import grant_proposed, revoke_proposed
from bridge.session import Session
from bridge.views import DecidedView, DecisionView, GrantView, HeldView, PermissionsView, RegimeView


class Oversight:
    """Every method raises `not_permitted` for whoever is no person or no operator, and records that one has tried."""

    def __init__(
        self,
        ledger: Ledger,
        approvals: Approvals,
        grants: Grants,
        proposals: Proposals,
        directory: Directory,
        permissions: Permissions,
        switch: Switch,
    ) -> None:
        self._ledger = ledger
        self._approvals = approvals
        self._grants = grants
        self._proposals = proposals
        self._directory = directory
        self._permissions = permissions
        self._switch = switch
        proposals.register(Subject.GRANT, Effects(_apply, check=_check))

    # Approvals

    async def approvals(self, caller: Caller) -> list[HeldView]:
        await self._person(caller, "approvals")
        return [_held(message, await self._approvals.wanted(message)) for message in await self._approvals.waiting()]

    async def approve(self, caller: Caller, message_id: str, scope: Scope) -> DecidedView:
        await self._person(caller, f"approve {message_id[:60]}")
        if self._proposals.must_wait(caller):
            return _decided(await self._approvals.wish(caller, message_id, scope))
        return _decided(await self._approvals.approve(caller, message_id, scope))

    async def deny(self, caller: Caller, message_id: str) -> DecidedView:
        await self._person(caller, f"deny {message_id[:60]}")
        return _decided(await self._approvals.deny(caller, message_id))

    # Grants

    async def grants(self, caller: Caller) -> list[GrantView]:
        await self._person(caller, "grants")
        return [self._granted(grant) for grant in await self._grants.every()]

    async def grant(
        self,
        caller: Caller,
        sender: str,
        recipient: str,
        verbs: Sequence[Verb],
        scope: Scope,
        *,
        effect: Effect = Effect.ALLOW,
        conversation: str | None = None,
        life_s: float | None = None,
    ) -> GrantView:
        """Raises `invalid_request` for sessions that are none or one, where the scope takes two of them."""
        await self._person(caller, f"{effect} {sender[:80]} {recipient[:80]}")
        if (conversation is not None) != (scope is Scope.CONVERSATION):
            raise Refused(Code.INVALID_REQUEST, "a conversation goes with the scope conversation, and with no other")
        if life_s is not None and not life_s > 0:
            raise Refused(
                Code.INVALID_REQUEST,
                "a grant holds for more than no time",
                remedy="Leave the time out, and take it back later.",
            )
        if (effect, scope) == (Effect.DENY, Scope.ONCE):
            raise Refused(
                Code.INVALID_REQUEST,
                "nothing would use up a deny for once",
                remedy="Deny the message that waits (tieline approvals), or the pair for a time: --for 1h.",
            )
        denied: Mapping[Verb, str] = {}
        if scope is not Scope.ALWAYS:
            one, other = [await self._named(name) for name in (sender, recipient)]
            sender, recipient = one.id, other.id
            if sender == recipient:
                remedy = "Name two sessions: a session sends nothing to itself."
                raise Refused(Code.INVALID_REQUEST, f"{sender} stands on both sides", remedy=remedy)
            if effect is Effect.ALLOW:
                denied = await self._permissions.denied(one, other, verbs)
        denied_by = tuple(dict.fromkeys(denied.values()))
        content = {
            "sender": sender,
            "recipient": recipient,
            "verbs": [verb.value for verb in verbs],
            "scope": scope.value,
            "effect": effect.value,
            "conversation": conversation,
            "life_s": life_s,
        }
        if effect is Effect.ALLOW and self._proposals.must_wait(caller):
            text = grant_proposed(sender, recipient, verbs, scope, life_s, caller.name)
            about = f"allow {sender} → {recipient}: {', '.join(verbs)} ({scope})"
            approval = await self._proposals.propose(
                caller, Subject.GRANT, about, content, text, self._ledger.limits.held_life_s
            )
            return GrantView(
                id=approval.id,
                sender=sender,
                recipient=recipient,
                verbs=tuple(verbs),
                effect=effect,
                scope=scope,
                conversation_id=conversation,
                by=approval.by,
                via=caller.session,
                given_at=approval.opened_at,
                expires_at=None,
                waits_for=self._proposals.asked_at(),
                denied=tuple(denied),
                denied_by=denied_by,
            )
        given = await self._ledger.do(lambda work: _give(work, caller, content))
        return replace(self._granted(given), denied=tuple(denied), denied_by=denied_by)

    async def revoke(self, caller: Caller, ident: str) -> GrantView:
        """Taking back what was forbidden widens, and is proposed where a grant would be."""
        await self._person(caller, f"revoke {ident[:60]}")
        grant = await self._grants.find(ident)
        if grant.effect is Effect.DENY and self._proposals.must_wait(caller):
            about, text = revoke_proposed(grant, caller.name, given_by=self._ledger.named(grant.by))
            life_s = self._ledger.limits.held_life_s
            await self._proposals.propose(caller, Subject.GRANT, about, {"revoke": grant.id}, text, life_s)
            return replace(self._granted(grant), waits_for=self._proposals.asked_at())
        return self._granted(await self._grants.revoke(caller, grant.id))

    # What holds

    async def decision(self, caller: Caller, sender: str, recipient: str, verb: Verb) -> DecisionView:
        """What is said of two sessions now, by rules that hold and by what was granted."""
        await self._person(caller, f"explain {sender[:80]} {recipient[:80]}")
        one, other = [await self._named(name) for name in (sender, recipient)]
        return await self._permissions.decision(one, other, verb)

    async def permissions(self, caller: Caller, session: Session) -> PermissionsView:
        await self._person(caller, f"permissions of {session.id}")
        return await self._permissions.of(session)

    # The switch

    async def pause(self, caller: Caller) -> RegimeView:
        """Stops all traffic between agents: what comes is kept, and waits."""
        await self._person(caller, "pause")
        return await self._switch.pause(caller)

    async def resume(self, caller: Caller) -> RegimeView:
        await self._person(caller, "resume")
        return await self._switch.resume(caller)

    # The audit

    async def audit(self, caller: Caller, before: str | None, limit: int) -> tuple[list[Verdict | Act], str | None]:
        """What was decided and done, the newest first, and where the next page begins if there is one."""
        await self._person(caller, "audit")
        limit = max(1, min(limit, 500))
        store = self._ledger.store
        every: list[Verdict | Act] = [
            *await store.recent_verdicts(before, limit + 1),
            *await store.recent_acts(before, limit + 1),
        ]
        newest = sorted(every, key=lambda record: record.id, reverse=True)
        page = newest[:limit]
        return page, page[-1].id if len(newest) > limit else None

    async def _person(self, caller: Caller, what: str) -> None:
        if caller.origin is Origin.USER and caller.operator:
            return
        who = "only an operator may do this" if caller.origin is Origin.USER else "only a person may do this"
        refused = Refused(Code.NOT_PERMITTED, who, remedy="Type it in a terminal of your own, or ask an operator.")
        await record_attempt(self._ledger, caller, what, refused)
        raise refused

    async def _named(self, name: str) -> Session:
        ident = address(name.strip(), self._directory.profile)
        session = await self._ledger.store.session(ident) if ident else None
        if session is None:
            raise Refused(
                Code.INVALID_REQUEST,
                f"{name[:80]!r} names no session",
                remedy="Name two sessions (see: tieline sessions), or use selectors with --scope always.",
            )
        return session

    def _granted(self, grant: Grant) -> GrantView:
        return GrantView(
            id=grant.id,
            sender=grant.sender,
            recipient=grant.recipient,
            verbs=grant.verbs,
            effect=grant.effect,
            scope=grant.scope,
            conversation_id=grant.conversation,
            by=grant.by,
            by_name=self._ledger.named(grant.by),
            via=grant.via,
            given_at=grant.given_at,
            expires_at=grant.expires_at,
        )


async def _give(work: Work, by: Caller, content: Mapping[str, Any]) -> Grant:
    talk = content["conversation"]
    return await give(
        work,
        by,
        content["sender"],
        content["recipient"],
        [Verb(verb) for verb in content["verbs"]],
        Scope(content["scope"]),
        ConversationId(talk) if talk is not None else None,
        effect=Effect(content["effect"]),
        life_s=content["life_s"],
    )


async def _check(work: Work, content: Mapping[str, Any]) -> None:
    if "revoke" in content:
        await holding(work, content["revoke"])


async def _apply(work: Work, by: Caller, content: Mapping[str, Any]) -> None:
    if "revoke" in content:
        await revoke(work, by, content["revoke"])
    else:
        await _give(work, by, content)


def _held(message: Message, verbs: tuple[Verb, ...]) -> HeldView:
    return HeldView(
        message_id=message.id,
        sender=message.sender,
        to=message.recipient,
        verbs=verbs,
        text=phrases.with_attachments(message.text, message.attachments),
        depth=message.depth,
        conversation_id=message.conversation,
        expires_at=message.expires_at,
    )


def _decided(decided: Decided) -> DecidedView:
    message = decided.message
    waits_for = (decided.waits_at,) if decided.waits_at else ()
    return DecidedView(message.id, message.state, message.outcome, decided.said, waits_for)
