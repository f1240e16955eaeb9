"""Looks whether the operator's file has changed, and has it read again."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

LOOK_S = 2.0
_SETTLED_S = 0.2
"""A file that is just being written is left alone until it has been the same for so long."""

Mark = tuple[int, int, int]


def mark_of(path: Path) -> Mark | None:
    """Another one once the file is another. None where it is not there: somebody is about to put a new one in its
    place, or has removed it, and then what it said holds on."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


class Watch:
    """One task. `known` is the mark of the file that was read last; `again` is set where somebody wants it read whether
    it has changed or not."""

    def __init__(
        self,
        path: Path,
        known: Mark | None,
        reload: Callable[[], Awaitable[None]],
        again: asyncio.Event,
        look_s: float = LOOK_S,
    ) -> None:
        self._path = path
        self._known = known
        self._reload = reload
        self._again = again
        self._look_s = look_s

    async def run(self) -> None:
        while True:
            wanted = await self._wanted_within(self._look_s)
            mark = mark_of(self._path)
            if not wanted and mark not in (None, self._known):
                while not await self._wanted_within(_SETTLED_S) and mark != (newer := mark_of(self._path)):
                    mark = newer
                wanted = mark is not None
            if wanted:
                self._again.clear()
                # Taken before it is read: whatever is written meanwhile is seen at the next look.
                self._known = mark_of(self._path)
                await self._reload()

    async def _wanted_within(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._again.wait()
        return self._again.is_set()
