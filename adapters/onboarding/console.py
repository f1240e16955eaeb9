"""The terminal of the person who is asked."""

import asyncio
import os
import termios
import threading
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Self, TypeVar

from adapters.cli.plain import visible
from bridge.ports.clock import Clock

_T = TypeVar("_T")
_TTY = "/dev/tty"
_WIPE = "\r\x1b[2K"


class Ended(Exception):
    """Nobody is at the terminal any more, or they want no more."""


class Console:
    """Asks on the terminal itself, whatever stdin and stderr are. Only what is typed after a question answers it.

    Every question raises `Ended` at the end of the input."""

    def __init__(self, file: int, clock: Clock, *, plain: bool) -> None:
        self._file = file
        self._clock = clock
        self._plain = plain
        self._showing = False
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        # A thread, for not every system can wait for a terminal and for sockets at once; it ends with the process.
        threading.Thread(target=self._read, daemon=True).start()

    @classmethod
    def opened(cls, clock: Clock, *, plain: bool) -> Self:
        """Within a running loop. `plain` is for terminals that cannot wipe a line. Raises `OSError` where there is no
        terminal."""
        return cls(os.open(_TTY, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC), clock, plain=plain)

    def say(self, text: str = "") -> None:
        self._write(f"{_WIPE if self._showing else ''}{visible(text)}\n")

    async def ask(self, question: str, default: str = "") -> str:
        self._fresh()
        self._write(f"{visible(question)}{f' [{visible(default)}]' if default else ''}: ")
        return (await self._line()).strip() or default

    async def secret(self, question: str) -> str:
        """What is typed is not shown."""
        with self._unseen():
            self._fresh()
            self._write(f"{question}: ")
            try:
                return (await self._line()).strip()
            finally:
                self._write("\n")

    async def yes(self, question: str, default: bool | None = None) -> bool:
        """Without a default it is asked until one of the two is typed."""
        offered = {True: "Y/n", False: "y/N", None: "y/n"}[default]
        while True:
            said = (await self.ask(f"{question} ({offered})")).lower()
            if said in ("y", "yes", "n", "no"):
                return said[0] == "y"
            if not said and default is not None:
                return default
            self.say("Please type y or n.")

    async def choice(self, question: str, options: Sequence[str], default: int) -> int:
        """The index of the one that is chosen."""
        for number, option in enumerate(options, 1):
            self.say(f"  {number}  {option}")
        while True:
            said = await self.ask(question, str(default + 1))
            if said.isdecimal() and 1 <= int(said) <= len(options):
                return int(said) - 1
            self.say(f"Please type a number from 1 to {len(options)}.")

    async def pause(self, what: str) -> None:
        await self.ask(f"{what}, then press Enter")

    async def waiting(self, what: str, coming: Coroutine[Any, Any, _T]) -> _T | None:
        """What comes; None once Enter was pressed. Shows meanwhile that it lives."""
        awaited = asyncio.ensure_future(coming)
        try:
            self._fresh()
        except Ended:
            awaited.cancel()
            raise
        typed = asyncio.ensure_future(self._line())
        shown = asyncio.ensure_future(self._show(what))
        try:
            await asyncio.wait([awaited, typed, shown], return_when=asyncio.FIRST_COMPLETED)
            if shown.done():
                shown.result()
            if awaited.done():
                return awaited.result()
            typed.result()
            return None
        finally:
            for one in (awaited, typed, shown):
                one.cancel()
            await asyncio.wait([awaited, typed, shown])
            if self._showing:
                self._showing = False
                self._write(_WIPE)

    async def _show(self, what: str) -> None:
        began = self._clock.now()
        if self._plain:
            self.say(f"… {what}")
        self._showing = not self._plain
        while True:
            if self._showing:
                self._write(f"{_WIPE}… {visible(what)} ({self._clock.now() - began:.0f} s)")
            await self._clock.sleep(1)

    @contextmanager
    def _unseen(self) -> Iterator[None]:
        before = termios.tcgetattr(self._file)
        silent = list(before)
        silent[3] &= ~termios.ECHO
        termios.tcsetattr(self._file, termios.TCSAFLUSH, silent)
        try:
            yield
        finally:
            with suppress(termios.error):
                termios.tcsetattr(self._file, termios.TCSAFLUSH, before)

    def _fresh(self) -> None:
        """Forgets what was typed before, and so answers nothing."""
        with suppress(termios.error):
            termios.tcflush(self._file, termios.TCIFLUSH)
        while not self._lines.empty():
            if self._lines.get_nowait() is None:
                raise Ended

    def _write(self, text: str) -> None:
        try:
            left = text.encode("utf-8", "replace")
            while left:
                left = left[os.write(self._file, left) :]
        except OSError:
            raise Ended from None

    async def _line(self) -> str:
        line = await self._lines.get()
        if line is None:
            self._lines.put_nowait(None)
            raise Ended
        return line

    def _read(self) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody asks any more
            while True:
                try:
                    read = os.read(self._file, 65_536)
                except OSError:
                    read = b""
                line = read.decode("utf-8", "replace").rstrip("\n") if read else None
                self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
                if line is None:
                    return
