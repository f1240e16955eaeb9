"""What a caller is working on: the causes of its sends, and the place where its answers are shown."""

from collections.abc import Iterable
from dataclasses import replace

from bridge.caller import Caller
from bridge.errors import Code, Refused
from bridge.flow.work import Work
from bridge.ids import Place, SessionId
from bridge.loops import Cause, cause_of
from bridge.message import Intent, Origin
from bridge.session import Binding
from bridge.turn import Turn


async def causes_of(work: Work, caller: Caller, turn: Turn | None) -> list[Cause]:
    """The inputs of the running turn and what was read in it. An agent without a turn has what it read since
    its last input from a person, for at most `cause_memory_s` after settling. A person begins anew."""
    if caller.origin is Origin.USER or caller.person is not None:
        return []
    if turn is not None:
        inputs = [await work.message(one) for one in turn.inputs]
        read = await work.store.read_in(turn.id)
        found = {one.id: one for one in [*inputs, *read] if one is not None and one.turn == turn.id}
        return [cause_of(one) for one in found.values()]
    if not caller.bound:
        return []
    read = await work.store.read_by(caller.session, work.now - work.limits.cause_memory_s)
    session = await work.session(caller.session)
    prompted_at = (session.prompted_at if session is not None else None) or 0.0
    last_input = max((one.accepted_at for one in read if one.intent is Intent.INPUT), default=prompted_at)
    return [cause_of(one) for one in read if (one.read_at or 0) >= last_input]


async def replied_to(work: Work, caller: Caller, in_reply_to: str | None) -> Cause | Refused | None:
    """The cause that `in_reply_to` names. Only a message that the caller sent or received can be one."""
    if in_reply_to is None:
        return None
    message = await work.mail(in_reply_to, caller.session)
    if message is None:
        return unknown_message()
    return cause_of(message, caller.session)


def unknown_message() -> Refused:
    return Refused(Code.UNKNOWN_MESSAGE, "no such message was sent or received here")


def place_for(work: Work, caller: Caller, turn: Turn | None, own: Iterable[Binding]) -> Place | None:
    """Where what comes of a call is shown: where it was said, else where the turn is shown, else at the
    caller's `own` first place that a chat serves. A person's shell shows it itself."""
    if caller.place is not None:
        return caller.place
    if turn is not None and turn.place is not None:
        return turn.place
    return served(work, own) if caller.origin is not Origin.USER else None


async def first_place(work: Work, session: SessionId) -> Place | None:
    return served(work, await work.store.places(session))


def served(work: Work, places: Iterable[Binding]) -> Place | None:
    """The first of them that a chat serves, and that is not gone."""
    there = (one.place for one in places if one.gone_at is None)
    return next((place for place in there if work.means.chat_of(place) is not None), None)


async def mark_begun(work: Work, turn: Turn) -> None:
    """A call that changes something is a tool that has begun, whether its agent announces it or not."""
    current = await work.turn(turn.id)
    if current is not None and current.live and not current.tools_begun:
        work.put(replace(current, tools_begun=True))
