"""Runs the real commands as processes."""

import asyncio
import fcntl
import json
import os
import sys
import termios
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
_ENTRY = "import sys; from adapters.cli.main import main; sys.exit(main())"
COMMAND = (sys.executable, "-c", _ENTRY)


@dataclass(frozen=True, slots=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def records(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


@dataclass(frozen=True, slots=True)
class Shell:
    home: Path

    def environment(self, **extra: str) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "TIELINE_HOME": str(self.home), **extra}

    @asynccontextmanager
    async def started(self, *arguments: str, **environ: str) -> AsyncIterator[asyncio.subprocess.Process]:
        """A command without a controlling terminal, wherever the tests were started."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *COMMAND,
            *arguments,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            env=self.environment(**environ),
            start_new_session=True,
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
            await process.communicate()

    async def run(self, *arguments: str, stdin: bytes = b"", **environ: str) -> Done:
        async with self.started(*arguments, **environ) as process:
            out, err = await process.communicate(stdin)
        assert process.returncode is not None
        return Done(process.returncode, out.decode(), err.decode())

    @asynccontextmanager
    async def in_terminal(self, *arguments: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, "Screen"]]:
        """A command with a controlling terminal, whose stdout is a pipe."""
        master, slave = os.openpty()

        def take_terminal() -> None:
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

        process = await asyncio.create_subprocess_exec(
            *COMMAND,
            *arguments,
            stdin=slave,
            stdout=asyncio.subprocess.PIPE,
            stderr=slave,
            env=self.environment(),
            preexec_fn=take_terminal,
        )
        os.close(slave)
        try:
            yield process, Screen(master)
        finally:
            if process.returncode is None:
                process.kill()
            await process.communicate()
            os.close(master)


@dataclass(slots=True)
class Screen:
    """What a terminal shows."""

    master: int
    text: str = ""

    async def until(self, wanted: str) -> None:
        """Reads until `wanted` has been shown; the end of the program ends it too."""
        while wanted not in self.text:
            try:
                self.text += (await asyncio.to_thread(os.read, self.master, 65536)).decode()
            except OSError:  # nobody holds the other side any more
                return
