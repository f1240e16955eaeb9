"""The closing of a session: what becomes of its mail and of what it had asked, and of its children (DESIGN §7, §8)."""

from dataclasses import replace
from functools import partial

from bridge import briefing
from bridge.flow.settlement import close, notify_sender, settle
from bridge.flow.tokens import end_tokens
from bridge.flow.work import Work
from bridge.ids import SessionId
from bridge.message import Message, Outcome, State
from bridge.request import Answer, Request
from bridge.session import Session


async def close_session(work: Work, session: Session, reason: str, *, withdrawn_by: SessionId | None = None) -> None:
    """Its mail goes back to its senders, requests to it fail, and its own are withdrawn; its children are retired.

    What `withdrawn_by` had sent to it counts as withdrawn instead. Of what that one waits for it gets a notice, which
    does not wake it.
    """
    work.put(replace(session, closed_at=work.now))
    if not session.runs:
        await end_tokens(work, session.id, "its session was closed")
    await retire_children(work, session.id, "the session of their parent was closed")
    to_it = [one for one in await work.store.open_requests_to(session.id) if await _open(work, one)]
    for kept in await work.store.unsettled_of(session.id):
        message = await work.message(kept.id) or kept
        if message.state is State.SETTLED:
            continue
        if message.sender == withdrawn_by:
            await settle(work, message, Outcome.CANCELLED, reason=reason, by_sender=True)
        else:
            await settle(work, message, Outcome.FAILED, reason=reason)
    for request in to_it:
        if request.asker != withdrawn_by:
            await _close_open(work, request, Answer.FAILED, reason)
        else:
            await _close_open(work, request, Answer.CANCELLED, reason, by_asker=True)
            await _say_withdrawn(work, request, reason)
    for request in await work.store.open_requests_of(session.id):
        await _close_open(work, request, Answer.CANCELLED, reason, by_asker=True)


async def retire_children(work: Work, parent: SessionId, reason: str, *, answered: bool = False) -> None:
    """Closes the children of a session, and ends what they run once this is stored.

    A child retires with the turn that has spawned it, also where it has not answered yet: the turn, and not what it
    works for, is what a person stops, what a crash ends, and what the caps bound. Where that turn came to its own end
    (`answered`), the parent may have forgotten to wait: each of its open requests then closes as failed, like any other
    does, and wakes it. After any other end nobody is there who waits, and nothing may begin anew by itself.
    """
    for child in await work.store.children(parent):
        current = await work.session(child.id) or child
        if current.closed_at is None:
            await close_session(work, current, reason, withdrawn_by=None if answered else parent)
            work.then(partial(work.wake.retired, child.id))


async def drop_unborn(work: Work, message: Message) -> None:
    """A held message has come to nothing. If it was the first task of a child, there is to be no such child."""
    child = await work.session(message.recipient)
    if child is not None and child.parent == message.sender and child.closed_at is None:
        await close_session(work, child, "it was not to be spawned", withdrawn_by=child.parent)


async def _open(work: Work, request: Request) -> Request | None:
    """The request as this change has it, while it is open."""
    newest = await work.request(request.id)
    return newest if newest is not None and newest.open else None


async def _close_open(work: Work, request: Request, state: Answer, reason: str, *, by_asker: bool = False) -> None:
    newest = await _open(work, request)
    if newest is not None:
        await close(work, newest, state, reason=reason, by_asker=by_asker)


async def _say_withdrawn(work: Work, request: Request, reason: str) -> None:
    asker, question = await work.session(request.asker), await work.message(request.id)
    if asker is not None and asker.closed_at is None and question is not None:
        notify_sender(work, question, briefing.closing_text(request.asked, Answer.CANCELLED, reason))
