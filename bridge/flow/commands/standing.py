"""How it stands with the session at a place: what it does and since when, what waits and why, and who is asked."""

from collections.abc import Sequence

from bridge import phrases, wording
from bridge.activity import elapsed
from bridge.flow.work import Work
from bridge.ids import handle_of
from bridge.session import Session
from bridge.views import SessionView

_ASKED = 5


async def standing(work: Work, session: Session, view: SessionView) -> str:
    """The first line says what its own people must know, if they are to know only one thing."""
    lines = [" ".join([f"{wording.session_line(view)}.", *_held_back(session, view)])]
    lines += await _turn(work, session)
    lines += await _waiting(work, session)
    lines += await _asked(work, session)
    if view.agent is not None:
        lines.append(f"Agent: {view.agent}.")
    if view.places:
        lines.append(f"Places: {', '.join(view.places)}.")
    return "\n".join(lines)


def _held_back(session: Session, view: SessionView) -> list[str]:
    told = []
    if view.outdated:
        told.append("It runs on older settings: /new gives it a fresh context with those of now.")
    if session.answering is not None:
        told.append(f"{session.answering} answers for {session.agent}.")
    if session.rested:
        told.append("It is stopped: other sessions wait until /resume or your next message.")
    if session.paused is not None:
        told.append(wording.paused("It", session.paused, "Set"))
    return told


async def _turn(work: Work, session: Session) -> list[str]:
    turn = await work.store.live_turn(session.id)
    if turn is None:
        return []
    message = await work.message(turn.inputs[0])
    about = ""
    if message is not None:
        whose = "a person" if message.sender == session.id else handle_of(message.sender)
        about = f" on what {whose} sent: “{phrases.one_line(message.text, 80)}”"
    return [f"At work for {elapsed(work.now - turn.started_at)}{about}."]


async def _waiting(work: Work, session: Session) -> list[str]:
    waiting = [message for message in await work.queue(session.id) if message.wake]
    if not waiting:
        return []
    first, paused_by = waiting[0], await work.means.paused_by()
    why = wording.obstacle(session, first, work.now, all_paused_by=paused_by)
    if why is None and first.waits(work.now):
        again = f"tried again in {elapsed(first.due_at - work.now)}"
        why = f"{again}: {phrases.one_line(first.reason)}" if first.reason else again
    return [f"Waiting: {phrases.counted(len(waiting), 'message')}{f' ({why})' if why else ''}. See /queue."]


async def _asked(work: Work, session: Session) -> Sequence[str]:
    requests = await work.store.open_requests_of(session.id)
    if not requests:
        return []
    told = [f"{handle_of(one.asked)} for {elapsed(work.now - one.opened_at)}" for one in requests[:_ASKED]]
    if len(requests) > _ASKED:
        told.append(f"{len(requests) - _ASKED} more")
    return [f"It waits for answers of: {', '.join(told)}."]
