"""An event loop without threads, sockets or a clock: its time jumps to the next timer, so that a run depends on
nothing but what it is given."""

import asyncio
import contextvars
import heapq
import itertools
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_ROUNDS_AT_ONCE = 50_000
"""So many rounds without the time's moving are a loop that will not end."""


class Stuck(Exception):
    """Nothing will ever happen again, or everything happens without end in one moment."""


class Owner:
    """Somebody's code in the loop, with all tasks that it has begun: it can be frozen as by SIGSTOP, and killed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.tasks: dict[int, _Task] = {}
        self.held_up: list[_Call] | None = None
        self.killed = False
        self.context = contextvars.copy_context()
        self.context.run(_OWNER.set, self)

    @property
    def frozen(self) -> bool:
        return self.held_up is not None

    def kill(self) -> None:
        self.killed = True
        for task in self.tasks.values():
            task.cancel()


_OWNER: contextvars.ContextVar[Owner | None] = contextvars.ContextVar("owner", default=None)


class _Call:
    """What the loop is to call. Many thousands are made in a run, so it holds no more than that takes; to asyncio it
    is the handle by which a call can be cancelled."""

    __slots__ = ("args", "callback", "context", "dropped")

    def __init__(
        self, callback: Callable[..., object], args: tuple[Any, ...], context: contextvars.Context | None
    ) -> None:
        self.callback = callback
        self.args = args
        self.context = contextvars.copy_context() if context is None else context
        self.dropped = False

    def cancel(self) -> None:
        """It is passed over once it is its turn."""
        self.dropped = True


class _Task(asyncio.Task[Any]):
    """A set of tasks is walked by their hashes, and those of an object are where it lies in memory."""

    def __init__(self, coro: Any, number: int, owner: Owner | None, *, loop: "VirtualLoop", **kwargs: Any) -> None:
        self.number = number
        self.owner = owner
        super().__init__(coro, loop=loop, **kwargs)

    def __hash__(self) -> int:
        return self.number


def acting() -> Owner | None:
    """Whose code it is that asks."""
    return _OWNER.get()


class VirtualLoop(asyncio.AbstractEventLoop):
    """Runs what is ready in the order in which it became so, then moves the time to the next timer."""

    def __init__(self) -> None:
        self._now = 0.0
        self._ready: deque[_Call] = deque()
        self._timers: list[tuple[float, int, _Call]] = []
        self._numbers = itertools.count(1)
        self._tasks: dict[int, _Task] = {}
        self._frozen: dict[Owner, None] = {}
        self.defects: list[tuple[str, BaseException | None]] = []

    # What asyncio asks of a loop

    def time(self) -> float:
        return self._now

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return asyncio._get_running_loop() is self

    def is_closed(self) -> bool:
        return False

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(
        self,
        coro: Any,
        *,
        name: object = None,
        context: contextvars.Context | None = None,
        **_: object,
    ) -> asyncio.Task[Any]:
        number = next(self._numbers)
        owner = _OWNER.get() if context is None else context.get(_OWNER)
        task = _Task(coro, number, owner, loop=self, name=str(name or number), context=context)
        self._tasks[number] = task
        if owner is not None:
            owner.tasks[number] = task
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: Any) -> None:
        del self._tasks[task.number]
        if task.owner is not None:
            del task.owner.tasks[task.number]

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: contextvars.Context | None = None
    ) -> Any:
        call = _Call(callback, args, context)
        self._ready.append(call)
        return call

    def call_later(
        self, delay: float, callback: Callable[[*Ts], object], *args: *Ts, context: contextvars.Context | None = None
    ) -> Any:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: contextvars.Context | None = None
    ) -> Any:
        call = _Call(callback, args, context)
        heapq.heappush(self._timers, (when, next(self._numbers), call))
        return call

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.defects.append((str(context.get("message")), context.get("exception")))

    async def sleep(self, seconds: float) -> None:
        """As `asyncio.sleep`, with nothing between it and the timer: most of what is awaited in a run is time."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        future: asyncio.Future[None] = asyncio.Future(loop=self)
        over = self.call_at(self._now + seconds, _set, future)
        try:
            await future
        finally:
            over.cancel()

    # Running

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """Runs `main` to its end, then cancels what it has left, and waits for that."""
        before = asyncio._get_running_loop()
        asyncio._set_running_loop(self)
        try:
            task: asyncio.Task[T] = self.create_task(main)
            try:
                self._until(task.done)
            finally:
                self._end_all()
            return task.result()
        finally:
            asyncio._set_running_loop(before)

    def freeze(self, owner: Owner) -> None:
        """Nothing of the owner's runs until it is thawed; what is due meanwhile runs then, in its order."""
        if owner.held_up is None:
            owner.held_up = []
            self._frozen[owner] = None

    def thaw(self, owner: Owner) -> None:
        if owner.held_up is not None:
            self._ready.extend(owner.held_up)
            owner.held_up = None
            del self._frozen[owner]

    def _end_all(self) -> None:
        for owner in list(self._frozen):
            self.thaw(owner)
        for _ in range(100):
            for task in list(self._tasks.values()):
                task.cancel()
            self._until(lambda: not self._ready)
            if not self._tasks:
                return
        raise Stuck(f"{len(self._tasks)} tasks do not end: {list(self._tasks.values())[:3]}")

    def _until(self, over: Callable[[], bool]) -> None:
        """In rounds: what a call makes ready is called in the next one, after what has become due meanwhile."""
        ready, timers, rounds = self._ready, self._timers, 0
        while not over():
            if not ready:
                while timers and timers[0][2].dropped:
                    heapq.heappop(timers)
                if not timers:
                    raise Stuck("everybody waits, and nothing will ever happen")
                self._now = max(self._now, timers[0][0])
                rounds = 0
            while timers and timers[0][0] <= self._now:
                ready.append(heapq.heappop(timers)[2])
            rounds += 1
            if rounds > _ROUNDS_AT_ONCE:
                raise Stuck(f"the time stands still at {self._now:.3f}")
            for _ in range(len(ready)):
                call = ready.popleft()
                if not call.dropped and not (self._frozen and _held_up(call)):
                    call.context.run(call.callback, *call.args)


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _held_up(call: _Call) -> bool:
    owner = call.context.get(_OWNER)
    if owner is None or owner.held_up is None:
        return False
    owner.held_up.append(call)
    return True
