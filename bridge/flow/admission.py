"""Admission: gathers the facts for the pure pipeline, and stores what it decides in one transaction."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from bridge.admission import PERSON_RULE, Facts, admit, digest, may_send, shape, verbs_of
from bridge.caller import Caller
from bridge.conversation import Pair, pair_of
from bridge.decision import Circumstances, Decision, Effect, Verb
from bridge.errors import Code, Refused
from bridge.flow.acceptance import accept, receipt_of
from bridge.flow.causes import causes_of, mark_begun, place_for, replied_to
from bridge.flow.dispatch import Dispatch
from bridge.flow.governance import Governance
from bridge.flow.kin import line_of, places_of
from bridge.flow.ledger import Ledger
from bridge.flow.occupied import occupant
from bridge.flow.refusal import refuse, refuse_early
from bridge.flow.settlement import closing_of
from bridge.flow.work import Work
from bridge.grant import Scope
from bridge.ids import MessageId, SessionId, address, profile_of
from bridge.lineage import Line, decided, denied, seen
from bridge.loops import day_of, stand
from bridge.message import Origin
from bridge.ports.policy import Policy
from bridge.session import Binding, Session
from bridge.turn import Turn
from bridge.views import Receipt, Send


def _on_behalf(turn: Turn | None, send: Send) -> MessageId | None:
    """For which input a request is made. In a turn with several, the agent says so by `in_reply_to`."""
    if turn is None or turn.acts_for is not None or len(turn.inputs) == 1:
        return turn.acts_for if turn else None
    return next((one for one in turn.inputs if one == send.in_reply_to), None)


async def _for_what_was_read(work: Work, caller: Caller, cause: MessageId | None) -> MessageId | None:
    """The same for an agent whose turns the bridge does not run: the open request that it has read, or the one for
    whose sake it had asked, where it has read the answer to that."""
    message = await work.message(cause) if cause is not None else None
    if message is None:
        return None
    answered = await closing_of(work, message)
    request = await work.request(message.id if answered is None else answered.parent or message.id)
    return request.id if request is not None and request.open and request.asked == caller.session else None


@dataclass(frozen=True, slots=True)
class Newborn:
    """A recipient that is made with the message to it. `puts` are stored where that is admitted, and `against` is what
    stands against its being made, if anything does."""

    session: Session
    puts: Sequence[Session]
    against: Refused | None


class Admission:
    """The one way into the store for what one session sends another (invariant 6)."""

    def __init__(self, ledger: Ledger, governance: Governance, lanes: Dispatch) -> None:
        self._ledger = ledger
        self._governance = governance
        self._lanes = lanes

    async def send(self, caller: Caller, send: Send, *, circle: bool = False) -> Receipt:
        """Admits and stores a message. `circle` says that to wait for its answer would close a circle of waits.

        Raises `Refused`; the decision is stored all the same.
        """

        async def body(work: Work) -> Receipt | Refused:
            return await self.admit(work, caller, send, circle=circle)

        outcome = await self._ledger.do_as(caller, body)
        if isinstance(outcome, Refused):
            raise outcome
        return outcome

    async def admit(
        self, work: Work, caller: Caller, send: Send, *, circle: bool = False, newborn: Newborn | None = None
    ) -> Receipt | Refused:
        """The same in the change of `work`, which holds the message or, where it is refused, the decision."""
        to = address(send.to.strip(), profile_of(caller.session))
        parties = await work.store.parties(caller.session, to, day_of(work.now))
        if newborn is not None:
            parties = replace(parties, recipient=newborn.session)
        sender, recipient = parties.sender, parties.recipient
        if sender is None:
            return Refused(Code.UNKNOWN_SESSION, "the sending session does not exist")
        if refused := shape(send, work.limits) or may_send(sender):
            return refuse_early(work, caller, send, refused)
        if send.key is not None and (earlier := await self._earlier(work, sender.id, send, to)):
            return refuse_early(work, caller, send, earlier) if isinstance(earlier, Refused) else earlier
        turn = await work.turn(caller.turn) if caller.turn else None
        causes = await causes_of(work, caller, turn)
        parent = await replied_to(work, caller, send.in_reply_to)
        if isinstance(parent, Refused):
            return refuse_early(work, caller, send, parent)
        standing = stand(sender.id, causes, parent)
        conversation = await work.conversation(standing.conversation) if standing.conversation else None
        from_line = await line_of(work.session, sender)
        to_line: Line = await line_of(work.session, recipient) if recipient is not None else ()
        # People attend to a child where they attend to its root.
        places = await places_of(work, to_line[-1].id) if len(to_line) > 1 else parties.places
        origin = self._origin(caller, sender, recipient, places)
        acting = replace(caller, origin=origin)
        policy = await self._governance.policy(await work.regime())
        if recipient is not None and not _visible(policy, acting, from_line, to_line, work.now):
            recipient, to_line = (
                None,
                (),
            )  # nothing of it may show from here on, neither in what is said nor in what that takes
        occupied = await occupant(work, recipient, send)
        pair = parties.pair or Pair(*pair_of(sender.id, recipient.id if recipient else sender.id))
        around = Circumstances(work.now, standing.conversation)
        facts = Facts(
            sender=sender,
            recipient=recipient,
            visible=recipient is not None,
            decisions=_decisions(policy, acting, from_line, to_line, send, around),
            standing=standing,
            conversation=conversation,
            pair=pair,
            inbox=parties.inbox,
            open_requests=parties.open_requests,
            today=parties.today,
            circle=circle,
            attended=any(one.gone_at is None and work.means.deciding(one.place) is not None for one in places),
            now=work.now,
            busy=occupied is not None,
            unmade=newborn.against if newborn is not None else None,
        )
        decision = admit(acting, send, facts, work.limits)
        place = place_for(work, caller, turn, parties.sender_places)
        if isinstance(decision, Refused):
            if decision.code is Code.BUSY and occupied is not None:
                work.guard(occupied)
            if decision.rule == "limits.pair_messages":
                work.put(pair.after_one_more(work.now, work.limits))
            await refuse(work, acting, send, facts, decision, place)
            return decision
        if turn is not None:
            await mark_begun(work, turn)
        for one in newborn.puts if newborn is not None else ():
            work.put(one)
        await _use_up(work, facts.decisions.values())
        acts_for = _on_behalf(turn, send)
        if turn is None and caller.bound:
            acts_for = await _for_what_was_read(work, caller, standing.cause)
        return await accept(work, acting, send, facts, parties, decision, place, acts_for, self._lanes)

    # Facts

    async def _earlier(
        self, work: Work, sender: SessionId, send: Send, to: SessionId | None
    ) -> Receipt | Refused | None:
        key = await work.store.key(sender, send.key or "")
        if key is None:
            return None
        if key.body != digest(send, to):
            return Refused(
                Code.INVALID_REQUEST,
                f"the key {send.key!r} stands for another message already",
                remedy="Use a new key for a new message.",
            )
        message = await work.message(key.message)
        if message is None:
            return Refused(
                Code.EXPIRED,
                f"the message of the key {send.key!r} was settled long ago, and is not kept any more",
                remedy="Use a new key to send it again.",
            )
        return await receipt_of(work, message, duplicate=True)

    def _origin(self, caller: Caller, sender: Session, recipient: Session | None, places: list[Binding]) -> Origin:
        """A person keeps the origin `user` where that person may talk at the recipient's place too; else the
        message is the session's own, as `peer` (DESIGN §3, Visibility)."""
        if caller.origin is not Origin.USER or recipient is None:
            return caller.origin
        if profile_of(recipient.id) != profile_of(sender.id):
            return Origin.PEER
        if caller.operator:
            return Origin.USER
        for binding in places:
            chat = self._ledger.chat_of(binding.place)
            if chat is not None and caller.person is not None and chat.may_talk(caller.person, binding.place):
                return Origin.USER
        return Origin.PEER


