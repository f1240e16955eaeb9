"""On which terms an agent's question is put to people (DESIGN §4, `peer_tools`)."""

from collections.abc import Sequence
from dataclasses import dataclass

from bridge.flow.kin import line_of, people_at, places_of
from bridge.flow.work import Work
from bridge.ids import Place
from bridge.question import Option, Question
from bridge.quiet import clock, quiet_until
from bridge.session import PeerTools, Session
from bridge.turn import Turn

BEHIND = "another session's message is behind it"


@dataclass(frozen=True, slots=True)
class Terms:
    """`place` is where people are asked, or told that it was `denied`, and why. `by_peer` says that another session may
    be behind the question: then nothing is allowed for longer than this once."""

    place: Place | None
    by_peer: bool = False
    denied: str | None = None

    def options(self, question: Question) -> Sequence[Option]:
        return [one for one in question.options if not (self.by_peer and one.lasting)]


async def terms_of(work: Work, turn: Turn, question: Question) -> Terms:
    """A turn that a peer caused, and from then on one that has read peer mail, goes by the session's `peer_tools`: what
    a form asks for no less than leave to use a tool, for it may be either. Of a child it is the root's habits and
    people that count."""
    current = await work.turn(turn.id)
    session = await work.session(turn.session)
    if current is None or session is None:
        return Terms(turn.place, by_peer=True, denied="its turn is over")
    session = (await line_of(work.session, session))[-1]
    shown = await people_at(work, turn)
    inputs = [await work.message(one) for one in turn.inputs]
    caused = any(one is None or not one.from_person for one in inputs)
    if not caused and not current.peer_read:
        return Terms(shown, denied=_unattended(work, shown))
    if session.habits.peer_tools is PeerTools.INHERIT:
        place = shown
    else:
        place = await _own_place(work, turn)
    why = _denied(work, session, place, quiet=caused or session.habits.peer_tools is not PeerTools.INHERIT)
    terms = Terms(place, by_peer=True, denied=f"{BEHIND}{why}" if why is not None else None)
    leave = question.form is None
    if leave and terms.denied is None and not any(one.allows for one in terms.options(question)):
        return Terms(
            place, by_peer=True, denied=f"{BEHIND}, and the agent offers to allow it for longer than once only"
        )
    return terms


def _denied(work: Work, session: Session, place: Place | None, *, quiet: bool) -> str | None:
    """What is said after the words that a peer is behind it; None where people are asked."""
    if session.habits.peer_tools is PeerTools.DENY:
        return ""
    until = quiet_until(session.habits.quiet, session.habits.timezone, work.now) if quiet else None
    if until is not None:
        return f", and nobody is asked in the quiet hours until {clock(session, until)}"
    unattended = _unattended(work, place)
    return f", and {unattended}" if unattended else None


def _unattended(work: Work, place: Place | None) -> str | None:
    return None if work.means.attended(place) else "nobody attends who could allow it"


async def _own_place(work: Work, turn: Turn) -> Place | None:
    """Of the session's own places, the turn's where it is one of them, else the first at which people attend; never a
    place that only the peer has."""
    own = [one.place for one in await places_of(work, turn.session)]
    own.sort(key=lambda place: place != turn.place)
    served = [place for place in own if work.means.chat_of(place) is not None]
    return next(filter(work.means.attended, served), next(iter(served), None))
