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
        self.tasks: dict[asyncio.Task[Any], None] = {}
        self.held_up: list[_Call] | None = None
        self.killed = False
        self.context = contextvars.copy_context()
        self.context.run(_OWNER.set, self)

    @property
    def frozen(self) -> bool:
        return self.held_up is not None

    def kill(self) -> None:
        self.killed = True
        for task in self.tasks:
            task.cancel()


_OWNER: contextvars.ContextVar[Owner | None] = contextvars.ContextVar("owner", default=None)
_Call = tuple[asyncio.Handle, contextvars.Context, Callable[..., object], tuple[Any, ...]]


class _Task(asyncio.Task[Any]):
    """A set of tasks is walked by their hashes, and those of an object are where it lies in memory."""

    _numbers = itertools.count(1)

    def __init__(self, *args: Any, number: int, **kwargs: Any) -> None:
        self._number = number
        super().__init__(*args, **kwargs)

    def __hash__(self) -> int:
        return self._number


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
        self._tasks: dict[asyncio.Task[Any], None] = {}
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
        task = _Task(coro, loop=self, name=str(name or number), context=context, number=number)
        owner = _OWNER.get() if context is None else context.get(_OWNER)
        for kept in (self._tasks, owner.tasks if owner is not None else None):
            if kept is not None:
                kept[task] = None
                task.add_done_callback(kept.pop)
        return task

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        context = contextvars.copy_context() if context is None else context
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append((handle, context, callback, args))
        return handle

    def call_later(
        self, delay: float, callback: Callable[[*Ts], object], *args: *Ts, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        context = contextvars.copy_context() if context is None else context
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, next(self._numbers), (handle, context, callback, args)))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Called by a timer that is cancelled; it is passed over once it is due."""

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.defects.append((str(context.get("message")), context.get("exception")))

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
            for task in list(self._tasks):
                task.cancel()
            self._until(lambda: not self._ready)
            if not self._tasks:
                return
        raise Stuck(f"{len(self._tasks)} tasks do not end: {list(self._tasks)[:3]}")

    def _until(self, over: Callable[[], bool]) -> None:
        rounds = 0
        while not over():
            timers = self._timers
            if not self._ready:
                while timers and timers[0][2][0].cancelled():
                    heapq.heappop(timers)
                if not timers:
                    raise Stuck("everybody waits, and nothing will ever happen")
                self._now = max(self._now, timers[0][0])
                rounds = 0
            while timers and timers[0][0] <= self._now:
                self._ready.append(heapq.heappop(timers)[2])
            rounds += 1
            if rounds > _ROUNDS_AT_ONCE:
                raise Stuck(f"the time stands still at {self._now:.3f}")
            self._round()

    def _round(self) -> None:
        for _ in range(len(self._ready)):
            call = self._ready.popleft()
            handle, context, callback, args = call
            if handle.cancelled():
                continue
            owner = context.get(_OWNER)
            if owner is not None and owner.held_up is not None:
                owner.held_up.append(call)
                continue
            context.run(callback, *args)
