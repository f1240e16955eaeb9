"""The end of a turn: its state, its inputs, the answer that its final text gives, all in one change (DESIGN §5)."""

from collections.abc import Set
from dataclasses import asdict, replace

from bridge import wording
from bridge.flow.closing import retire_children
from bridge.flow.fallback import hand_over
from bridge.flow.kin import people_at, shown_at
from bridge.flow.marking import mark_of
from bridge.flow.progress import conclude
from bridge.flow.settlement import answer, answer_late, close, closing_of, park, pending, say_it_waits, settle
from bridge.flow.showing import received_post, revise, sent_post, show
from bridge.flow.work import Work
from bridge.ids import MessageId, Place, handle_of
from bridge.message import Intent, Message, Outcome, State
from bridge.ports.runtime import Result
from bridge.post import PostKind
from bridge.request import NO_REPLY_TEXT, Answer
from bridge.results import bounded
from bridge.trace import StepKind
from bridge.turn import Failure, FailureKind, Turn, TurnState

_ENDED_BY_OTHERS = frozenset({Answer.EXPIRED, Answer.CANCELLED, Answer.FAILED})
"""How a request closes without a word of the session that was asked."""

_STOPPED = "stopped by a person"

_RETIRED = {
    TurnState.COMPLETED: "the turn that had spawned it ended before it answered; wait for it in the turn",
    TurnState.CANCELLED: "the turn that had spawned it was stopped",
    TurnState.FAILED: "the turn that had spawned it failed",
    TurnState.LOST: "the turn that had spawned it was lost",
}
"""Why a child retires."""

_WAITED_S = 3

NOTICES = 2
"""How often an unread input is announced before it fails."""


async def end_turn(work: Work, turn: Turn, result: Result, unheard: Set[MessageId] = frozenset()) -> None:
    """Applies how a prompt ended. A turn that has ended already, or that was taken over, is left as it is. What is in
    `unheard` counts as unread, whatever is stored."""
    current = await work.held(turn.id, turn.epoch)
    if current is None:
        return
    result = bounded(result, work.now)
    state = _state(result)
    ended = current.ended(
        state, at=work.now, stop_reason=result.stop_reason, failure=result.failure, usage=result.usage
    )
    work.put(ended)
    if current.tools_begun:
        await retire_children(work, turn.session, _RETIRED[state], answered=state is TurnState.COMPLETED)
    leased = [one for one in await work.taken(turn.id) if one.state is State.LEASED]
    if current.epoch > 1 and current.tools_begun:
        # An agent that has acted under two bridges has read what it acts on, whatever it asked for again in vain.
        unheard = unheard - {*current.inputs}
    taken = [replace(one, read_at=None) if one.id in unheard else one for one in leased]
    for message in taken:
        work.step(StepKind.TURN, message, None, turn=turn.id, state=state.value, **_told(result))
    match state:
        case TurnState.COMPLETED:
            await _completed(work, ended, taken, result.final)
        case TurnState.CANCELLED:
            await _stopped(work, ended, taken)
            await _abandon(work, ended, taken, _STOPPED)
        case _:
            failure = result.failure or Failure(FailureKind.CRASH, "the turn ended without a result")
            await _failed(work, ended, taken, failure)
            await _abandon(work, ended, taken, f"the turn failed: {failure.detail}")
    await conclude(work, ended)
    work.then(lambda: work.wake.lane(turn.session))


async def lose_turn(
    work: Work,
    turn: Turn,
    reason: str = "the bridge stopped in the middle of the turn",
    *,
    doubt: str | None = "",
    unbegun: bool = False,
) -> None:
    """A turn whose end nobody knows, mostly of a bridge that died. Without a prompt, or where its agent says that it
    has not begun (`unbegun`), it surely did nothing, and its inputs are queued again. Where it is beyond doubt that it
    did nothing (`doubt` is None), they are tried again, which counts as an attempt: what makes the bridge itself fail
    ends that way, too. Else they are parked (invariant 5)."""
    current = await work.held(turn.id, turn.epoch)
    if current is None:
        return
    lost = current.ended(TurnState.LOST, at=work.now, stop_reason=None, failure=None)
    work.put(lost)
    if lost.tools_begun:
        await retire_children(work, turn.session, _RETIRED[TurnState.LOST])
    taken = [one for one in await work.taken(turn.id) if one.state is State.LEASED]
    for message in taken:
        work.step(StepKind.TURN, message, turn=turn.id, state=TurnState.LOST.value, doubt=doubt or None)
    unbegun = unbegun and not lost.tools_begun
    if unbegun or not lost.prompt_sent:
        why = reason if unbegun else "its turn was lost before it began"
        _requeue(work, taken, due_at=work.now, reason=why)
    elif doubt is None:
        await _lost_again(work, lost, taken, reason)
    else:
        await _park_inputs(work, lost, taken, f"{reason}, and {doubt}" if doubt else reason)
    await _abandon(work, lost, taken, reason)
    await conclude(work, lost, reason)
    work.then(lambda: work.wake.lane(turn.session))


