"""The event loop of the bridge: uvloop, which hands callbacks on in two thirds of the time. The collector of garbage is
seldom in its way."""

import asyncio
import gc
from collections.abc import Coroutine
from typing import Any, TypeVar

import uvloop

_T = TypeVar("_T")

_COLLECT_AFTER = (10_000, 20, 50)
"""Objects, and collections of the younger ones. Most of what the bridge makes is freed as it is let go, without the
collector. At the usual 700 objects a burst of mail has it look through all that waits again and again, while the loop
stands."""


def run_loop(main: Coroutine[Any, Any, _T]) -> _T:
    """As `asyncio.run`. The collector's thresholds are those of the whole process, and stay."""
    gc.set_threshold(*_COLLECT_AFTER)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main)
