"""What is shown of traffic: the steps of a message, and how the bridge stands; to each only what it may know of."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bridge.caller import Caller
from bridge.flow.causes import unknown_message
from bridge.flow.charter import Charter
from bridge.flow.directory import Directory
from bridge.flow.gateways import Gateways
from bridge.flow.ledger import Ledger
from bridge.flow.turns import Turns
from bridge.message import Origin
from bridge.trace import Step
from bridge.views import StatusView


@dataclass(frozen=True, slots=True)
class Running:
    """The bridge as a process. `health` is what is shown of its chat, or None where none is configured."""

    pid: int
    version: str
    store: str
    started_at: float
    health: Callable[[], Mapping[str, object] | None]


class Insight:
    def __init__(
        self,
        ledger: Ledger,
        directory: Directory,
        turns: Turns,
        charter: Charter,
        gateways: Gateways,
        running: Running,
    ) -> None:
        self._ledger = ledger
        self._directory = directory
        self._turns = turns
        self._charter = charter
        self._gateways = gateways
        self._running = running

    async def trace(self, caller: Caller, ident: str) -> list[Step]:
        """Raises `unknown_message` where there is none that the caller may see."""
        person = caller.origin is Origin.USER
        whose = f"{self._directory.profile}/*" if person else caller.session
        steps = await self._ledger.store.steps(ident, whose, withheld=person)
        if not steps:
            raise unknown_message()
        return steps

    async def status(self, caller: Caller) -> StatusView:
        """An agent's counts are of what its session may discover (invariant 12), everybody else's of all."""
        store, now = self._ledger.store, self._ledger.clock.now()
        if caller.bound:
            sessions = await self._directory.discoverable(caller)
            turns = sum(turn.session in sessions for turn in await store.live_turns())
            waiting = [message.queued_at for one in sessions for message in await store.queue(one)]
            queued, oldest = len(waiting), min(waiting, default=None)
        else:
            sessions = await self._directory.open_sessions()
            turns = self._turns.running()
            queued, oldest = await store.queued()
        running = self._running
        health = running.health()
        return StatusView(
            pid=running.pid,
            version=running.version,
            profile=self._directory.profile,
            uptime_s=round(now - running.started_at, 3),
            store=f"{running.store}, without room" if await store.short() else running.store,
            telegram=dict(health) if health is not None else None,
            sessions=len(sessions),
            turns=turns,
            queued=queued,
            oldest_queued_s=round(now - oldest, 3) if oldest is not None else None,
            paused_by=(await self._ledger.regime()).paused_by,
            file=self._charter.file,
            outdated=await self._directory.outdated(sessions),
            gateways=() if caller.bound else tuple(await self._gateways.views()),
        )
