"""Asking a lost turn's agent what it had done: its own history is the proof (invariant 5)."""

import logging
from collections.abc import Awaitable, Callable

from bridge.flow.agents import Agents
from bridge.flow.ledger import Ledger
from bridge.flow.work import Work
from bridge.history import doubt
from bridge.ports.runtime import StartFailed
from bridge.turn import Process, Turn

log = logging.getLogger(__name__)

_CANNOT_ASK = "its agent cannot be asked how far it came"


async def replayed_doubt(
    ledger: Ledger, agents: Agents, turn: Turn, born: Callable[[Process], Awaitable[None]]
) -> str | None:
    """Why a lost turn may have acted, or None where it surely did not. Its agent is started to replay its history,
    shows nothing of it, and stays for the session's next turn."""
    session = await ledger.surely(lambda work: work.session(turn.session))
    if session is None or session.answers is None or session.alias is None:
        return _CANNOT_ASK
    if session.paused is not None or session.closed_at is not None:
        return _CANNOT_ASK
    try:
        agent = await agents.ready(session, born, to_show=True)
    except StartFailed as failed:
        return f"{_CANNOT_ASK} ({failed.failure.detail})"
    except Exception:
        # A defect of a runtime must not keep the turn for ever: its people decide.
        log.exception("%s: its agent could not be asked what its lost turn had done", turn.session)
        return _CANNOT_ASK
    has_read = not agents.embeds(session) and await ledger.surely(lambda work: _has_read(work, turn))
    return doubt(turn, agent.history, has_read=has_read)


async def _has_read(work: Work, turn: Turn) -> bool:
    return any(one.read_at is not None and not one.from_person for one in await work.taken(turn.id))
