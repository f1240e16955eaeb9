"""One run of the command: what goes in, what comes out, and its end."""

import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence

from adapters.command.output import Output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

_END_S = 2.0
_LONGEST = 8 << 20
_LAST_LINES = 20


class Run:
    """A command in a process group of its own, within its agent's process session."""

    def __init__(self) -> None:
        self.cancelled = False
        self._last: deque[str] = deque(maxlen=_LAST_LINES)
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    @property
    def last_words(self) -> str:
        return "\n".join(self._last)[-2_000:].strip()

    def run(self, command: Sequence[str], given: str, cwd: str, output: Output) -> int:
        """Its exit code. Raises `OSError` where it cannot be run."""
        with self._lock:
            if self.cancelled:
                return 0
            self._process = process = subprocess.Popen(
                command,
                cwd=cwd,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                process_group=0,
            )
        assert process.stdin
        assert process.stdout
        assert process.stderr
        hearing = [
            threading.Thread(target=_each, args=(process.stdout, output.line), daemon=True),
            threading.Thread(target=self._hear, args=(process.stderr, output), daemon=True),
        ]
        for thread in (threading.Thread(target=_put, args=(process.stdin, given), daemon=True), *hearing):
            thread.start()
        code = process.wait()
        # What it has left in its group holds its pipes open, and does not outlive it.
        self._signal(signal.SIGKILL)
        for thread in hearing:
            thread.join(_END_S)
        output.close()
        return code

    def cancel(self) -> None:
        """Asks it to end, and makes it end a moment later. Does nothing twice."""
        with self._lock:
            if self.cancelled:
                return
            self.cancelled = True
        if self._process is not None:
            self._signal(signal.SIGTERM)
            killing = threading.Timer(_END_S, self._signal, [signal.SIGKILL])
            killing.daemon = True
            killing.start()

    def _hear(self, stderr: "IO[bytes]", output: Output) -> None:
        def heard(line: str) -> None:
            sys.stderr.write(line)
            sys.stderr.flush()
            self._last.append(line.rstrip("\n"))
            output.aside(line)

        _each(stderr, heard)

    def _signal(self, number: int) -> None:
        """A group keeps its number for as long as anything in it lives."""
        try:
            if self._process is not None:
                os.killpg(self._process.pid, number)
        except (ProcessLookupError, PermissionError):
            pass


def _put(stdin: "IO[bytes]", given: str) -> None:
    try:
        with stdin:
            stdin.write(given.encode("utf-8", "replace"))
    except OSError:
        pass  # it has not read what it was given, and may need none of it


def _each(stream: "IO[bytes]", take: Callable[[str], None]) -> None:
    while line := stream.readline(_LONGEST):
        take(line.decode("utf-8", "replace"))