def _visible(policy: Policy, caller: Caller, sender: Line, recipient: Line, now: float) -> bool:
    one, other = sender[0], recipient[0]
    own = profile_of(other.id) == profile_of(one.id)
    if other.id == one.id or caller.origin is Origin.USER or (caller.person is not None and own):
        return True
    return other.id in seen(policy, sender, [recipient], now)


def _decisions(
    policy: Policy, caller: Caller, sender: Line, recipient: Line, send: Send, around: Circumstances
) -> dict[Verb, Decision]:
    if not recipient:
        return {}
    if caller.origin is Origin.USER:
        by_person = Decision(Effect.ALLOW, PERSON_RULE, "a person who may talk at the recipient's place")
        return {verb: denied(policy, sender, recipient, verb, around) or by_person for verb in verbs_of(send)}
    return {verb: decided(policy, sender, recipient, verb, around) for verb in verbs_of(send)}


async def _use_up(work: Work, decisions: Iterable[Decision]) -> None:
    """A grant for one message is used up by the message that it admits."""
    for ident in {decision.grant for decision in decisions if decision.grant is not None}:
        grant = await work.store.grant(ident)
        if grant is not None and grant.scope is Scope.ONCE and grant.used_at is None:
            work.put(grant.used(work.now))
            work.put_regime(await work.regime())
