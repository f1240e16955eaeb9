"""A clock that a test moves."""

import asyncio

_IDLE_ROUNDS = 5


class ManualClock:
    """`bridge.ports.clock.Clock`: time stands still until `advance` is called."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self._now = now
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    def now(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        sleeper: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self._now + seconds, sleeper))
        await sleeper

    def jump(self, seconds: float) -> None:
        """Moves the time and wakes nobody, as if the machine had slept."""
        self._now += seconds

    def set_back(self, seconds: float) -> None:
        self._now -= seconds

    async def advance(self, seconds: float) -> None:
        """Moves the time, waking each sleeper at its own moment."""
        until = self._now + seconds
        while True:
            await settled()
            due = sorted((at for at, sleeper in self._sleepers if at <= until and not sleeper.done()))
            if not due:
                break
            self._now = max(self._now, due[0])
            for at, sleeper in self._sleepers:
                if at <= self._now and not sleeper.done():
                    sleeper.set_result(None)
            self._sleepers = [(at, sleeper) for at, sleeper in self._sleepers if not sleeper.done()]
        self._now = until
        await settled()


class ShiftingClock(ManualClock):
    """One that is set forward or back, while whoever sleeps sleeps on, as on a real machine."""

    def __init__(self) -> None:
        super().__init__()
        self._shift = 0.0

    def now(self) -> float:
        return super().now() + self._shift

    def shift(self, seconds: float) -> None:
        self._shift += seconds


async def settled(rounds: int = 200) -> None:
    """Lets everything run that can run without the time's moving. It is over once nothing has been ready for a few
    rounds: what comes from the kernel or from a thread needs one of its own."""
    ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]  # no public word tells what is to be run
    idle = 0
    for _ in range(rounds):
        await asyncio.sleep(0)
        idle = 0 if ready else idle + 1
        if idle == _IDLE_ROUNDS:
            return
