"""What is done beside what asked for it, and is cut off when the bridge ends."""

import asyncio
from collections.abc import Coroutine
from typing import Any


class Errands:
    def __init__(self, tasks: asyncio.TaskGroup) -> None:
        self._tasks = tasks
        self._running: set[asyncio.Task[None]] = set()

    def begin(self, errand: Coroutine[Any, Any, None]) -> None:
        try:
            task = self._tasks.create_task(errand)
        except RuntimeError:
            # The group takes no more tasks: the bridge is ending.
            errand.close()
            return
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    def close(self) -> None:
        for task in self._running:
            task.cancel()
