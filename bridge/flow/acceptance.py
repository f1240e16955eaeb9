"""What an admitted request becomes: a message, its request, and what both places show of it."""

from dataclasses import replace

from bridge import wording
from bridge.admission import Facts, digest, inbox_room, verbs_of
from bridge.caller import Caller
from bridge.conversation import Conversation
from bridge.decision import Decision, Effect, Verdict
from bridge.flow.causes import served
from bridge.flow.dispatch import Dispatch
from bridge.flow.holding import hold
from bridge.flow.occupied import takes_when_idle
from bridge.flow.showing import received_post, sent_post, show
from bridge.flow.work import Work
from bridge.ids import ConversationId, MessageId, Place, profile_of
from bridge.loops import day_of
from bridge.message import Intent, Message, Origin, State, in_line
from bridge.ports.store import DayQuota, InboxRoom, Key, OpenRequests, Parties
from bridge.post import PostKind
from bridge.quiet import kept_until
from bridge.request import Request
from bridge.session import Session
from bridge.trace import StepKind
from bridge.views import Receipt, Send


async def accept(
    work: Work,
    caller: Caller,
    send: Send,
    facts: Facts,
    parties: Parties,
    decision: Decision,
    place: Place | None,
    acts_for: MessageId | None,
    lanes: Dispatch,
) -> Receipt:
    """Stores what was admitted, with its decision and its key, in the change of `work`; held where the decision is to
    ask a person."""
    sender, recipient, standing, now = facts.sender, facts.recipient, facts.standing, work.now
    assert recipient is not None
    ident = MessageId(work.new_id())
    conversation = facts.conversation or Conversation(
        id=standing.conversation or ConversationId(work.new_id()),
        first=sender.id,
        place=place,
        budget=work.limits.conversation_messages,
    )
    by_command = caller.origin is Origin.USER or caller.person is not None
    life_ends = now + (send.ttl_s or work.limits.message_life_s)
    held = decision.effect is Effect.ASK
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
        expires_at=min(life_ends, now + work.limits.held_life_s) if held else life_ends,
        state=State.HELD if held else State.QUEUED,
        in_reply_to=MessageId(send.in_reply_to) if send.in_reply_to else None,
        cause=standing.cause,
        depth=standing.depth,
        path=standing.path,
        place=place,
        person=caller.person,
        by_command=by_command,
        attachments=send.attachments,
    )
    message = put_off(work, recipient, message)
    if (message.wake and takes_when_idle(recipient)) or recipient.parent is not None:
        # Put as it was read: a turn that began since then, or another handoff that saw it idle too, is a conflict, and
        # so is the closing of a child that did not see this message.
        work.put(recipient)
    if held and send.spawns is not None:
        work.put(replace(recipient, paused=wording.HELD))
    work.put(message)
    work.put(replace(conversation, messages=conversation.messages + 1))
    if caller.origin is not Origin.USER:
        work.put(facts.pair.after_one_more(now, work.limits))
        work.check(DayQuota(profile_of(sender.id), day_of(now), work.limits.profile_messages_day))
    if not held:
        work.check(InboxRoom(recipient.id, inbox_room(recipient, work.limits)))
    if send.intent is Intent.REQUEST:
        work.check(OpenRequests(sender.id, work.limits.open_requests))
        work.put(
            Request(
                id=ident,
                asker=sender.id,
                asked=recipient.id,
                opened_at=now,
                expires_at=life_ends,
                parent=acts_for,
                place=place,
                by_command=by_command,
            )
        )
    if send.key is not None:
        work.key(Key(sender.id, send.key, digest(send, recipient.id), ident))
    _record(work, caller, send, message, decision)
    receipt = await receipt_of(work, message, duplicate=False)
    if held:
        await hold(work, message)
    else:
        await enter(work, message, parties, lanes, position=receipt.position)
    work.then(lambda: work.wake.at(message.expires_at))
    return receipt


def put_off(work: Work, recipient: Session, message: Message) -> Message:
    """The message as the recipient's quiet hours let it come in."""
    until = kept_until(recipient, message, work.now)
    if until is None:
        return message
    work.then(lambda: work.wake.at(until))
    return replace(message, due_at=until)


async def enter(work: Work, message: Message, parties: Parties, lanes: Dispatch, *, position: int) -> None:
    """A message has come into its recipient's inbox: both places show it, and an idle lane takes it up."""
    await _show(work, message, parties, position)
    work.then(lambda: work.wake.mail(message.recipient))
    if message.wake:
        await lanes.hand_over(work, message.recipient)


async def receipt_of(work: Work, message: Message, *, duplicate: bool) -> Receipt:
    position = 0
    if message.wake and message.state is State.QUEUED:
        position = 1 + sum(
            in_line(one) < in_line(message)
            for one in await work.queue(message.recipient)
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
        waits_until=message.due_at if message.state is State.QUEUED and message.waits(work.now) else None,
    )


def _record(work: Work, caller: Caller, send: Send, message: Message, decision: Decision) -> None:
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
        spawns=send.spawns,
    )


async def _show(work: Work, message: Message, parties: Parties, position: int) -> None:
    """Both places show a handoff, and whether it has to wait."""
    recipient = parties.recipient
    assert recipient is not None
    await work.regime()
    obstacle = wording.obstacle(recipient, message, work.now, all_paused_by=await work.means.paused_by())
    wake = message.wake and recipient.runs
    status = wording.queued_status(position, wake=wake, busy=parties.busy, obstacle=obstacle)
    line = wording.handoff(message, status)
    await show(work, sent_post(message.id), message.place, PostKind.HANDOFF, line, message=message.id)
    await show(
        work,
        received_post(message.id),
        served(work, parties.places),
        PostKind.HANDOFF,
        line,
        message=message.id,
    )
