"""A terminal of a person's own, and the commands of `tieline` that are typed in it."""

import asyncio
import fcntl
import json
import os
import sys
import termios
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

_TYPIST = Path(__file__).with_name("typist.py")


@dataclass(frozen=True, slots=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


class Terminal:
    """Open until `close`, which hangs it up."""

    def __init__(self, keyboard: int, shell: asyncio.subprocess.Process) -> None:
        self._keyboard = keyboard
        self._shell = shell
        self._typing = asyncio.Lock()

    @classmethod
    async def opened(cls, environ: Mapping[str, str]) -> Self:
        keyboard, slave = os.openpty()
        modes = termios.tcgetattr(slave)
        modes[3] &= ~termios.ECHO  # nobody reads what it would show
        termios.tcsetattr(slave, termios.TCSANOW, modes)
        try:
            shell = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", str(_TYPIST)),
                env=environ,
                stdout=asyncio.subprocess.PIPE,
                limit=2**24,
                **controlled_by(slave),
            )
        except BaseException:
            os.close(keyboard)
            raise
        finally:
            os.close(slave)
        return cls(keyboard, shell)

    async def type(self, *arguments: str) -> Ran:
        assert self._shell.stdout is not None
        async with self._typing:
            os.write(self._keyboard, json.dumps(arguments).encode() + b"\n")
            return Ran(*json.loads(await self._shell.stdout.readline()))

    async def close(self) -> None:
        os.close(self._keyboard)
        await self._shell.wait()


def controlled_by(slave: int) -> dict[str, Any]:
    """How a process is started that has this terminal."""
    return {"stdin": slave, "start_new_session": True, "preexec_fn": _take_terminal}


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
