"""Lanes: what came from one place in its order, however often that has moved, and places side by side."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Iterable
from functools import partial

Act = Callable[[], Awaitable[None]]


class Lanes:
    """A lane is a task that exists only while something waits in it. `names` are all that a lane is called."""

    def __init__(self, tasks: asyncio.TaskGroup, names: Callable[[Hashable], Iterable[Hashable]]) -> None:
        self._tasks = tasks
        self._names = names
        self._waiting: dict[Hashable, deque[Act]] = {}
        self._ahead: dict[Hashable, Hashable] = {}

    def add(self, lane: Hashable, act: Act) -> None:
        """`act` is called once all that was added to the same lane before is done."""
        lane = self.of(lane)
        if lane in self._waiting:
            self._waiting[lane].append(act)
        else:
            self._waiting[lane] = deque([act])
            self._tasks.create_task(self._run(lane))

    def of(self, lane: Hashable) -> Hashable:
        """The one that is meant: something may wait still under a name that it had before."""
        lane = self._ahead.get(lane, lane)
        if lane in self._waiting:
            return lane
        return next((name for name in self._names(lane) if name in self._waiting), lane)

    def join(self, earlier: Hashable, later: Hashable) -> None:
        """From now on what is added to the later lane comes after all that was added to the earlier one."""
        earlier = self._ahead.get(earlier, earlier)
        if earlier != later:
            self._ahead[later] = earlier

    def overtake(self, lane: Hashable, act: Act, *, waited_for: bool) -> None:
        """`act` is called at once. Where it is `waited_for`, what is added to the lane afterwards waits for it too."""
        done = asyncio.Event()
        self._tasks.create_task(_announced(act, done))
        if waited_for:
            self.add(lane, partial(_until, done))

    async def _run(self, lane: Hashable) -> None:
        waiting = self._waiting[lane]
        while waiting:
            await waiting.popleft()()
        del self._waiting[lane]


async def _announced(act: Act, done: asyncio.Event) -> None:
    try:
        await act()
    finally:
        done.set()


async def _until(done: asyncio.Event) -> None:
    await done.wait()
