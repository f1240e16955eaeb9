"""Sessions that take handoffs only when they are idle (`busy = "reject"`, DESIGN §5)."""

from bridge.flow.work import Work
from bridge.message import Message
from bridge.session import Busy, Session
from bridge.turn import Turn
from bridge.views import Send


async def occupant(work: Work, recipient: Session | None, send: Send) -> Turn | Message | None:
    """What such a session is at work on, or has waiting, as a handoff comes. A refusal for its sake guards it."""
    if recipient is None or not send.wake or not takes_when_idle(recipient):
        return None
    turn = await work.store.live_turn(recipient.id)
    if turn is not None:
        return turn
    return next((one for one in await work.queue(recipient.id) if one.wake), None)


def takes_when_idle(session: Session) -> bool:
    return session.runs and session.habits.busy is Busy.REJECT
