"""A store in which everything that may happen in between does happen in between."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any, cast

from adapters.memory.store import MemoryStore
from bridge.ports.store import Store


class _Interleaved:
    """Lets the others run for a while before each call of the store in memory, as a disk would."""

    def __init__(self, seed: int) -> None:
        self._store = MemoryStore()
        self._random = random.Random(seed)

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        method = getattr(self._store, name)

        async def later(*args: object) -> Any:
            for _ in range(self._random.randrange(4)):
                await asyncio.sleep(0)
            return await method(*args)

        return later


def interleaved(seed: int) -> Store:
    return cast(Store, _Interleaved(seed))
