"""Bridges that start fast: a process that has imported everything forks one for each line that it is given.

Each is `tieline run` in a process of its own; only its imports are done. A line names the pipe that becomes its stdout;
the answer is its pid.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]


@asynccontextmanager
async def forking(environ: dict[str, str], stderr: Path) -> AsyncIterator["Forks"]:
    with stderr.open("ab") as errors:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "tests.faults.forked_bridge"),
            cwd=ROOT,
            env={**environ, "PYTHONPATH": str(ROOT)},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        await process.stdout.readline()
        yield Forks(process)
    finally:
        process.stdin.close()
        await process.wait()


class Forks:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def start(self, pipe: Path) -> "Forked":
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self._process.stdin.write(f"{pipe}\n".encode())
        pid = int(await self._process.stdout.readline())
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reading, "rb")
        )
        return Forked(pid, reader)


class Forked:
    """A bridge. `ready` returns once it accepts, or False where it ends before."""

    def __init__(self, pid: int, stdout: asyncio.StreamReader) -> None:
        self._pid = pid
        self._life = os.pidfd_open(pid)
        self._stdout = stdout

    async def ready(self) -> bool:
        return b'"ready"' in await self._stdout.readline()

    async def kill(self) -> None:
        """Returns once it is gone, and so are its locks."""
        gone, loop = asyncio.Event(), asyncio.get_running_loop()
        loop.add_reader(self._life, gone.set)
        os.kill(self._pid, signal.SIGKILL)
        await gone.wait()
        loop.remove_reader(self._life)
        os.close(self._life)
        await self._stdout.read()


def _serve() -> None:
    from adapters import acp  # noqa: PLC0415 - the point of this process is when these are imported
    from adapters.mcp import server  # noqa: PLC0415
    from adapters.run import run  # noqa: PLC0415

    asyncio.run(acp.preload())
    asyncio.run(server.preload())
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # Its children leave nothing behind.
    print("imported", flush=True)
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(os.open(line.strip(), os.O_WRONLY), 1)
            os._exit(run([]))
        print(pid, flush=True)


if __name__ == "__main__":
    _serve()
