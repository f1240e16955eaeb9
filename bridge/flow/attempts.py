"""Attempts: what somebody tried who may not, for the audit (DESIGN §4)."""

from contextlib import suppress

from bridge.audit import ActKind
from bridge.caller import Caller
from bridge.errors import Refused
from bridge.flow.ledger import Ledger
from bridge.flow.work import Work

_CHARS = 200


async def record_attempt(ledger: Ledger, caller: Caller, what: str, refused: Refused) -> None:
    """While the store is out of reach the refusal holds all the same, and leaves no record."""
    subject = what.encode("utf-8", "replace").decode().replace("\x00", "?")[:_CHARS]

    async def body(work: Work) -> None:
        work.act(ActKind.REFUSED, caller, subject, code=refused.code.value)

    with suppress(Refused):
        await ledger.do(body)
