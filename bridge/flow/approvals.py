"""Approvals: what operators decide, once, from whichever surface (DESIGN §4)."""

from dataclasses import dataclass, replace

from bridge import wording
from bridge.admission import Facts, confirm, inbox_room
from bridge.audit import ActKind
from bridge.caller import Caller
from bridge.conversation import Pair, pair_of
from bridge.decision import Circumstances, Decision, Effect, Verb, Verdict
from bridge.errors import Code, Refused
from bridge.flow.acceptance import enter, put_off
from bridge.flow.causes import unknown_message
from bridge.flow.closing import drop_unborn
from bridge.flow.dispatch import Dispatch
from bridge.flow.governance import Governance
from bridge.flow.grants import give
from bridge.flow.holding import let_go, of_pair, wanted, wished
from bridge.flow.kin import line_of
from bridge.flow.ledger import Ledger
from bridge.flow.settlement import settle, show_status
from bridge.flow.work import Work
from bridge.grant import Grant, Scope
from bridge.ids import ConversationId, MessageId, Place, profile_of
from bridge.lineage import decided
from bridge.loops import Standing, day_of
from bridge.message import Intent, Message, Outcome, State, in_line
from bridge.ports.store import InboxRoom
from bridge.session import agent_tag
from bridge.trace import StepKind

_NOT_NOW = frozenset({Code.INBOX_FULL, Code.PAUSED, Code.BUSY})
"""What keeps a message from going on for a while only: it stays held, and can be approved again."""


@dataclass(frozen=True, slots=True)
class Decided:
    """What has become of a message that an operator decided about. `said` tells it to a person, and `waits_at` is where
    an operator must say it first."""

    message: Message
    said: str
    waits_at: Place | None = None


class Approvals:
    def __init__(self, ledger: Ledger, governance: Governance, lanes: Dispatch, profile: str) -> None:
        self._ledger = ledger
        self._governance = governance
        self._lanes = lanes
        self._profile = profile

    async def waiting(self) -> list[Message]:
        """The held messages to sessions of the profile, by id."""
        held, now = await self._ledger.store.held(), self._ledger.clock.now()
        return [one for one in held if profile_of(one.recipient) == self._profile and now < one.expires_at]

    async def wanted(self, message: Message) -> tuple[Verb, ...]:
        """The verbs that are asked about."""
        return await wanted(Work(self._ledger), [message])

    async def approve(self, by: Caller, message_id: str, scope: Scope, *, with_earlier: bool = False) -> Decided:
        """Lets a held message go; `with_earlier` also those of the pair that are held since before it. What the rules
        of now deny is refused all the same. Raises `inbox_full` where there is no room for all of them."""

        async def body(work: Work) -> Decided:
            message = await self._found(work, message_id)
            if message.state is not State.HELD:
                return Decided(message, await _over(work, message))
            chosen = await _chosen(work, message, with_earlier)
            given = await _grants(work, by, chosen, scope)
            released = 0
            for one in chosen:
                released += await self._release(work, by, one, scope, given, released)
            newest = await work.message(message.id) or message
            if newest.outcome is Outcome.REFUSED:
                return Decided(newest, f"Not delivered: {work.means.named_in(newest.reason or '')}")
            return Decided(newest, wording.APPROVED[scope])

        return await self._ledger.do(body)

    async def deny(self, by: Caller, message_id: str, *, with_earlier: bool = False) -> Decided:
        async def body(work: Work) -> Decided:
            message = await self._found(work, message_id)
            if message.state is not State.HELD:
                return Decided(message, await _over(work, message))
            for one in await _chosen(work, message, with_earlier):
                work.act(ActKind.DENIED, by, one.id, sender=one.sender, to=one.recipient)
                await settle(work, one, Outcome.REFUSED, reason=f"denied by {by.name}", by=by.name)
                await drop_unborn(work, one)
            return Decided(await work.message(message.id) or message, "Denied.")

        return await self._ledger.do(body)

    async def wish(self, by: Caller, message_id: str, scope: Scope) -> Decided:
        """A shell would approve a held message. Its question says so, and stays open for an operator's word."""

        async def body(work: Work) -> Decided:
            message = await self._found(work, message_id)
            if message.state is not State.HELD:
                return Decided(message, await _over(work, message))
            work.guard(message)  # or somebody has decided between this look and the next
            place = await wished(work, message, f"a terminal asks to approve it ({scope})")
            work.act(ActKind.PROPOSED, by, message.id, scope=scope.value)
            return Decided(message, "It waits for an operator's word in the chat.", waits_at=place)

        return await self._ledger.do(body)

    async def _found(self, work: Work, message_id: str) -> Message:
        """As it is by now: what has outlived its hold expires, also where the timekeeper has not come by yet."""
        message = await work.message(MessageId(message_id))
        if message is None or profile_of(message.recipient) != self._profile or message.intent is Intent.INPUT:
            raise unknown_message()
        if message.state is not State.HELD:
            return message
        for one in await of_pair(work, message):
            if work.now >= one.expires_at:
                await expire(work, one)
        return await work.message(message.id) or message

    async def _release(
        self, work: Work, by: Caller, message: Message, scope: Scope, given: list[Grant], before: int
    ) -> bool:
        """False where it had to be refused by the rules of now. `before` says how many of this change go before it."""
        parties = await work.store.parties(message.sender, message.recipient, day_of(work.now))
        sender = parties.sender
        if sender is None:
            raise unknown_message()
        recipient = parties.recipient
        if recipient is not None and recipient.parent == sender.id:
            recipient = replace(recipient, paused=None)  # That it may begin is what is decided here.
            parties = replace(parties, recipient=recipient)
        policy = await self._governance.policy(await work.regime(), also=given)
        around = Circumstances(work.now, message.conversation)
        decisions: dict[Verb, Decision] = {}
        if recipient is not None:
            one, other = await line_of(work.session, sender), await line_of(work.session, recipient)
            verbs = await wanted(work, [message])
            decisions = {verb: decided(policy, one, other, verb, around) for verb in verbs}
        facts = Facts(
            sender=sender,
            recipient=recipient,
            visible=True,  # it was when it was admitted, and nothing is told but to its own sender
            decisions=decisions,
            standing=Standing(message.conversation, message.depth, message.path, message.cause),
            conversation=None,
            pair=parties.pair or Pair(*pair_of(message.sender, message.recipient)),
            inbox=parties.inbox + before,
            open_requests=0,
            today=0,  # it was counted when it was admitted
            circle=False,
            attended=True,
            now=work.now,
        )
        refused = confirm(facts, work.limits)
        if refused is not None and refused.code in _NOT_NOW:
            raise refused
        work.act(ActKind.APPROVED, by, message.id, scope=scope.value, sender=message.sender, to=message.recipient)
        if refused is not None:
            reason = f"approved by {by.name}, but {refused.reason}"
            await settle(work, message, Outcome.REFUSED, reason=reason, by=by.name)
            await drop_unborn(work, message)
            return False
        assert recipient is not None
        if recipient.parent is not None:
            work.put(recipient)
        released = message.approved(work.now, expires_at=await _life_ends(work, message))
        released = put_off(work, recipient, released)
        work.put(released)
        work.check(InboxRoom(recipient.id, inbox_room(recipient, work.limits)))
        work.step(StepKind.DECISION, released, effect=Effect.ALLOW.value, rule=_rule(message), approved_by=by.name)
        await self._record(work, by, message)
        await let_go(work, message, wording.APPROVED[scope].rstrip("."), by.name)
        await show_status(work, message, f"approved by {by.name}")
        await enter(work, released, parties, self._lanes, position=await _position(work, released))
        work.then(lambda: work.wake.at(released.expires_at))
        return True

    async def _record(self, work: Work, by: Caller, message: Message) -> None:
        work.verdict(
            Verdict(
                id=work.new_id(),
                at=work.now,
                sender=message.sender,
                recipient=message.recipient,
                origin=message.origin,
                verbs=tuple(verb.value for verb in await wanted(work, [message])),
                effect=Effect.ALLOW,
                rule=_rule(message),
                reason=f"approved by {by.name}",
                message=message.id,
                cause=message.cause,
                conversation=message.conversation,
                person=by.person,
            )
        )


