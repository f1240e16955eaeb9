"""Settlement: how deliveries end, how requests close, and who is told (DESIGN §2, invariants 2, 3 and 8).

Delivery and answer are two facts. Settling a message with anything but `acked` closes its request in the
same change; closing a request tells its asker, in its inbox and at the place where it was asked.
"""

from dataclasses import replace

from bridge import briefing, wording
from bridge.decision import Effect, Verb, Verdict
from bridge.flow.holding import let_go
from bridge.flow.marking import mark_input
from bridge.flow.showing import received_post, revise, sent_post, show
from bridge.flow.work import Work
from bridge.ids import SYSTEM, MessageId, Place, SessionId
from bridge.message import Intent, Message, Origin, Outcome, State
from bridge.post import Button, Mark, PostKind
from bridge.request import NO_REPLY_TEXT, Answer, Request
from bridge.session import Session
from bridge.trace import StepKind

_CLOSES_AS = {
    Outcome.EXPIRED: Answer.EXPIRED,
    Outcome.CANCELLED: Answer.CANCELLED,
    Outcome.FAILED: Answer.FAILED,
    Outcome.REFUSED: Answer.FAILED,
    Outcome.DEAD: Answer.FAILED,
}


async def settle(
    work: Work,
    message: Message,
    outcome: Outcome,
    *,
    reason: str | None = None,
    by_sender: bool = False,
    by: str | None = None,
) -> None:
    """Settles a delivery, and tells whoever waits for it. `by_sender` is the sender's own withdrawal, of
    which it needs no notice; `by` is the person who decided about a held one."""
    if message.state is State.PARKED:
        await decided(work, message, reason or outcome.value)
    work.put(message.to_settled(outcome, at=work.now, reason=reason))
    if message.state is State.HELD:
        await let_go(work, message, reason or outcome.value, by)
    work.step(StepKind.SETTLED, message, outcome=outcome.value, reason=reason)
    work.then(lambda: work.wake.mail(message.recipient))
    await mark_input(work, message, Mark.DONE if outcome is Outcome.ACKED else Mark.REFUSED)
    if outcome is Outcome.ACKED:
        return
    request = await work.request(message.id)
    if request is not None:
        if request.open:
            await close(work, request, _CLOSES_AS[outcome], reason=reason, by_asker=by_sender)
    elif message.intent is Intent.INPUT:
        if outcome is not Outcome.CANCELLED:
            text = wording.input_ended(message, outcome, reason)
            await show(work, f"settled:{message.id}", message.place, PostKind.NOTICE, text, message=message.id)
    elif (of := await closing_of(work, message)) is not None:
        await _fail_parent(work, of, f"the closing of {of.id} could not be delivered: {reason or outcome}")
    elif message.origin is not Origin.SYSTEM:
        await show_status(work, message, f"{outcome}: {reason}" if reason else outcome.value)
        if not by_sender:
            notify_sender(work, message, briefing.undelivered_text(message, outcome, reason))


async def close(
    work: Work,
    request: Request,
    state: Answer,
    *,
    text: str | None = None,
    reason: str | None = None,
    by_asker: bool = False,
) -> None:
    """Closes an open request, and brings the closing to its asker. `text` is the answer or the question back;
    `reason` says why there is none."""
    question = await work.message(request.id)
    asker = await work.session(request.asker)
    if question is None or asker is None:
        return
    closing = None
    if not by_asker:
        closing = _closing(work, question, request, state, text, reason, _wakes(asker, request))
        _bring(work, request, question, closing)
        await _show_answer(work, request, state, text, reason)
    work.put(request.closed(state, at=work.now, reason=reason, closing=closing.id if closing else None))
    reply = closing.id if closing else None
    work.step(StepKind.REPLY, question, request.asked, answer=state.value, reply=reply, reason=reason, text=text)
    await show_status(work, question, wording.answer_status(state, reason))
    work.then(lambda: work.wake.closed(request.id))


