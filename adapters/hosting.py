"""The composition root of workers: `python -P -m adapters.hosting FD` forks one for each request on that socket."""

import asyncio
import importlib
import logging
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from typing import Any

from adapters import orphans
from adapters.acp.descent import descent_of
from adapters.acp.orders import carried_out
from adapters.system import SystemClock
from adapters.worker.cradle import rock
from adapters.worker.door import stranger
from adapters.worker.host import host
from adapters.worker.proof import peer_pid
from bridge.caller import Descent
from bridge.ids import SessionId
from bridge.ports.runtime import Runtime
from bridge.redaction import Redaction

_NEEDED = ("adapters.acp.opening",)


def _runtime(order: Mapping[str, Any], on_stderr: Callable[[SessionId, str], None]) -> Runtime:
    return carried_out(order, SystemClock(), on_stderr)


def _admits(connection: socket.socket) -> bool:
    """No agent adopts another's worker."""
    pid = peer_pid(connection)
    return pid is not None and stranger(connection) and descent_of([pid]) is not Descent.LEFT


async def _work(connection: socket.socket) -> None:
    told_to_end = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told_to_end.set)
    burying = asyncio.create_task(orphans.reaping())
    try:
        await host(connection, _runtime, lambda secrets: Redaction(secrets).redacted, told_to_end, _admits)
    finally:
        burying.cancel()


def work(connection: socket.socket) -> None:
    """What a worker does from its birth to its end."""
    logging.basicConfig(level=logging.WARNING, format="worker: %(message)s")
    # Not uvloop: its children inherit a second end of each of their pipes, so that a closed one is not seen.
    asyncio.run(_work(connection))


def main(requests: int) -> None:
    for name in _NEEDED:
        importlib.import_module(name)
    rock(socket.socket(fileno=requests), work)


if __name__ == "__main__":
    main(int(sys.argv[1]))
