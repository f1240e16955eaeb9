"""What agents leave behind becomes the bridge's: `descent` tells it by that, and here it is reaped (Linux only).

Why nobody is robbed of an exit status that he waits for: `reap` runs in the thread of the event loop, the first one.
What a process adopts, the kernel gives to that thread; what another thread has started, as by `subprocess.run`, it may
not see (`__WNOTHREAD`). Of the loop's own children it leaves those in `OWN` alone. They are in it from before they
exist, for nothing is reaped while one is being started, until the loop tells of their exit, which it does after it has
waited for them. The loop (libuv) waits for the pids of its own children only, never for any.

SIGCHLD is the loop's and cannot be shared, so this looks every now and then.
"""

import asyncio
import ctypes
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

log = logging.getLogger(__name__)

_PR_SET_CHILD_SUBREAPER = 36  # <linux/prctl.h>
_WNOTHREAD = 0x20000000  # <linux/wait.h>
_LOOK_S = 2.0


class Own:
    """The children that this process has started by the event loop and waits for."""

    def __init__(self) -> None:
        self._pids: set[int] = set()
        self._starting = 0

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Around a start, from before there is a child until it has been added."""
        self._starting += 1
        try:
            yield
        finally:
            self._starting -= 1

    def add(self, pid: int) -> None:
        self._pids.add(pid)

    def remove(self, pid: int) -> None:
        """To be called once it has been waited for."""
        self._pids.discard(pid)

    def may_be(self, pid: int) -> bool:
        return self._starting > 0 or pid in self._pids


OWN = Own()
"""One for the process, as its children are."""


def adopt() -> None:
    """From now on, and for good, this process is the parent of whatever its descendants leave behind."""
    if sys.platform == "linux" and ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        log.warning("This kernel does not give the bridge what its agents leave behind")


async def reaping() -> None:
    """Reaps what was adopted until it is cancelled. To be run in the main thread."""
    while sys.platform == "linux":
        try:
            reap()
        except OSError as error:
            log.warning("What agents leave behind cannot be reaped: %s", error)
            return
        await asyncio.sleep(_LOOK_S)


if sys.platform == "linux":

    def reap() -> int:
        """Reaps the adopted children that have ended, and returns how many. One of its own that has ended and that the
        loop has not waited for yet hides those after it, for the moment that it is there."""
        reaped = 0
        while (ended := _ended()) is not None and not OWN.may_be(ended):
            os.waitpid(ended, os.WNOHANG)
            reaped += 1
        return reaped

    def _ended() -> int | None:
        try:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT | _WNOTHREAD)
        except ChildProcessError:
            return None
        return found.si_pid if found is not None else None
