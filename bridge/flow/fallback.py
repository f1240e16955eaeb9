"""Agents that stand in for a session's own, while it is at a limit of its provider (DESIGN §8).

Each has a context of its own. One that has failed rests for a minute at least: so however many there are, they never
hand an input to each other in a circle.
"""

from collections.abc import Iterator
from dataclasses import replace

from bridge import wording
from bridge.flow.showing import show
from bridge.flow.work import Work
from bridge.post import PostKind
from bridge.session import Session, Standby
from bridge.turn import Failure, FailureKind, Turn
from bridge.views import minute

_REST_S = {FailureKind.CAPACITY: 300.0, FailureKind.RATE_LIMIT: 900.0, FailureKind.BILLING: 3_600.0}
"""How long an agent is not tried after it has failed so, where it does not say when that is over."""

_UNFIT_REST_S = {FailureKind.AUTH: 3_600.0, FailureKind.CONFIG: 3_600.0}
"""By these one that stands in is no help, whereas the session's own needs its people."""

_LEAST_REST_S = 60.0


async def hand_over(work: Work, turn: Turn, failure: Failure) -> float | None:
    """Lets the next agent answer after a turn that has done nothing yet. Returns when the turn's inputs may run again:
    now, or once the first of the agents has rested where none is left. None where no other may stand in."""
    session = await work.session(turn.session)
    if session is None or turn.tools_begun or session.answers is None or not session.options.fallback:
        return None
    rests = _REST_S if session.answering is None else _REST_S | _UNFIT_REST_S
    if failure.kind not in rests:
        return None
    until = failure.resets_at or work.now + rests[failure.kind]
    until = max(until, work.now + _LEAST_REST_S)
    resting = _noted(session, replace(_standby(session, session.answers), alias=session.alias, rests_until=until))
    first = min(_agents(resting), key=lambda name: _rests(resting, name, work.now))
    work.put(_switched(resting, first))
    if (wait := _rests(resting, first, work.now)) > 0:
        return work.now + wait
    text = wording.stands_in(session.id, session.answers, failure.detail, first, minute(until))
    await show(work, f"answers:{turn.id}", turn.place, PostKind.NOTICE, text, session=session.id)
    return work.now


async def turned_back(work: Work, session: Session, turn: Turn) -> Session:
    """The session with the first of its agents that rests no more, as a turn begins."""
    every = list(_agents(session))
    first = min(every, key=lambda name: _rests(session, name, work.now), default=None)
    if first is None or first == session.answers:
        return session
    if session.answers in every and _rests(session, first, work.now) > 0:
        return session
    text = wording.answers_again(session.id, first)
    await show(work, f"answers:{turn.id}:back", turn.place, PostKind.NOTICE, text, session=session.id)
    return _switched(session, first)


def rested(session: Session) -> Session:
    """The session as a person lets it go on: no agent rests any more."""
    return replace(session, standbys=tuple(replace(one, rests_until=None) for one in session.standbys))


def _agents(session: Session) -> Iterator[str]:
    """In the order in which they are tried."""
    if session.agent is not None:
        yield session.agent
        yield from session.options.fallback


def _standby(session: Session, agent: str) -> Standby:
    return next((one for one in session.standbys if one.agent == agent), Standby(agent))


def _rests(session: Session, agent: str, now: float) -> float:
    """For how many seconds yet."""
    until = _standby(session, agent).rests_until
    return max(0.0, until - now) if until is not None else 0.0


def _switched(session: Session, to: str) -> Session:
    """The session with another agent, in that one's own context."""
    if to == session.answers or session.answers is None:
        return session
    session = _noted(session, replace(_standby(session, session.answers), alias=session.alias))
    return replace(session, answering=to if to != session.agent else None, alias=_standby(session, to).alias)


def _noted(session: Session, standby: Standby) -> Session:
    others = tuple(one for one in session.standbys if one.agent != standby.agent)
    return replace(session, standbys=(*others, standby))
