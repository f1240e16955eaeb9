"""What the operator's file says of sessions, brought to those that are at work."""

from collections.abc import Sequence
from contextlib import ExitStack

from bridge.flow.agents import Agents
from bridge.flow.control import Control
from bridge.flow.ledger import Ledger
from bridge.flow.roster import Roster
from bridge.flow.turns import Turns
from bridge.ids import SHELL, SessionId, profile_of, session_id
from bridge.session import Declared, Source


async def redeclare(
    declared: Sequence[Declared],
    ledger: Ledger,
    roster: Roster,
    control: Control,
    turns: Turns,
    agents: Agents,
) -> None:
    """As `Roster.declare`: but a turn of a session that has left the file, also one that an earlier bridge has left to
    go on, is ended before the session is closed, and its agent after it."""
    leaving = await _leaving(declared, ledger, roster.profile)
    with ExitStack() as held:
        for session in leaving:
            held.enter_context(turns.held(session))
            await control.halt(session)
        await roster.declare(declared)
        for session in leaving:
            await agents.retire(session)
    for session in await ledger.store.waiting_sessions():
        ledger.wake.lane(session)


async def _leaving(declared: Sequence[Declared], ledger: Ledger, profile: str) -> list[SessionId]:
    """The open sessions that are in the file no more."""
    named = {session_id(profile, SHELL), *(one.id for one in declared)}
    return [
        one.id
        for one in await ledger.store.sessions()
        if one.source is Source.FILE and one.closed_at is None and profile_of(one.id) == profile and one.id not in named
    ]
