"""Admission: gathers the facts for the pure pipeline, and stores what it decides in one transaction."""

from dataclasses import replace

from bridge import wording
from bridge.admission import PERSON_RULE, Facts, admit, digest, may_send, shape, verbs_of
from bridge.caller import Caller
from bridge.conversation import Conversation
from bridge.decision import Decision, Effect, Verb, Verdict, party
from bridge.errors import Code, Refused
from bridge.flow.causes import causes_of, mark_begun, place_for, replied_to
from bridge.flow.ledger import Ledger, Work
from bridge.ids import ConversationId, MessageId, Place, SessionId, address, profile_of
from bridge.loops import Standing, stand
from bridge.message import Intent, Message, Origin, State
from bridge.ports.policy import Policy
from bridge.ports.store import InboxRoom, Key, OpenRequests
from bridge.post import Button, PostKind
from bridge.request import Request
from bridge.session import Session
from bridge.trace import StepKind
from bridge.views import Receipt, Send

_TELLS_PEOPLE = frozenset({Code.DEPTH_LIMIT, Code.VISIT_LIMIT, Code.CONVERSATION_BUDGET, Code.RATE_LIMITED})


class Admission:
    """The one way into the store for what one session sends another (invariant 6)."""

    def __init__(self, ledger: Ledger, policy: Policy) -> None:
        self._ledger = ledger
        self._policy = policy

    async def send(self, caller: Caller, send: Send, *, circle: bool = False) -> Receipt:
        """Admits and stores a message. `circle` says that to wait for its answer would close a circle of waits.

        Raises `Refused`; the decision is stored all the same.
        """

        async def body(work: Work) -> Receipt | Refused:
            return await self._admit(work, caller, send, circle)

        outcome = await self._ledger.do(body)
        if isinstance(outcome, Refused):
            raise outcome
        return outcome

    async def _admit(self, work: Work, caller: Caller, send: Send, circle: bool) -> Receipt | Refused:
        sender = await work.session(caller.session)
        if sender is None:
            return Refused(Code.UNKNOWN_SESSION, "the sending session does not exist")
        if refused := shape(send, work.limits) or may_send(sender):
            return _refused_early(work, caller, send, refused)
        to = address(send.to.strip(), profile_of(sender.id))
        if send.key is not None and (earlier := await self._earlier(work, sender.id, send, to)):
            return _refused_early(work, caller, send, earlier) if isinstance(earlier, Refused) else earlier
        recipient = await work.session(to) if to else None
        turn = await work.turn(caller.turn) if caller.turn else None
        causes = await causes_of(work, caller, turn)
        parent = await replied_to(work, caller, send.in_reply_to)
        if isinstance(parent, Refused):
            return _refused_early(work, caller, send, parent)
        standing = stand(sender.id, causes, parent)
        conversation = await work.conversation(standing.conversation) if standing.conversation else None
        origin = self._origin(caller, sender, recipient, await self._places(recipient))
        acting = replace(caller, origin=origin)
        other = recipient.id if recipient else sender.id
        pair = await work.pair(sender.id, other)
        facts = Facts(
            sender=sender,
            recipient=recipient,
            visible=recipient is not None and self._visible(acting, sender, recipient),
            decisions=self._decisions(acting, sender, recipient, send),
            standing=standing,
            conversation=conversation,
            pair=pair,
            inbox=await work.store.inbox_size(recipient.id) if recipient else 0,
            open_requests=len(await work.store.open_requests_of(sender.id)),
            circle=circle,
            now=work.now,
        )
        decision = admit(acting, send, facts, work.limits)
        place = await place_for(work, caller, turn)
        if isinstance(decision, Refused):
            work.put(pair.after_one_more(work.now, work.limits)) if decision.code is Code.RATE_LIMITED else None
            await self._refuse(work, acting, send, facts, decision, place)
            return decision
        assert recipient is not None
        if turn is not None:
            await mark_begun(work, turn)
        acts_for = turn.acts_for if turn else None
        return await self._store(work, acting, send, facts, recipient, decision, place, acts_for)

    # Facts

    async def _earlier(
        self, work: Work, sender: SessionId, send: Send, to: SessionId | None
    ) -> Receipt | Refused | None:
        key = await work.store.key(sender, send.key or "")
        if key is None:
            return None
        message = await work.message(key.message)
        if message is None or key.body != digest(send, to):
            return Refused(
                Code.INVALID_REQUEST,
                f"the key {send.key!r} stands for another message already",
                remedy="Use a new key for a new message.",
            )
        return await self._receipt(work, message, duplicate=True)

    async def _places(self, recipient: Session | None) -> list[Place]:
        if recipient is None:
            return []
        return [binding.place for binding in await self._ledger.store.places(recipient.id)]

    def _origin(self, caller: Caller, sender: Session, recipient: Session | None, places: list[Place]) -> Origin:
        """A person keeps the origin `user` where that person may talk at the recipient's place too; else the
        message is the session's own, as `peer` (DESIGN §3, Visibility)."""
        if caller.origin is not Origin.USER or recipient is None:
            return caller.origin
        if profile_of(recipient.id) != profile_of(sender.id):
            return Origin.PEER
        if caller.operator:
            return Origin.USER
        for place in places:
            chat = self._ledger.chat_of(place)
            if chat is not None and caller.person is not None and chat.may_talk(caller.person, place):
                return Origin.USER
        return Origin.PEER

    def _visible(self, caller: Caller, sender: Session, recipient: Session) -> bool:
        own = profile_of(recipient.id) == profile_of(sender.id)
        if recipient.id == sender.id or caller.origin is Origin.USER or (caller.person is not None and own):
            return True
        return recipient.id in self._policy.visible(party(sender), [party(recipient)])

    def _decisions(
        self, caller: Caller, sender: Session, recipient: Session | None, send: Send
    ) -> dict[Verb, Decision]:
        if recipient is None:
            return {}
        one, other = party(sender), party(recipient)
        if caller.origin is Origin.USER:
            by_person = Decision(Effect.ALLOW, PERSON_RULE, "a person who may talk at the recipient's place")
            return {verb: self._policy.denied(one, other, verb) or by_person for verb in verbs_of(send)}
        return {verb: self._policy.decide(one, other, verb) for verb in verbs_of(send)}

    # Outcomes

    async def _refuse(
        self, work: Work, caller: Caller, send: Send, facts: Facts, refused: Refused, place: Place | None
    ) -> None:
        ident = _record_refusal(work, caller, send, facts.standing, refused)
        # The same request, tried again under its key, is shown in the same post.
        shown = f"refused:{facts.sender.id}:{send.key or ident}"
        line = wording.sent_line(send.to[:200], send.text, wording.refused_status(refused))
        await work.show(shown, place, PostKind.HANDOFF, line)
        conversation = facts.conversation
        if refused.code in _TELLS_PEOPLE and conversation is not None and not conversation.told:
            work.put(replace(conversation, told=True))
            await work.show(
                f"limit:{conversation.id}:{conversation.budget}",
                conversation.place,
                PostKind.NOTICE,
                wording.limit_notice(refused, facts.sender.id, send.to[:200]),
                buttons=(Button(f"Go on (+{work.limits.conversation_messages})", f"more:{conversation.id}"),),
            )

    async def _store(
        self,
        work: Work,
        caller: Caller,
        send: Send,
        facts: Facts,
        recipient: Session,
        decision: Decision,
        place: Place | None,
        acts_for: MessageId | None,
    ) -> Receipt:
        sender, standing, now = facts.sender, facts.standing, work.now
        ident = MessageId(work.new_id())
        conversation = facts.conversation or Conversation(
            id=standing.conversation or ConversationId(work.new_id()),
            first=sender.id,
            place=place,
            budget=work.limits.conversation_messages,
        )
        by_command = caller.origin is Origin.USER or caller.person is not None
        message = Message(
            id=ident,
            sender=sender.id,
            recipient=recipient.id,
            intent=send.intent,
            text=send.text,
            origin=caller.origin,
            wake=send.wake,
            conversation=conversation.id,
            accepted_at=now,
            queued_at=now,
            due_at=now,
            expires_at=now + (send.ttl_s or work.limits.message_life_s),
            in_reply_to=MessageId(send.in_reply_to) if send.in_reply_to else None,
            cause=standing.cause,
            depth=standing.depth,
            path=standing.path,
            place=place,
            person=caller.person,
            by_command=by_command,
        )
        work.put(message)
        work.put(replace(conversation, messages=conversation.messages + 1))
        if caller.origin is not Origin.USER:
            work.put(facts.pair.after_one_more(now, work.limits))
        work.check(InboxRoom(recipient.id, work.limits.inbox))
        if send.intent is Intent.REQUEST:
            work.check(OpenRequests(sender.id, work.limits.open_requests))
            work.put(
                Request(
                    id=ident,
                    asker=sender.id,
                    asked=recipient.id,
                    opened_at=now,
                    expires_at=message.expires_at,
                    parent=acts_for,
                    place=place,
                    by_command=by_command,
                )
            )
        if send.key is not None:
            work.key(Key(sender.id, send.key, digest(send, recipient.id), ident))
        self._record(work, caller, send, message, decision)
        receipt = await self._receipt(work, message, duplicate=False)
        await self._show(work, message, receipt)
        work.then(lambda: work.wake.mail(recipient.id))
        if message.wake:
            work.then(lambda: work.wake.lane(recipient.id))
        work.then(lambda: work.wake.at(message.expires_at))
        return receipt

    def _record(self, work: Work, caller: Caller, send: Send, message: Message, decision: Decision) -> None:
        verbs = tuple(verb.value for verb in verbs_of(send))
        work.verdict(
            Verdict(
                id=work.new_id(),
                at=work.now,
                sender=message.sender,
                recipient=message.recipient,
                origin=caller.origin,
                verbs=verbs,
                effect=decision.effect,
                rule=decision.rule,
                reason=decision.reason,
                message=message.id,
                cause=message.cause,
                conversation=message.conversation,
                person=caller.person,
            )
        )
        work.step(
            StepKind.DECISION,
            message,
            message.sender,
            effect=decision.effect.value,
            rule=decision.rule,
            reason=decision.reason,
            verbs=list(verbs),
        )
        work.step(
            StepKind.ACCEPTED,
            message,
            message.sender,
            sender=message.sender,
            to=message.recipient,
            intent=message.intent.value,
            origin=message.origin.value,
            wake=message.wake,
            depth=message.depth,
        )

    async def _receipt(self, work: Work, message: Message, *, duplicate: bool) -> Receipt:
        position = 0
        if message.wake and message.state is State.QUEUED:
            position = 1 + sum(
                (not one.from_person, one.queued_at, one.id) < (not message.from_person, message.queued_at, message.id)
                for one in await work.store.queue(message.recipient)
                if one.wake and one.id != message.id
            )
        return Receipt(
            message_id=message.id,
            conversation_id=message.conversation,
            to=message.recipient,
            state=message.state,
            position=position,
            wake=message.wake,
            duplicate=duplicate,
            depth=message.depth,
        )

    async def _show(self, work: Work, message: Message, receipt: Receipt) -> None:
        """Both places show a handoff. The first revision is soon followed by another where it wakes its
        recipient at once; the outbox sends the newest one only."""
        busy = await work.store.live_turn(message.recipient) is not None
        status = wording.queued_status(receipt.position, wake=message.wake, busy=busy)
        line = wording.sent_line(message.recipient, message.text, status)
        await work.show(f"handoff:{message.id}:from", message.place, PostKind.HANDOFF, line, message=message.id)
        for binding in await work.store.places(message.recipient):
            if work.ledger.chat_of(binding.place) is not None:
                await work.show(
                    f"handoff:{message.id}:to",
                    binding.place,
                    PostKind.HANDOFF,
                    wording.received_line(message, status),
                    message=message.id,
                )
                break


_NOWHERE = Standing(None, 0, (), None)


def _refused_early(work: Work, caller: Caller, send: Send, refused: Refused) -> Refused:
    """Before it is known where the request stands."""
    _record_refusal(work, caller, send, _NOWHERE, refused)
    return refused


def _record_refusal(work: Work, caller: Caller, send: Send, standing: Standing, refused: Refused) -> str:
    """Stores the decision and traces it. Returns the id of the decision."""
    verdict = Verdict(
        id=work.new_id(),
        at=work.now,
        sender=caller.session,
        recipient=send.to[:200].encode("utf-8", "replace").decode(),
        origin=caller.origin,
        verbs=tuple(verb.value for verb in verbs_of(send)),
        effect=Effect.DENY,
        rule=refused.rule or refused.code.value,
        reason=refused.reason,
        code=refused.code,
        cause=standing.cause,
        conversation=standing.conversation,
        person=caller.person,
    )
    work.verdict(verdict)
    work.refused_step(
        caller.session,
        standing.conversation,
        standing.cause,
        effect=Effect.DENY.value,
        code=refused.code.value,
        rule=verdict.rule,
        reason=refused.reason,
        to=verdict.recipient,
        depth=standing.depth,
    )
    return verdict.id