async def _lost_again(work: Work, turn: Turn, taken: list[Message], reason: str) -> None:
    for message in taken:
        counted = replace(message, attempts=message.attempts + 1)
        await _try_again(work, counted, due_at=work.now, reason=reason)
        if counted.attempts >= work.limits.attempts and message.intent is not Intent.INPUT:
            text = wording.given_up(message, counted.attempts, reason)
            await show(work, f"failure:{message.id}", turn.place, PostKind.NOTICE, text, session=turn.session)


def _told(result: Result) -> dict[str, object]:
    """What the trace says of how it ended."""
    usage = asdict(result.usage) if result.usage is not None else {}
    used = {name: value for name, value in usage.items() if value is not None}
    failure = result.failure
    return {
        "failure": failure.detail if failure is not None else None,
        "failure_kind": failure.kind.value if failure is not None else None,
        "usage": used or None,
    }


def _state(result: Result) -> TurnState:
    if result.cancelled:
        return TurnState.CANCELLED
    return TurnState.FAILED if result.failure else TurnState.COMPLETED


async def _completed(work: Work, turn: Turn, taken: list[Message], final: str) -> None:
    unread = []
    for message in taken:
        if message.read_at is not None:
            await settle(work, message, Outcome.ACKED)
        elif message.unread + 1 < NOTICES:
            unread.append(message)
            again = replace(message, unread=message.unread + 1)
            _requeue(work, [again], due_at=work.now, reason="it was not read; announced once more")
        else:
            unread.append(message)
            await settle(work, message, Outcome.FAILED, reason="it was not read, though announced twice")
    read = [one for one in taken if one not in unread]
    await _close_read_requests(work, turn, [*read, *await _acknowledged(work, turn)])
    if not any(one.id in turn.inputs for one in unread):
        await _answer(work, turn, final)
    if final and final != NO_REPLY_TEXT:
        about, place = turn.acts_for or turn.inputs[0], await shown_at(work, turn)
        await show(
            work,
            f"final:{turn.id}",
            place,
            PostKind.FINAL,
            final,
            message=about,
            session=turn.session,
            answers=await _answered(work, about),
            rich=True,
            silent=await _heard_elsewhere(work, about, place),
        )


async def _heard_elsewhere(work: Work, about: MessageId, place: Place | None) -> bool:
    """Whether it goes to another place as an answer: people wait for it there."""
    request = await work.request(about)
    return request is not None and request.place not in (None, place)


async def _answered(work: Work, about: MessageId) -> str | None:
    """The post that the final text stands below. What a person said is pointed at only where it had to wait, so that
    other words may stand between."""
    message = await work.message(about)
    if message is None or message.intent is not Intent.INPUT:
        return received_post(about)
    waited_s = (message.woken_at or message.accepted_at) - message.accepted_at
    return mark_of(message) if waited_s >= _WAITED_S else None


async def _answer(work: Work, turn: Turn, final: str) -> None:
    """The final text answers the request that the turn acted for, unless that is still being worked on. Where it
    was withdrawn or came to its end meanwhile, the text is its late answer."""
    request = await work.request(turn.acts_for) if turn.acts_for else None
    if request is None or request.asked != turn.session or await pending(work, request.id):
        return
    if request.open:
        await answer(work, request, final)
    elif request.state in _ENDED_BY_OTHERS and request.takes_late_answer:
        await answer_late(work, request, final)


async def _close_read_requests(work: Work, turn: Turn, read: list[Message]) -> None:
    """Of what was read beside the input that the turn acted for, nothing but a reply was an answer; and what was
    asked on behalf of another input has been used up."""
    for message in read:
        concerned = await _concerned(work, message)
        if concerned != turn.acts_for:
            await _close_unless_pending(work, concerned, Answer.NO_REPLY)


async def _abandon(work: Work, turn: Turn, taken: list[Message], reason: str) -> None:
    """What the agent had acknowledged in a turn that came to nothing is not run again, so that nothing would ever
    answer it, unless another input of the turn comes back to it."""
    to_come = [await _concerned(work, message) for message in taken]
    for message in await _acknowledged(work, turn):
        concerned = await _concerned(work, message)
        if concerned not in to_come:
            await _close_unless_pending(work, concerned, Answer.FAILED, reason)


async def _acknowledged(work: Work, turn: Turn) -> list[Message]:
    """What the agent has settled itself in this turn."""
    return [one for one in await work.store.read_in(turn.id) if one.state is State.SETTLED]


async def _concerned(work: Work, message: Message) -> MessageId | None:
    """What reading a message works on: itself or, where it closes a request, what that was asked on behalf of."""
    closed = await closing_of(work, message)
    return closed.parent if closed is not None else message.id


async def _close_unless_pending(work: Work, ident: MessageId | None, state: Answer, reason: str | None = None) -> None:
    request = await work.request(ident) if ident is not None else None
    if request is not None and request.open and not await pending(work, request.id):
        await close(work, request, state, reason=reason)


