"""To whom a turn's prompt went, and whom a claim may mean (DESIGN §8).

A bridge knows the agent's context by the id that it has stored. Where the agent has gone on under another id since,
only a record of that compression, which the bridge has not stored yet, explains the difference.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress

from adapters.worker.codec import Malformed, event_of, read
from adapters.worker.execution import ADOPTED
from adapters.worker.journal import Record
from adapters.worker.terms import Claim, Header
from bridge.ports.runtime import Compressed, Execution


def held_under(header: Header, records: Iterable[Record]) -> int:
    """The epoch of the last bridge that has adopted the work, or else of the one that began it."""
    epoch = header.execution.epoch
    for record in records:
        if record.kind == ADOPTED:
            with suppress(Malformed):
                epoch = max(epoch, read(Execution, record.body).epoch)
    return epoch


def refusal(claim: Claim, header: Header, records: Sequence[Record]) -> str | None:
    """Why a claim is not to the work of which these are the records; None where it is."""
    epoch = held_under(header, records)
    if claim.execution.turn != header.execution.turn:
        return "it works on another turn"
    if claim.execution.epoch <= epoch:
        return f"it is held under epoch {epoch}, and epoch {claim.execution.epoch} is not later"
    theirs, own = claim.scope, header.scope
    for what in ("session", "agent", "cwd"):
        if getattr(theirs, what) != getattr(own, what):
            return f"it works for another {what}"
    told = (record for record in records if record.number <= claim.after)
    if theirs.alias != (moved_to(told) or own.alias):
        return "it works on another context of the agent"
    return None


def moved_to(told: Iterable[Record]) -> str | None:
    """The agent's id of its context once it has told all that; None where it is the one that it began with."""
    alias = None
    for record in told:
        if (moved := compressed(record)) is not None:
            alias = moved.alias
    return alias


def compressed(record: Record) -> Compressed | None:
    try:
        event = event_of(record.kind, record.body)
    except Malformed:
        return None
    return event if isinstance(event, Compressed) else None