async def answer(work: Work, request: Request, text: str) -> None:
    """Closes a request with an agent's text; an empty one, or `NO_REPLY`, is no answer."""
    if text.strip() in ("", NO_REPLY_TEXT):
        await close(work, request, Answer.NO_REPLY)
    else:
        await close(work, request, Answer.ANSWERED, text=text)


async def answer_late(work: Work, request: Request, text: str) -> MessageId | None:
    """Takes the one late answer of a request that closed without one. None where it says nothing."""
    question = await work.message(request.id)
    asker = await work.session(request.asker)
    if question is None or asker is None or text.strip() in ("", NO_REPLY_TEXT):
        return None
    closing = _closing(work, question, request, Answer.ANSWERED, text, None, _wakes(asker, request))
    late = replace(closing, late=True)
    _bring(work, request, question, late)
    work.put(replace(request, late=late.id))
    work.step(StepKind.REPLY, question, request.asked, answer=request.state.value, reply=late.id, late=True, text=text)
    shown = wording.answer_post(request.asked, text, late=True)
    await show(
        work,
        f"late:{request.id}",
        request.place,
        PostKind.FINAL,
        shown,
        message=request.id,
        answers=sent_post(request.id),
        rich=True,
    )
    return late.id


def _bring(work: Work, request: Request, question: Message, closing: Message) -> None:
    """Puts the closing of a request, or a late answer, into its asker's inbox."""
    work.put(closing)
    if closing.intent is Intent.REPLY:
        _record_grant(work, request, question)
    work.then(lambda: work.wake.mail(request.asker))
    if closing.wake:
        work.then(lambda: work.wake.lane(request.asker))


def notify_sender(work: Work, message: Message, text: str) -> None:
    """A notice of the bridge: never answered, in no budget, and it wakes nobody."""
    notice = _system_message(work, message, message.sender, text, wake=False)
    work.put(notice)
    work.then(lambda: work.wake.mail(message.sender))


def say_it_waits(work: Work, message: Message, text: str) -> None:
    """Tells whoever waits for an answer that people must act first. Who asked at a place sees it there."""
    asked = message.intent in (Intent.REQUEST, Intent.INFORM) and message.origin is not Origin.SYSTEM
    if asked and (message.origin is Origin.PEER or message.place is None):
        notify_sender(work, message, text)


async def closing_of(work: Work, message: Message) -> Request | None:
    """The request of the recipient's own that `message` closed, if it is such a closing."""
    if message.in_reply_to is None or not (message.intent is Intent.REPLY or message.origin is Origin.SYSTEM):
        return None
    request = await work.request(message.in_reply_to)
    return request if request is not None and message.id in (request.closing, request.late) else None


async def pending(work: Work, parent: MessageId) -> bool:
    """Whether an input is still being worked on elsewhere: it was deferred, or a request made on its behalf
    is open, or its closing has not been read (DESIGN §5, Answers)."""
    own = await work.request(parent)
    if own is not None and own.deferred:
        return True
    for child in await work.requests_for(parent):
        if child.open:
            return True
        closing = await work.message(child.closing) if child.closing else None
        if closing is not None and closing.read_at is None and closing.state is not State.SETTLED:
            return True
    return False


async def show_status(work: Work, message: Message, status: str) -> None:
    """Revises what the two places of a handoff show of it; where nothing was shown, nothing is."""
    text = wording.handoff(message, work.means.named_in(status))
    await revise(work, sent_post(message.id), text)
    await revise(work, received_post(message.id), text)