async def _stopped(work: Work, turn: Turn, taken: list[Message]) -> None:
    for message in taken:
        if not _worked_on(turn, message):
            _requeue(work, [message], due_at=work.now, reason=_STOPPED)
        elif message.from_person:
            await settle(work, message, Outcome.CANCELLED, reason=_STOPPED)
        else:
            await park(work, message, turn.place, _STOPPED, life_s=work.limits.message_life_s)


async def _failed(work: Work, turn: Turn, taken: list[Message], failure: Failure) -> None:
    """Nobody knows which of the texts that were read made the agent fail: it counts as an attempt at each of them, so
    that none spoils one turn after another."""
    again_at = await hand_over(work, turn, failure)
    if again_at is not None:
        if again_at > work.now:
            after = f"Tried again in {again_at - work.now:.0f} s, or at once after /resume."
            failure = replace(failure, detail=wording.none_answers(failure.detail))
            await _tell(work, turn, failure, after, once=True)
        _requeue(work, taken, due_at=again_at, reason=failure.detail)
        return
    if not (failure.temporary or failure.pauses):
        taken = [replace(one, attempts=one.attempts + 1) for one in taken]
    if failure.kind is FailureKind.REFUSAL:
        await _tell(work, turn, failure, "It is not tried again.")
        for message in taken:
            if message.id in turn.inputs:
                await settle(work, message, Outcome.FAILED, reason=f"the agent refused: {failure.detail}")
            else:
                await _try_again(work, message, due_at=work.now, reason=failure.detail)
        return
    session = await work.session(turn.session)
    if failure.pauses and session is not None and session.parent is not None:
        # It does not live until people have set it right.
        await _tell(work, turn, failure, "Its task is given back.")
        for message in taken:
            await settle(work, message, Outcome.FAILED, reason=failure.detail)
        return
    if failure.pauses:
        await _pause(work, turn, taken, failure)
    if turn.tools_begun:
        if not failure.pauses and work.means.deciding(turn.place) is None:
            await _tell(work, turn, failure, "It had begun to use tools, so it is not run again by itself.")
        await _park_inputs(work, turn, taken, f"the turn failed after tools had begun ({failure.detail})")
        return
    if failure.pauses:
        _requeue(work, taken, due_at=work.now, reason=failure.detail)
        return
    inputs = [one for one in taken if one.id in turn.inputs]
    tries = max((one.epoch for one in inputs), default=1)
    due_at = max(failure.resets_at or 0, work.now + work.means.backoff(tries, cap_s=60))
    over = all(one.attempts >= work.limits.attempts for one in inputs)
    after = "It is given up." if over else f"Tried again in {due_at - work.now:.0f} s, or at once after /resume."
    await _tell(work, turn, failure, after, once=True)
    for message in taken:
        when = due_at if message.id in turn.inputs else work.now
        await _try_again(work, message, due_at=when, reason=failure.detail)


async def _pause(work: Work, turn: Turn, taken: list[Message], failure: Failure) -> None:
    session = await work.session(turn.session)
    if session is not None:
        work.put(replace(session, paused=failure.detail))
    for message in taken:
        text = f"Your message {message.id} waits: {turn.session} is paused until its people set it right."
        say_it_waits(work, message, text)
    remedy = "The session is paused and its mail waits: set it right, then /resume."
    await _tell(work, turn, failure, remedy)


async def _tell(work: Work, turn: Turn, failure: Failure, after: str, *, once: bool = False) -> None:
    """`once`: of several attempts at one input only the last is shown, in one post."""
    text = wording.turn_failed(turn.session, failure.detail, after)
    about = turn.inputs[0] if once else turn.id
    await show(work, f"failure:{about}", await people_at(work, turn), PostKind.NOTICE, text, session=turn.session)
    for ident in turn.inputs:
        message = await work.message(ident)
        if message is not None:
            await revise(
                work,
                sent_post(ident),
                wording.handoff(message, f"{handle_of(turn.session)}: {failure.detail}"),
            )


async def _park_inputs(work: Work, turn: Turn, taken: list[Message], reason: str) -> None:
    for message in taken:
        if _worked_on(turn, message):
            await park(work, message, turn.place, reason, life_s=work.limits.message_life_s)
        else:
            await _try_again(work, message, due_at=work.now, reason=reason)


def _worked_on(turn: Turn, message: Message) -> bool:
    """Its inputs, and the handoffs that were read in it beside them."""
    return message.id in turn.inputs or (message.wake and message.takes_room)


async def _try_again(work: Work, message: Message, *, due_at: float, reason: str) -> None:
    if message.attempts >= work.limits.attempts:
        await settle(work, message, Outcome.DEAD, reason=f"{message.attempts} attempts failed: {reason}")
    else:
        _requeue(work, [message], due_at=due_at, reason=reason)


def _requeue(work: Work, messages: list[Message], *, due_at: float, reason: str) -> None:
    for message in messages:
        work.put(message.to_queued(due_at=due_at if due_at > work.now else None, reason=reason))
        work.step(StepKind.TURN, message, requeued=True, reason=reason, due_in_s=round(due_at - work.now, 3))
        work.then(lambda: work.wake.at(due_at))
