"""Answers: replying, deferring, withdrawing and waiting (DESIGN §2, Answer; §5, Answers)."""

import asyncio
from contextlib import nullcontext
from dataclasses import replace

from bridge import wording
from bridge.admission import text_shape
from bridge.caller import Caller
from bridge.errors import Code, Refused
from bridge.flow.admission import Admission
from bridge.flow.causes import mark_begun, unknown_message
from bridge.flow.closing import drop_unborn
from bridge.flow.hints import Hints
from bridge.flow.ledger import Ledger
from bridge.flow.mailbox import holder, read
from bridge.flow.settlement import answer, answer_late, close, decided, pending, settle
from bridge.flow.waits import Waits
from bridge.flow.work import Work
from bridge.ids import MessageId, SessionId, address, profile_of
from bridge.message import Intent, Message, Origin, Outcome, State
from bridge.request import NO_REPLY_TEXT, Answer, Request
from bridge.views import AnswerView, Receipt, ReplyView, Send


class Replies:
    def __init__(self, ledger: Ledger, admission: Admission, waits: Waits, hints: Hints) -> None:
        self._ledger = ledger
        self._admission = admission
        self._waits = waits
        self._hints = hints

    async def reply(self, caller: Caller, message_id: str, text: str, *, question: bool = False) -> Receipt:
        """Answers a request with its single-use grant, or asks back. The grant alone decides: neither rules
        nor rates nor room apply. Raises `unknown_message` to anybody but the session that was asked; a text over
        the limit is refused, for whoever calls can shorten it, while a final text over it is cut."""

        async def body(work: Work) -> Receipt:
            message, request = await _asked_of(work, caller, message_id)
            if refused := text_shape(text, work.limits):
                raise refused
            if caller.turn and (turn := await work.turn(caller.turn)):
                await mark_begun(work, turn)
            reply_id = await _give(work, request, text, question)
            await _settle_answered(work, caller, message)
            return Receipt(
                message_id=reply_id or message.id,
                conversation_id=message.conversation,
                to=request.asker,
                state=State.QUEUED if reply_id else State.SETTLED,
                position=0,
                wake=False,
                duplicate=False,
                depth=message.depth,
            )

        return await self._ledger.do_as(caller, body)

    async def answers(self, caller: Caller, send: Send) -> bool:
        """Whether a message that a shell sends answers a request to it."""
        request = await self._ledger.store.request(MessageId(send.in_reply_to or ""))
        asker = address(send.to.strip(), profile_of(caller.session))
        return not caller.bound and request is not None and (request.asked, request.asker) == (caller.session, asker)

    async def defer(self, caller: Caller, message_id: str) -> None:
        """Keeps a request open beyond the turn that reads it, until it is answered by `reply`."""

        async def body(work: Work) -> None:
            _, request = await _asked_of(work, caller, message_id)
            if not request.open:
                raise Refused(Code.ALREADY_ANSWERED, f"the request is {request.state} already")
            if caller.turn and (turn := await work.turn(caller.turn)):
                await mark_begun(work, turn)
            work.put(replace(request, deferred=True))

        await self._ledger.do_as(caller, body)

    async def cancel(self, caller: Caller, message_id: str) -> AnswerView:
        """Withdraws what the caller sent. What is being delivered is not called back: only its answer is no
        longer awaited."""

        async def body(work: Work) -> None:
            message = await _sent_by(work, caller, message_id)
            request = await work.request(message.id)
            if request is not None and not request.open:
                return
            if message.state in (State.HELD, State.QUEUED, State.PARKED):
                await settle(work, message, Outcome.CANCELLED, reason="withdrawn by its sender", by_sender=True)
                if message.state is State.HELD:
                    await drop_unborn(work, message)
            elif request is not None:
                await close(work, request, Answer.CANCELLED, reason="withdrawn by its sender", by_asker=True)
            if request is not None:
                await _leave(work, request)
                work.then(lambda: work.wake.closed(message.id))

        await self._ledger.do_as(caller, body)
        view = await self.look(caller, message_id)
        if view.reply is not None:
            await self._given(caller, view, settles=caller.turn is None)
        return view

    async def ask(self, caller: Caller, send: Send, timeout_s: float) -> AnswerView:
        """Sends a request and waits for its closing. That counts as read by an agent: it settles with the agent's turn,
        and outside of turns as the agent reads on. A shell says so itself, by `read_answer`, once it has shown it.
        After the time the request stays open and its answer comes as mail.

        Raises `would_deadlock` where the wait of an agent would close a circle; who else waits blocks nobody."""
        asked = address(send.to.strip(), profile_of(caller.session)) or SessionId(send.to)
        with self._waits.blocked(caller.session, asked) if caller.bound else nullcontext(False) as circle:
            request = replace(send, intent=Intent.REQUEST, wake=True)
            receipt = await self._admission.send(caller, request, circle=circle)
            # Asked before under the same key: there is nothing to refuse, and waiting now would close a circle.
            view = await self.wait(caller, receipt.message_id, 0 if circle else timeout_s)
        if view.answer is not Answer.OPEN and caller.bound:
            await self._given(caller, view)
        return view

    async def wait(self, caller: Caller, message_id: str, timeout_s: float) -> AnswerView:
        """Waits until a request of the caller's own closes, or the time is over. Reads nothing."""
        with self._hints.watch_closed(MessageId(message_id)) as closed:
            view = await self.look(caller, message_id)
            if view.answer is not Answer.OPEN or timeout_s <= 0:
                return view
            try:
                async with asyncio.timeout(timeout_s):
                    while view.answer is Answer.OPEN:
                        await closed.wait()
                        closed.clear()
                        view = await self.look(caller, message_id)
            except TimeoutError:
                return await self.look(caller, message_id)
        return view

    async def look(self, caller: Caller, message_id: str) -> AnswerView:
        """How a request of the caller's own stands."""
        work = Work(self._ledger)
        message = await _sent_by(work, caller, message_id)
        request = await work.request(message.id)
        reply, answered = None, request.state if request else Answer.NO_REPLY
        closing_id = (request.late or request.closing) if request else None
        closing = await work.message(closing_id) if closing_id else None
        paused_by = await _kept_back_by(work, caller, closing)
        if closing is not None and paused_by is not None:
            answered = answered if closing.late else Answer.OPEN
        elif closing is not None and closing.intent is Intent.REPLY:
            reply = ReplyView(closing.id, closing.sender, closing.text, closing.late)
        queue = await work.queue(message.recipient) if message.state is State.QUEUED else []
        waiting = [one.id for one in queue if one.wake]
        return AnswerView(
            message_id=message.id,
            conversation_id=message.conversation,
            state=message.state,
            answer=answered,
            reply=reply,
            reason=wording.all_paused(paused_by) if paused_by is not None else await _reason(work, message, request),
            position=waiting.index(message.id) + 1 if message.id in waiting else 0,
        )

    async def _given(self, caller: Caller, view: AnswerView, *, settles: bool = False) -> None:
        """An answer that is at hand is given, also where it cannot be stored that it was: then it comes as mail too."""
        try:
            await self._read(caller, view, settles=settles)
        except Refused as refused:
            if refused.code is not Code.UNAVAILABLE:
                raise

    async def read_answer(self, caller: Caller, message_id: str) -> None:
        """What a waiting asker was given counts as read: in a turn it settles with the turn's end, else now."""
        await self._read(caller, await self.look(caller, message_id), settles=caller.turn is None)

    async def _read(self, caller: Caller, view: AnswerView, *, settles: bool = False) -> None:
        """Of a question back and a late answer only that whose text the view has was given: the other is mail still."""
        shown = view.reply.message_id if view.reply is not None else None

        async def body(work: Work) -> None:
            request = await work.request(view.message_id)
            for ident in (request.closing, request.late) if request else ():
                closing = await work.message(ident) if ident else None
                if closing is None or (closing.intent is Intent.REPLY and closing.id != shown):
                    continue
                if closing.state is State.QUEUED:
                    closing = await read(work, caller, closing)
                if settles and closing.state is State.LEASED and closing.turn == holder(caller):
                    await settle(work, closing, Outcome.ACKED)

        await self._ledger.do_as(caller, body)


