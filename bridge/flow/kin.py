"""Who is above a session, and below it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from bridge.flow.causes import served
from bridge.flow.work import Work
from bridge.gateway import gateway_of
from bridge.ids import Place, SessionId, scheme_of
from bridge.lineage import Line
from bridge.session import Binding, Session
from bridge.turn import Turn


async def line_of(look: Callable[[SessionId], Awaitable[Session | None]], session: Session) -> Line:
    """The session and those above it, the nearest first."""
    line = [session]
    while (parent := line[-1].parent) is not None and (above := await look(parent)) is not None:
        line.append(above)
    return line


def lines_among(sessions: Sequence[Session]) -> list[Line]:
    """The same of each of them, as far as they are among these."""
    known: Mapping[SessionId, Session] = {one.id: one for one in sessions}

    def line(session: Session) -> Line:
        above = known.get(session.parent) if session.parent is not None else None
        return [session, *line(above)] if above is not None else [session]

    return [line(one) for one in sessions]


async def below(work: Work, session: SessionId) -> list[Session]:
    """The open children of a session and theirs."""
    found: list[Session] = []
    for child in await work.store.children(session):
        found += [child, *await below(work, child.id)]
    return found


async def places_of(work: Work, session: SessionId) -> list[Binding]:
    """Where people attend to a session: a child has no places of its own, and its root's people attend to it."""
    known = await work.session(session)
    root = (await line_of(work.session, known))[-1].id if known is not None else session
    return await work.store.places(root)


async def people_at(work: Work, turn: Turn) -> Place | None:
    """Where people are told of a turn: of a child's, which is shown nowhere, at the first such place."""
    return turn.place or served(work, await places_of(work, turn.session))


async def shown_at(work: Work, turn: Turn) -> Place | None:
    """Where the bridge shows what a turn does and says. A gateway shows its own turns at its own places by itself."""
    session = await work.session(turn.session)
    gateway = gateway_of(session.agent) if session is not None else None
    return None if turn.place is not None and scheme_of(turn.place) == gateway else turn.place
