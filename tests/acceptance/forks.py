"""Bridges that start fast: a process that has imported everything forks one for each that is asked for.

Each is `tieline run`, or another command, in a process of its own, with its own environment, output and end, and with a
terminal where it is given one; only its imports are done. So are those of the process below it that forks the workers
of a bridge, which that else starts as a command.

They hold to no rate of Telegram's unless they are `paced`: three requests in three seconds, less for marks, would have
most tests wait longer for the next request than for all that they are about. What those rates do is for the tests of
the budget, for the storm, and for bridges that start as commands, which all keep them.
"""

import array
import asyncio
import fcntl
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import termios
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NoReturn

from adapters.telegram.budget import Rate, Rates

_ROOT = Path(__file__).parents[2]
_LONGEST = 1 << 20
_ROOMY = Rates(chat=Rate(1000, 1), group=Rate(1000, 1), bot=Rate(1000, 1))
_SLOW_TO_LOAD = (
    *("adapters.run", "adapters.hosting", "adapters.acp.opening", "adapters.mcp.connection"),
    *("adapters.telegram.connection", "adapters.cli.main", "adapters.onboarding.command"),
    "uvicorn.lifespan.off",
)


@contextmanager
def forking() -> Iterator["Forks"]:
    """Ends what it has started."""
    # Packets: a request comes whole, with its files.
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tests.acceptance.forks", str(theirs.fileno())],
            cwd=_ROOT,
            env={**os.environ, "PYTHONPATH": str(_ROOT)},
            pass_fds=[theirs.fileno()],
        )
    with process, ours:
        yield Forks(ours)


class Forks:
    def __init__(self, server: socket.socket) -> None:
        self._server = server

    async def start(
        self,
        arguments: Sequence[str],
        environ: Mapping[str, str],
        stderr: IO[bytes],
        terminal: int | None = None,
        *,
        paced: bool = False,
    ) -> "Forked":
        reading, writing = os.pipe()
        told, telling = socket.socketpair()
        with telling:
            terminals = [] if terminal is None else [terminal]
            files = array.array("i", [telling.fileno(), writing, stderr.fileno(), *terminals])
            request = json.dumps([list(arguments), dict(environ), paced]).encode()
            self._server.sendmsg([request], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)])
        os.close(writing)
        stdout = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stdout), os.fdopen(reading, "rb")
        )
        lines, writer = await asyncio.open_unix_connection(sock=told)
        return Forked(int(await lines.readline()), stdout, lines, writer)


class Forked:
    """A bridge, used as `asyncio.subprocess.Process` is."""

    def __init__(
        self, pid: int, stdout: asyncio.StreamReader, told: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.pid = pid
        self.stdout = stdout
        self.returncode: int | None = None
        self._told = told
        self._writer = writer
        self._ended = asyncio.Lock()

    def send_signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    async def wait(self) -> int:
        """Its exit code, or less the number of the signal that ended it; it is gone by then, and so are its locks."""
        async with self._ended:
            if self.returncode is None:
                self.returncode = int(await self._told.readline())
                self._writer.close()
        return self.returncode


class _Server:
    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._telling: dict[int, socket.socket] = {}

    def serve(self) -> None:
        died, dies = socket.socketpair()
        died.setblocking(False)
        dies.setblocking(False)
        signal.set_wakeup_fd(dies.fileno())
        signal.signal(signal.SIGCHLD, lambda *_: None)
        with selectors.DefaultSelector() as selector, died, dies:
            selector.register(self._requests, selectors.EVENT_READ)
            selector.register(died, selectors.EVENT_READ)
            while True:
                ready = {key.fileobj for key, _ in selector.select()}
                if died in ready:
                    died.recv(_LONGEST)
                    self._bury()
                if self._requests in ready:
                    request, files, _, _ = socket.recv_fds(self._requests, _LONGEST, 4)
                    if not request:
                        break
                    pid = os.fork()
                    if not pid:
                        selector.close()
                        for ours in (died, dies, self._requests, *self._telling.values()):
                            ours.close()
                        _become(request, files)
                    telling, *outputs = files
                    for output in outputs:
                        os.close(output)
                    self._telling[pid] = socket.socket(fileno=telling)
                    self._telling[pid].sendall(b"%d\n" % pid)
        for pid in self._telling:
            os.kill(pid, signal.SIGTERM)

    def _bury(self) -> None:
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                pid, status = ended
                # Nobody may be left who wants to know.
                with suppress(BrokenPipeError), self._telling.pop(pid) as telling:
                    telling.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))


def _become(request: bytes, files: Sequence[int]) -> NoReturn:
    """Goes on as the command of a request, and ends with it."""
    from adapters import compose  # noqa: PLC0415 - it is imported by now
    from adapters.main import main  # noqa: PLC0415
    from adapters.telegram import chat  # noqa: PLC0415

    os.setsid()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    telling, out, err, *terminal = files
    os.close(telling)
    for number, file in enumerate((*(terminal or [os.open(os.devnull, os.O_RDONLY)]), out, err)):
        os.dup2(file, number)
        os.close(file)
    # Those of before know of their files whether one can seek in them.
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(number, mode, buffering=1, encoding="utf-8", closefd=False) for number, mode in enumerate("rww")
    )
    if terminal:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    arguments, environ, paced = json.loads(request)
    os.environ.clear()
    os.environ.update(environ)
    if not paced:
        vars(chat)["Rates"] = lambda: _ROOMY
    vars(compose)["Nursery"] = _with(_cradle())
    sys.exit(main(arguments))


def _cradle() -> socket.socket:
    """A process that forks workers, below this one."""
    from adapters.hosting import work  # noqa: PLC0415
    from adapters.worker.cradle import rock  # noqa: PLC0415

    ours, theirs = socket.socketpair()
    if os.fork():
        theirs.close()
        ours.setblocking(False)
        return ours
    ours.close()
    os.setsid()
    for output in (0, 1, 2):
        os.dup2(os.open(os.devnull, os.O_RDWR), output)
    os.environ.clear()
    rock(theirs, work)
    os._exit(0)


def _with(cradle: socket.socket) -> type:
    from adapters.worker.nursery import Nursery  # noqa: PLC0415

    class Given(Nursery):
        """Begins with a process that is there already."""

        def __init__(self, command: Sequence[str], env: Mapping[str, str]) -> None:
            super().__init__(command, env)
            self._socket = cradle

        async def _opened(self) -> socket.socket:
            return self._socket if self._socket is not None else await super()._opened()

    return Given


def _main(requests: int) -> None:
    gc.disable()
    for name in _SLOW_TO_LOAD:
        importlib.import_module(name)
    gc.freeze()
    gc.enable()
    _Server(socket.socket(fileno=requests)).serve()


if __name__ == "__main__":
    _main(int(sys.argv[1]))
