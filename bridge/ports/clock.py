"""Time and randomness, injected so that a test or a simulation owns them."""

from typing import Protocol


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since 1970 in UTC."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class Randomness(Protocol):
    def getrandbits(self, k: int, /) -> int: ...

    def random(self) -> float: ...