async def _give(work: Work, request: Request, text: str, question: bool) -> MessageId | None:
    """The id of the message that carries the reply; None where a `NO_REPLY` carries none."""
    if request.open and question and text.strip() != NO_REPLY_TEXT:
        await close(work, request, Answer.INPUT_REQUIRED, text=text)
    elif request.open:
        await answer(work, request, text)
    elif request.takes_late_answer and not question:
        return await answer_late(work, request, text)
    else:
        raise Refused(Code.ALREADY_ANSWERED, f"the request is {request.state} already")
    closed = await work.request(request.id)
    return closed.closing if closed and closed.state is not Answer.NO_REPLY else None


async def _settle_answered(work: Work, caller: Caller, message: Message) -> None:
    """A reply settles the delivery of its request, also of one that is parked. What is not leased is leased for
    that moment."""
    if message.state is State.PARKED:
        await decided(work, message, "answered meanwhile")
        message = message.to_queued()
    if message.state is State.QUEUED:
        message = await read(work, caller, message)
    if message.state is State.LEASED and message.turn == holder(caller):
        await settle(work, replace(message, read_at=message.read_at or work.now), Outcome.ACKED)


async def _leave(work: Work, withdrawn: Request) -> None:
    """A parent that waited for nothing else will be answered by the turn that acts for it. Where none does,
    nobody would ever come back to it."""
    parent = await work.request(withdrawn.parent) if withdrawn.parent else None
    turn = await work.store.live_turn(withdrawn.asker)
    if parent is None or not parent.open or (turn is not None and parent.id in (turn.acts_for, *turn.inputs)):
        return
    asker = await work.session(withdrawn.asker)
    if asker is not None and asker.inhabited:
        return  # It is at work on it still, or closes it as it stops.
    if not await pending(work, parent.id):
        await close(work, parent, Answer.FAILED, reason="what was asked on its behalf has been withdrawn")


