"""What a worker that has ended left on record of a turn."""

import asyncio
from collections.abc import Callable, Sequence

from adapters.worker.codec import Malformed, event_of, read
from adapters.worker.execution import RESULT
from adapters.worker.journal import Found, Record
from adapters.worker.terms import Done, Ready
from bridge.history import History
from bridge.ports.runtime import Context, Left, Listener, Prompt, Result
from bridge.turn import Failure, FailureKind, Process

_AT_ONCE = 100


async def retell(records: Sequence[Record], after: int, listener: Listener) -> Result | None:
    """Tells the events after that number, and returns the result, where there is one. Raises `Malformed`."""
    for record in records:
        if record.number % _AT_ONCE == 0:
            await asyncio.sleep(0)  # a long one holds up nobody else
        if record.number <= after:
            continue
        if record.kind == RESULT:
            return read(Done, record.body).result
        event = event_of(record.kind, record.body)
        if event is not None:
            await listener.happened(event, record.number)
    return None


class Remains:
    """`bridge.ports.runtime.Agent` of a process that has ended: it can be rejoined, and nothing else."""

    alive = False
    left: Sequence[Left] = ()
    opening: Sequence[str] = ()

    def __init__(self, ready: Ready, found: Found, forgotten: Callable[[], None]) -> None:
        self._ready = ready
        self._found = found
        self._forgotten = forgotten

    @property
    def process(self) -> Process:
        return self._ready.process

    @property
    def alias(self) -> str:
        return self._ready.alias

    @property
    def context(self) -> Context:
        return self._ready.context

    @property
    def history(self) -> History:
        return History()

    @property
    def seal(self) -> str:
        return self._ready.seal

    async def prompt(self, prompt: Prompt, listener: Listener) -> Result:
        return Result("", "error", Failure(FailureKind.CRASH, "The agent's process has ended."))

    async def rejoin(self, listener: Listener, after: int) -> Result | None:
        """A record that is damaged ends what can be told: what comes then is unknown."""
        try:
            return await retell(self._found.records, after, listener)
        except Malformed:
            return None

    async def forget(self) -> None:
        self._forgotten()

    async def cancel(self, grace_s: float) -> None:
        """Nothing runs."""

    async def close(self) -> None:
        """It has ended."""

    async def leave(self) -> None:
        """It has ended."""
