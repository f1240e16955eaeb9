"""Where the bridge gets its workers from."""

import asyncio
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress

from adapters.orphans import OWN
from adapters.process import birth_of
from bridge.turn import Process

_READY_S = 30.0


class NoWorker(Exception):
    """There can be no worker now."""


class Nursery:
    """Starts the process that forks workers when the first is needed, and again when it has ended.

    `command` is that process, which gets the number of its socket as a last argument and `env` as its environment.
    """

    def __init__(self, command: Sequence[str], env: Mapping[str, str]) -> None:
        self._command = tuple(command)
        self._env = dict(env)
        self._asking = asyncio.Lock()
        self._socket: socket.socket | None = None
        self._process: asyncio.subprocess.Process | None = None

    async def open(self) -> None:
        """Has it ready. Raises `NoWorker`."""
        async with self._asking:
            await self._opened()

    async def worker(self) -> tuple[socket.socket, Process]:
        """A new worker, and the socket on which it says hello. Raises `NoWorker`."""
        asking = asyncio.create_task(self._forked())
        try:
            return await asyncio.shield(asking)
        except asyncio.CancelledError:
            # Its answer is awaited all the same: it must not be taken for that to the next one who asks.
            asking.add_done_callback(_unwanted)
            raise

    async def _forked(self) -> tuple[socket.socket, Process]:
        async with self._asking:
            for _ in range(2):
                requests = await self._opened()
                ours, theirs = socket.socketpair()
                with theirs:
                    pid = await self._ask(requests, theirs)
                birth = birth_of(pid) if pid else None
                if birth is not None:
                    ours.setblocking(False)
                    return ours, Process(pid, birth)
                ours.close()
                if not pid:
                    await self._end()
        raise NoWorker("no process can be started that runs the agent")

    async def close(self) -> None:
        """Workers go on without it."""
        async with self._asking:
            await self._end()

    async def _opened(self) -> socket.socket:
        if self._socket is not None and self._process is not None and self._process.returncode is None:
            return self._socket
        await self._end()
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                with OWN.starting():
                    self._process = await asyncio.create_subprocess_exec(
                        *self._command,
                        str(theirs.fileno()),
                        env=self._env,
                        stdin=asyncio.subprocess.DEVNULL,
                        stdout=asyncio.subprocess.DEVNULL,
                        pass_fds=[theirs.fileno()],
                        start_new_session=True,
                    )
                    OWN.add(self._process.pid)
            except OSError as error:
                ours.close()
                raise NoWorker(f"no process can be started that runs the agent: {error.strerror}") from None
        ours.setblocking(False)
        self._socket = ours
        return ours

    async def _ask(self, requests: socket.socket, theirs: socket.socket) -> int:
        """The pid of the worker at the other end of `theirs`, or 0."""
        loop = asyncio.get_running_loop()
        answer = b""
        with suppress(OSError, TimeoutError, ValueError):
            async with asyncio.timeout(_READY_S):
                socket.send_fds(requests, [b"w"], [theirs.fileno()])
                while not answer.endswith(b"\n"):
                    chunk = await loop.sock_recv(requests, 32)
                    if not chunk:
                        return 0
                    answer += chunk
            return int(answer)
        return 0

    async def _end(self) -> None:
        process, self._process = self._process, None
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            OWN.remove(process.pid)


def _unwanted(asking: "asyncio.Task[tuple[socket.socket, Process]]") -> None:
    """A worker to whom nobody speaks ends."""
    if not asking.cancelled() and asking.exception() is None:
        asking.result()[0].close()
