"""One process that forks workers, for all tests of a test process."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from adapters.acp import passed
from adapters.worker.nursery import Nursery

COMMAND = (sys.executable, "-P", "-m", "adapters.hosting")


class Lent(Nursery):
    """Does not end with who uses it."""

    def __init__(self, requests: socket.socket) -> None:
        super().__init__(COMMAND, {})
        self._requests = requests

    async def _opened(self) -> socket.socket:
        return self._requests

    async def _end(self) -> None:
        """It goes on."""


@contextmanager
def lending() -> Iterator[socket.socket]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        command = [*COMMAND, str(theirs.fileno())]
        with subprocess.Popen(command, env=passed(os.environ), pass_fds=[theirs.fileno()]) as process:
            theirs.close()
            ours.setblocking(False)
            yield ours
            ours.close()
            process.wait(timeout=30)
