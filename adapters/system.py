"""The machine's own clock and randomness."""

import asyncio
import time
from random import SystemRandom


class SystemClock:
    """The `bridge.ports.clock.Clock` of real time."""

    def now(self) -> float:
        return time.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def system_randomness() -> SystemRandom:
    """The `bridge.ports.clock.Randomness` of the operating system, fit for ids and tokens."""
    return SystemRandom()