async def expire(work: Work, message: Message) -> None:
    """Nobody has decided about a held message while it was held."""
    await settle(work, message, Outcome.EXPIRED, reason="nobody approved it in time")
    await drop_unborn(work, message)


async def _chosen(work: Work, message: Message, with_earlier: bool) -> list[Message]:
    """The message itself is always among them: where somebody has decided about it since it was read, the change that
    is made of it conflicts with that, and is none."""
    earlier = [one for one in await of_pair(work, message) if one.id < message.id] if with_earlier else []
    return [*earlier, message]


async def _grants(work: Work, by: Caller, chosen: list[Message], scope: Scope) -> list[Grant]:
    """What is granted beside, so that the next of the kind need not be asked about."""
    first = chosen[0]
    to = await _granted_to(work, first)
    match scope:
        case Scope.CONVERSATION:
            talks: dict[ConversationId, list[Message]] = {}
            for one in chosen:
                talks.setdefault(one.conversation, []).append(one)
            return [
                await give(work, by, first.sender, to, await wanted(work, of_it), scope, talk)
                for talk, of_it in talks.items()
            ]
        case Scope.PAIR:
            return [await give(work, by, first.sender, to, await wanted(work, chosen), scope)]
        case _:
            return []


async def _life_ends(work: Work, message: Message) -> float:
    """A request keeps its life in itself. An inform that would not have outlived its hold has no other."""
    request = await work.request(message.id)
    if request is not None:
        return request.expires_at
    if message.expires_at < message.accepted_at + work.limits.held_life_s:
        return message.expires_at
    return work.now + work.limits.message_life_s


async def _position(work: Work, message: Message) -> int:
    """Its place among those that wait for a turn, from 1."""
    before = [one for one in await work.queue(message.recipient) if one.wake and in_line(one) <= in_line(message)]
    return len(before) if message.wake else 0


async def _granted_to(work: Work, message: Message) -> str:
    """The recipient; of what spawns one, whichever of the same agent is spawned next."""
    recipient = await work.session(message.recipient)
    if recipient is not None and recipient.parent == message.sender and recipient.agent is not None:
        return f"tag:{agent_tag(recipient.agent)}"
    return message.recipient


async def _over(work: Work, message: Message) -> str:
    """What has become of a message that was held once. Raises `invalid_request` where it never was."""
    steps = [step for step in await work.store.steps(message.id) if step.message == message.id]
    if all(step.step is not StepKind.HELD for step in steps):
        raise Refused(
            Code.INVALID_REQUEST, "that message was never held", remedy="See those that are: tieline approvals"
        )
    for step in steps:
        if "approved_by" in step.detail:
            return f"This has been approved already, by {work.means.named(str(step.detail['approved_by']))}."
    match message.outcome:
        case Outcome.REFUSED:
            return f"This has been decided already: {work.means.named_in(message.reason or '')}."
        case Outcome.EXPIRED:
            return "This has expired: nobody had decided in time."
        case Outcome.CANCELLED:
            return "Its sender has withdrawn this."
        case _:
            return f"This is over already ({message.outcome}): {message.reason}."


def _rule(message: Message) -> str:
    return f"approval:{message.id}"