async def _kept_back_by(work: Work, caller: Caller, closing: Message | None) -> str | None:
    """Who has paused all traffic between agents, where that keeps an answer from whoever asks for it."""
    if closing is None or closing.intent is not Intent.REPLY or closing.state is not State.QUEUED:
        return None
    await work.regime()
    return await work.means.paused_by() if caller.origin is not Origin.USER else None


async def _reason(work: Work, message: Message, request: Request | None) -> str | None:
    """Why a request closed without an answer; while it is open, what it waits for, beside its turn in the line."""
    if request is not None and not request.open:
        return request.reason
    if message.state is State.HELD:
        return wording.HELD
    if message.state is not State.QUEUED:
        return message.reason
    session = await work.session(message.recipient)
    paused = await work.means.paused_by()
    obstacle = wording.obstacle(session, message, work.now, all_paused_by=paused) if session is not None else None
    return message.reason or obstacle


async def _asked_of(work: Work, caller: Caller, message_id: str) -> tuple[Message, Request]:
    message = await work.mail(message_id, caller.session)
    if message is None or message.recipient != caller.session:
        raise unknown_message()
    request = await work.request(message.id)
    if request is None:
        raise Refused(Code.NO_RETURN_PATH, "this message expects no answer")
    return message, request


async def _sent_by(work: Work, caller: Caller, message_id: str) -> Message:
    message = await work.mail(message_id, caller.session)
    if message is None or message.sender != caller.session:
        raise unknown_message()
    return message