async def park(work: Work, message: Message, place: Place | None, reason: str, *, life_s: float) -> None:
    """Sets a leased input aside until its people say retry or discard; where nobody could, it fails at once."""
    place = work.means.deciding(place)
    if place is None:
        await settle(work, message, Outcome.FAILED, reason=f"{reason}, and nobody attends who could decide")
        return
    work.put(message.to_parked(expires_at=work.now + life_s, reason=reason))
    work.step(StepKind.TURN, message, parked=True, reason=reason)
    which = f"{message.id}:{message.epoch}"
    await show(
        work,
        f"parked:{which}",
        place,
        PostKind.QUESTION,
        wording.parked_text(message.recipient, message, reason),
        buttons=(Button("Retry", f"retry:{which}"), Button("Discard", f"discard:{which}")),
        message=message.id,
    )
    await show_status(work, message, f"parked: {reason}")
    say_it_waits(
        work, message, f"Your message {message.id} to {message.recipient} is parked: {reason}. Its people must decide."
    )


async def decided(work: Work, message: Message, what: str) -> None:
    """Revises what asked about a parked message: there is nothing to press any more."""
    await revise(work, f"parked:{message.id}:{message.epoch}", wording.parked_decided(message, what))


def _wakes(asker: Session, request: Request) -> bool:
    """A person who asked is told at the place, and what comes too late for a closed session wakes it not even once
    it is opened again."""
    return asker.wakes_on_reply and not request.by_command and asker.closed_at is None


async def _fail_parent(work: Work, child: Request, reason: str) -> None:
    parent = await work.request(child.parent) if child.parent else None
    if parent is not None and parent.open:
        await close(work, parent, Answer.FAILED, reason=reason)


def _closing(
    work: Work,
    question: Message,
    request: Request,
    state: Answer,
    text: str | None,
    reason: str | None,
    wakes: bool,
) -> Message:
    if text is None:
        told = _system_message(
            work, question, request.asker, briefing.closing_text(request.asked, state, reason), wake=wakes
        )
    else:
        told = replace(
            _system_message(
                work,
                question,
                request.asker,
                briefing.bounded(text, work.limits.max_chars, briefing.CUT_NOTE),
                wake=wakes,
            ),
            sender=request.asked,
            intent=Intent.REPLY,
            origin=Origin.PEER,
        )
    if request.by_command and work.means.chat_of(request.place) is not None:
        # The place shows it, and that is where it was wanted: nothing waits in the agent's inbox.
        return replace(told, state=State.SETTLED, outcome=Outcome.ACKED, read_at=work.now, settled_at=work.now)
    return told


def _system_message(work: Work, about: Message, recipient: SessionId, text: str, *, wake: bool) -> Message:
    return Message(
        id=MessageId(work.new_id()),
        sender=SYSTEM,
        recipient=recipient,
        intent=Intent.INFORM,
        text=text,
        origin=Origin.SYSTEM,
        wake=wake,
        conversation=about.conversation,
        accepted_at=work.now,
        queued_at=work.now,
        due_at=work.now,
        expires_at=work.now + work.limits.retention_s,  # answers and notices live for the retention
        in_reply_to=about.id,
        cause=about.id,
        depth=about.depth,
        path=about.path,
    )


def _record_grant(work: Work, request: Request, question: Message) -> None:
    work.verdict(
        Verdict(
            id=work.new_id(),
            at=work.now,
            sender=request.asked,
            recipient=request.asker,
            origin=Origin.PEER,
            verbs=(Verb.SEND.value,),
            effect=Effect.ALLOW,
            rule=request.rule,
            reason="the answer to a request needs no rule",
            cause=question.id,
            conversation=question.conversation,
        )
    )


async def _show_answer(work: Work, request: Request, state: Answer, text: str | None, reason: str | None) -> None:
    asked_by = sent_post(request.id)
    if text is not None:
        shown = wording.answer_post(request.asked, text, question=state is Answer.INPUT_REQUIRED)
        await show(
            work,
            f"answer:{request.id}",
            request.place,
            PostKind.FINAL,
            shown,
            message=request.id,
            answers=asked_by,
            rich=True,
        )
    elif request.place is not None:
        told = briefing.closing_text(request.asked, state, reason)
        await show(
            work, f"answer:{request.id}", request.place, PostKind.NOTICE, told, message=request.id, answers=asked_by
        )
