"""The log of what agents write to stderr: private, bounded, and in nobody's way (DESIGN §8)."""

import errno
import fcntl
import logging
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

MOST = 1 << 20
"""In bytes: then the file becomes the one of the last rotation, and a new one begins."""
_WAITING = 1_000


class Lines(logging.Handler):
    """Puts what a worker itself warns of into its log, among what its agent writes."""

    def __init__(self, log: "WorkerLog", of: str) -> None:
        super().__init__(logging.WARNING)
        self._log = log
        self._of = of

    def emit(self, record: logging.LogRecord) -> None:
        for line in self.format(record).splitlines():
            self._log.line(f"{self._of}: worker", line)


@contextmanager
def warnings_in(log: "WorkerLog", of: str) -> Iterator[None]:
    """Meanwhile nothing that this process logs goes to the stderr that it has from its bridge: nobody may read that any
    more, or keep it as private as the log."""
    root = logging.getLogger()
    before = list(root.handlers)
    root.handlers[:] = [Lines(log, of)]
    try:
        yield
    finally:
        root.handlers[:] = before


def told_on_stderr(problem: str) -> None:
    """For what no log can take."""
    with suppress(OSError):
        print(f"worker: {problem}", file=sys.stderr, flush=True)


class WorkerLog:
    """Takes lines from the loop and writes them in a thread. What comes faster than the disk takes it is counted and
    left out. Several workers may write one file: each line is written as a whole.

    `hide` takes secrets out of a line. `warn` is told once where nothing can be written.
    """

    def __init__(self, path: Path, hide: Callable[[str], str], warn: Callable[[str], None]) -> None:
        self._path = path
        self._hide = hide
        self._warn = warn
        self._lines: queue.Queue[str | None] = queue.Queue(_WAITING)
        self._left_out = 0
        self._warned = False
        self._torn = False
        self._file: int | None = None
        self._thread = threading.Thread(target=self._write_all, name="log", daemon=True)
        self._thread.start()

    def line(self, of: str, text: str) -> None:
        """Never waits."""
        try:
            self._lines.put_nowait(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {of}: {text}")
        except queue.Full:
            self._left_out += 1

    def close(self, within_s: float) -> bool:
        """Whether everything was written within that time."""
        until = time.monotonic() + within_s
        with suppress(queue.Full):
            self._lines.put(None, timeout=within_s)
        self._thread.join(max(until - time.monotonic(), 0))
        return not self._thread.is_alive()

    def _write_all(self) -> None:
        while (line := self._lines.get()) is not None:
            self._write_line(f"{self._what_is_missing()}{self._hide(line)}\n")
        self._write_line(self._what_is_missing())
        self._close()

    def _what_is_missing(self) -> str:
        missing, self._left_out = self._left_out, 0
        return f"[{missing} lines are left out]\n" if missing else ""

    def _write_line(self, text: str) -> None:
        try:
            if text:
                self._write(text.encode("utf-8", "replace"))
        except OSError as error:
            if not self._warned:
                self._warned = True
                self._warn(f"{self._path} takes no more lines: {error.strerror}")

    def _write(self, data: bytes) -> None:
        if self._file is None:
            self._file = self._opened()
        if os.fstat(self._file).st_size + len(data) > MOST:
            self._rotate(self._file)
        data = b"\n" * self._torn + data
        written = os.write(self._file, data)
        self._torn = written < len(data)
        if self._torn:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _opened(self) -> int:
        """Does not wait for whoever should read it, where it is a pipe."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK
        file = os.open(self._path, flags, 0o600)
        os.fchmod(file, 0o600)
        return file

    def _rotate(self, file: int) -> None:
        """By one worker at a time; the others go on in the new file."""
        fcntl.flock(file, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file), os.stat(self._path)):
                os.replace(self._path, self._path.with_name(f"{self._path.name}.1"))
        self._close()
        self._file = self._opened()

    def _close(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            os.close(file)
