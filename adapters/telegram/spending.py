"""The budget as it outlives the bridge: what is spent, and what Telegram has halted, is stored before it counts."""

import asyncio
import json
import logging
from collections import defaultdict
from collections.abc import Mapping

from adapters.telegram.budget import Budget, Request
from adapters.telegram.place import SCHEME
from bridge.errors import Refused
from bridge.ports.chat import Intake, Later, NotDelivered
from bridge.ports.clock import Clock
from bridge.post import Urgency

_LOG = logging.getLogger(__name__)

_BUDGET = "budget:"
_STORE_S = 5.0
"""How long to wait for a store that takes nothing."""


class Spending:
    """One small note a chat. Halts are of a chat, or of a method of the API that concerns none.

    `on_its_way_s` is how long after it was made a request may still reach Telegram.
    """

    def __init__(self, budget: Budget, intake: Intake, clock: Clock, *, on_its_way_s: float) -> None:
        self._budget = budget
        self._intake = intake
        self._clock = clock
        self._on_its_way_s = on_its_way_s
        self._halts: dict[str, tuple[float, float]] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._wanted: defaultdict[str, int] = defaultdict(int)
        self._kept: defaultdict[str, int] = defaultdict(int)

    async def restore(self) -> None:
        """Once, before anything is sent. Raises `Refused` while the store is away."""
        now = self._clock.now()
        for key, text in (await self._intake.recall(SCHEME)).items():
            if not key.startswith(_BUDGET):
                continue
            of = key.removeprefix(_BUDGET)
            spent, halt = _read(text)
            if halt is not None:
                self._halts[of] = halt
            if of.lstrip("-").isdecimal():
                self._budget.restore(int(of), spent, now)

    async def begin(self, chat: int, urgency: Urgency | None) -> Request:
        """Spends one request in the chat, durably; without an urgency whatever is left.

        Raises `Later`, or `NotDelivered` while the store is away: then nothing is spent.
        """
        now = self._clock.now()
        if urgency is None:
            request = self._budget.spend(chat, now)
        else:
            self.check(str(chat))
            taken = self._budget.take(chat, now, urgency)
            if not isinstance(taken, Request):
                raise _later(taken)
            request = taken
        try:
            await self._keep(str(chat))
        except Refused as refused:
            self._budget.withdrawn(request)
            raise NotDelivered(f"what is spent cannot be stored: {refused.reason}", retry_at=now + _STORE_S) from None
        except BaseException:
            self._budget.withdrawn(request)
            raise
        return request

    def expect_room(self, chat: int, urgency: Urgency) -> None:
        """Raises `Later` where such a request could not be made now."""
        self.check(str(chat))
        now = self._clock.now()
        opens = self._budget.opens_at(chat, now, urgency)
        if opens > now:
            raise _later(opens)

    def end(self, request: Request) -> None:
        self._budget.answered(request, self._clock.now())

    def check(self, of: str) -> None:
        """Raises `Later` while Telegram wants nothing of that chat, or of that method."""
        now = self._clock.now()
        until = self._halted_until(of, now)
        if until > now:
            raise Later("Telegram has asked for a pause", until=until)

    async def halt(self, of: str, seconds: float) -> float:
        """Telegram wants nothing of that chat, or of that method, for so long. Returns when it is over."""
        now = self._clock.now()
        until = max(now + seconds, self._halted_until(of, now))
        self._halts[of] = now, until
        try:
            await self._keep(of)
        except Refused as refused:
            _LOG.warning("A pause that Telegram has asked for is not stored: %s", refused.reason)
        return until

    def _halted_until(self, of: str, now: float) -> float:
        """Where the clock was set back, a halt still takes no longer than it was to take."""
        since, until = self._halts.get(of, (now, now))
        return until if since <= now else min(until, now + until - since)

    async def _keep(self, of: str) -> None:
        """Stores the note as it is by now. Of many at once one does it for all that came before it."""
        self._wanted[of] = mine = self._wanted[of] + 1
        async with self._locks[of]:
            if self._kept[of] >= mine:
                return
            newest = self._wanted[of]
            await self._intake.remember(SCHEME, f"{_BUDGET}{of}", self._note(of))
            self._kept[of] = newest

    def _note(self, of: str) -> str:
        note: dict[str, object] = {}
        if of.lstrip("-").isdecimal():
            note["spent"] = self._budget.spent(int(of), self._on_its_way_s)
        halt = self._halts.get(of)
        if halt is not None and halt[1] > self._clock.now():
            note["halted"] = halt
        return json.dumps(note)


def _later(until: float) -> Later:
    return Later("Telegram takes only so many messages from a bot", until=until)


def _read(text: str) -> tuple[list[float], tuple[float, float] | None]:
    """What an unreadable note says is nothing: Telegram itself still has its limits."""
    try:
        note: Mapping[str, object] = json.loads(text)
        spent, halted = note.get("spent") or [], note.get("halted")
        since, until = map(float, halted) if isinstance(halted, list) else (0.0, 0.0)
        times = [float(at) for at in spent] if isinstance(spent, list) else []
    except (ValueError, TypeError, AttributeError):
        _LOG.warning("A note of what was sent lately cannot be read")
        return [], None
    return times, (since, until) if until else None
