"""A person at a terminal, before a command that asks them things."""

import asyncio
import os
import re
import signal
import termios
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import IO, Self

from tests.acceptance.forks import Forked, Forks
from tests.acceptance.home import PATIENCE_S, TIELINE
from tests.acceptance.terminal import controlled_by

_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class Seat:
    """`shows` waits for what is on the screen after what it waited for before."""

    def __init__(
        self, keyboard: int, name: str, process: asyncio.subprocess.Process | Forked, stderr: IO[bytes]
    ) -> None:
        self._keyboard = keyboard
        self._name = name
        self._process = process
        self._stderr = stderr
        self._seen = 0
        self._changed = asyncio.Event()
        self._raw = b""
        self._hung_up = False
        asyncio.get_running_loop().add_reader(keyboard, self._read)

    @classmethod
    async def taken(
        cls, environ: Mapping[str, str], arguments: Sequence[str], forks: Forks, through: Sequence[str] = ()
    ) -> Self:
        """The command's stdout is no terminal, as in `tieline init --json > file`. It comes from `forks`, or is started
        `through` another one that becomes it."""
        keyboard, slave = os.openpty()
        name = os.ttyname(slave)
        environ = {"TERM": "xterm", **environ}
        stderr = TemporaryFile()  # noqa: SIM115 - open as long as the seat is
        process: asyncio.subprocess.Process | Forked
        try:
            if through:
                process = await asyncio.create_subprocess_exec(
                    *(*through, *TIELINE, *arguments),
                    env=environ,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=stderr,
                    **controlled_by(slave),
                )
            else:
                process = await forks.start(arguments, environ, stderr, slave)
        except BaseException:
            os.close(keyboard)
            stderr.close()
            raise
        finally:
            os.close(slave)
        return cls(keyboard, name, process, stderr)

    @property
    def raw(self) -> bytes:
        return self._raw

    @contextmanager
    def watched(self) -> Iterator[Callable[[], bool]]:
        """Tells whether what is typed is shown, also once nobody else has the terminal."""
        file = os.open(self._name, os.O_RDONLY | os.O_NOCTTY)
        try:
            yield lambda: bool(termios.tcgetattr(file)[3] & termios.ECHO)
        finally:
            os.close(file)

    @property
    def screen(self) -> str:
        """All that was ever on it."""
        return _ESCAPES.sub("", self._raw.decode(errors="replace")).replace("\r\n", "\n")

    async def shows(self, *texts: str) -> str:
        """Waits for each of them, one after the other. Returns what was shown from before the first on."""
        began = self._seen
        for text in texts:
            try:
                async with asyncio.timeout(PATIENCE_S):
                    while (at := self.screen.find(text, self._seen)) < 0:
                        assert not self._hung_up, f"no {text!r} on the screen:\n{self.screen}"
                        self._changed.clear()
                        await self._changed.wait()
            except TimeoutError:
                raise AssertionError(f"no {text!r} on the screen:\n{self.screen[began:]}") from None
            self._seen = at + len(text)
        return self.screen[began : self._seen]

    def type(self, text: str = "") -> None:
        """A line."""
        os.write(self._keyboard, text.encode() + b"\n")

    def press(self, key: bytes) -> None:
        """Such as Ctrl-C, `b"\\x03"`, or Ctrl-D, `b"\\x04"`."""
        os.write(self._keyboard, key)

    async def answers(self, question: str, text: str = "") -> None:
        await self.shows(question)
        self.type(text)

    async def ended(self) -> tuple[int, str, str]:
        """Its exit code, stdout and stderr."""
        assert self._process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            out = await self._process.stdout.read()
            code = await self._process.wait()
        self._stderr.seek(0)
        return code, out.decode(), self._stderr.read().decode()

    def hang_up(self) -> None:
        """Closes the terminal, as one does with a window."""
        if not self._hung_up:
            self._hung_up = True
            asyncio.get_running_loop().remove_reader(self._keyboard)
            os.close(self._keyboard)

    async def close(self) -> None:
        self.hang_up()
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGTERM)
            await self.ended()
        self._stderr.close()

    def _read(self) -> None:
        try:
            read = os.read(self._keyboard, 65_536)
        except OSError:
            read = b""
        if not read:
            self._hung_up = True
            asyncio.get_running_loop().remove_reader(self._keyboard)
            os.close(self._keyboard)
        self._raw += read
        self._changed.set()
