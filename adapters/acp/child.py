"""A started process: in a session and group of its own, never outliving its leader."""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from adapters.acp.tail import Tail
from adapters.orphans import OWN
from adapters.process import birth_of, kill, signalled
from bridge.turn import Process

_LAST_OUTPUT_S = 0.5
_KILL_S = 5.0


class Child(asyncio.SubprocessProtocol):
    """Its exit is noticed at once, whoever still holds its pipes, and takes the rest of its group along."""

    process: Process

    def __init__(self, tail: Tail) -> None:
        self.exited = asyncio.Event()
        self._early: list[bytes] = []
        self._on_output: Callable[[bytes], None] = self._early.append
        self._on_end: Callable[[], None] | None = None
        self._tail = tail
        self._pipes_open = {1, 2}
        self._closed = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._stdin_open = True

    @classmethod
    async def spawn(cls, command: Sequence[str], *, cwd: str, env: Mapping[str, str], tail: Tail) -> "Child":
        """Raises `OSError` where the command cannot be run."""
        loop = asyncio.get_running_loop()
        with OWN.starting():
            _, child = await loop.subprocess_exec(
                lambda: cls(tail), *command, cwd=cwd, env=dict(env), start_new_session=True
            )
            if not child.exited.is_set():
                OWN.add(child.process.pid)
        return child

    @property
    def returncode(self) -> int | None:
        return self._transport.get_returncode()

    def listen(self, on_output: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        """From now on `on_output` gets stdout as it comes, beginning with what came before; `on_end` is called
        once, after the last of it."""
        self._on_output, self._on_end = on_output, on_end
        for data in self._early:
            on_output(data)
        if self._closed.is_set():
            on_end()

    async def write(self, data: bytes) -> None:
        """Returns once the pipe has room again. Raises `ConnectionError` where nobody reads any more."""
        if self._stdin_open:
            self._pipe(0).write(data)
            await self._writable.wait()
        if not self._stdin_open:
            raise ConnectionError("the agent has ended")

    def hold(self, held: bool) -> None:
        """Stops reading its output for a while."""
        if 1 in self._pipes_open:
            pipe = cast(asyncio.ReadTransport, self._transport.get_pipe_transport(1))
            (pipe.pause_reading if held else pipe.resume_reading)()

    def kill(self) -> None:
        """Kills the group. Does nothing once the leader has been seen to end: the number may be another's."""
        if not self.exited.is_set():
            signalled(self.process.pid, signal.SIGKILL)

    async def stop(self, grace_s: float) -> None:
        """Asks it to end, by closing its stdin and then by SIGTERM; kills it after the grace, or when cancelled."""
        try:
            self._close_stdin()
            if not await self._exits_within(grace_s / 2):
                signalled(self.process.pid, signal.SIGTERM)
                await self._exits_within(grace_s / 2)
        finally:
            self.kill()
        await self.gone()

    async def gone(self) -> None:
        """Waits, not for long, until it has ended and its last output has been read."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_KILL_S):
                await self._closed.wait()

    async def _exits_within(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.exited.wait()
        return self.exited.is_set()

    def _pipe(self, fd: int) -> asyncio.WriteTransport:
        return cast(asyncio.WriteTransport, self._transport.get_pipe_transport(fd))

    def _close_stdin(self) -> None:
        if self._stdin_open:
            self._stdin_open = False
            self._writable.set()
            self._pipe(0).close()

    # What asyncio tells
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)
        pid = self._transport.get_pid()
        self.process = Process(pid, birth_of(pid) or "")

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self._on_output(data)
        else:
            self._tail.feed(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 0:
            self._stdin_open = False
            self._writable.set()
        elif fd in self._pipes_open:
            self._pipes_open.discard(fd)
            if fd == 2:
                self._tail.end()
            elif not self.exited.is_set():
                # Without stdout it can answer nothing any more; most often its exit is on the way.
                asyncio.get_running_loop().call_later(_LAST_OUTPUT_S, self.kill)
            self._close_if_over()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def process_exited(self) -> None:
        OWN.remove(self.process.pid)
        kill(self.process)
        self.exited.set()
        self._stdin_open = False
        self._writable.set()
        self._close_if_over()
        # A process that left the group may hold the pipes open for ever.
        asyncio.get_running_loop().call_later(_LAST_OUTPUT_S, self._close)

    def _close_if_over(self) -> None:
        if self.exited.is_set() and not self._pipes_open:
            self._close()

    def _close(self) -> None:
        if not self._closed.is_set():
            self._closed.set()
            self._transport.close()
            if self._on_end:
                self._on_end()
