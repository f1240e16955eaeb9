"""A person's terminal: an agent in a tmux window, typed into and looked at, as an ordinary user."""

import asyncio
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from adapters.process import birth_of

PATIENCE_S = 30.0
_NUMBERS = count(1)
_NOBODY = 65534
_ENTER_S = 0.5
"""Between the last letter and Enter: what comes faster is taken for pasted text."""


@dataclass(frozen=True, slots=True)
class Person:
    """Whoever sits at the terminal: never root, which some agents refuse. `home` is theirs alone."""

    home: Path

    @property
    def through(self) -> Sequence[str]:
        """What a command is started through to run as this person."""
        if os.geteuid() != 0:
            return ()
        return (
            *("setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups"),
            # Python may be installed where only root may look.
            *("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search", "--"),
        )

    def owns(self, *paths: Path) -> None:
        if os.geteuid() == 0:
            for path in paths:
                shutil.chown(path, _NOBODY, _NOBODY)

    def folder(self, *names: str) -> Path:
        path = self.home.joinpath(*names)
        for each in (*reversed(path.parents), path):
            if not each.exists():
                each.mkdir(mode=0o700)
                self.owns(each)
        return path

    def file(self, name: str, text: str) -> Path:
        path = self.folder(*Path(name).parts[:-1]) / Path(name).name
        path.write_text(text)
        self.owns(path)
        return path

    def processes(self) -> list[int]:
        """What lives with this home in its environment, of whatever it has started."""
        found = []
        for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))):
            with suppress(OSError):
                if f"HOME={self.home}\0".encode() in Path(f"/proc/{pid}/environ").read_bytes():
                    found.append(pid)
        return found


@contextmanager
def person() -> Iterator[Person]:
    """Ends, by process id, whatever is left of what was started with this home. Not below the folder for temporary
    files: some agents refuse to work there."""
    home = Path(tempfile.mkdtemp(prefix="tieline-person-", dir="/var/tmp"))
    somebody = Person(home)
    somebody.owns(home)
    try:
        yield somebody
    finally:
        for pid in somebody.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(home, ignore_errors=True)


class Window:
    """Use it as an asynchronous context. It is over once its command has ended."""

    def __init__(self, person: Person, command: str, *, cwd: Path, env: Mapping[str, str]) -> None:
        self._person = person
        self._command = command
        self._cwd = cwd
        self._env = {"SHELL": "/bin/sh", "TERM": "xterm-256color", "LANG": "C.UTF-8", **env, "HOME": str(person.home)}
        self._socket = person.home / f"tmux-{next(_NUMBERS)}"
        self._changed = asyncio.Event()

    async def __aenter__(self) -> "Window":
        await self._tmux("-f", os.devnull, "new-session", "-d", "-s", "main", "-x", "160", "-y", "50", self._command)
        # A client in control mode is told of all that appears in the window.
        self._watching = await self._start("-C", "attach", "-t", "main")
        self._listening = asyncio.create_task(self._listen())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._tmux("kill-server")
        self._listening.cancel()
        if birth_of(self._watching.pid) is not None:
            self._watching.kill()
        await self._watching.wait()

    async def screen(self) -> str:
        return await self._tmux("capture-pane", "-p", "-t", "main")

    async def shows(self, text: str, *, timeout: float = PATIENCE_S) -> str:
        try:
            async with asyncio.timeout(timeout):
                while text not in (screen := await self.screen()):
                    await self._changed.wait()
                    self._changed.clear()
        except TimeoutError:
            raise AssertionError(f"{text!r} is not shown within {timeout} s:\n{await self.screen()}") from None
        return screen

    async def types(self, text: str) -> None:
        await self._tmux("send-keys", "-t", "main", "-l", text)
        await self.shows(text[-40:])
        await asyncio.sleep(_ENTER_S)
        await self.presses("Enter")

    async def hangs_up(self) -> None:
        """Its terminal is closed, whatever runs in it."""
        await self._tmux("kill-server")

    async def moves_to(self, choice: str) -> None:
        """Presses Down until the choice is the one that is marked: a key that comes too early is not heard."""
        async with asyncio.timeout(PATIENCE_S):
            while choice not in await self.screen():
                await self.presses("Down")
                with suppress(AssertionError):
                    await self.shows(choice, timeout=2)

    async def presses(self, *keys: str) -> None:
        await self._tmux("send-keys", "-t", "main", *keys)

    async def _listen(self) -> None:
        assert self._watching.stdout is not None
        while await self._watching.stdout.readline():
            self._changed.set()

    async def _tmux(self, *arguments: str) -> str:
        process = await self._start(*arguments)
        out, _ = await process.communicate()
        return out.decode()

    async def _start(self, *arguments: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *self._person.through,
            *("tmux", "-S", str(self._socket), *arguments),
            cwd=self._cwd,
            env=self._env,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=1 << 20,
        )
