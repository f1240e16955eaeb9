"""Where workers keep what outlives them: `run/workers/` of a home, for its owner only."""

import re
import socket
from contextlib import suppress
from pathlib import Path

from adapters.sockets import address

_NAME = re.compile(r"[A-Za-z0-9_-]{1,200}\Z")
JOURNAL = ".journal"
SOCKET = ".sock"


class BadName(ValueError):
    """A name that may be part of no path."""


def named(name: str) -> str:
    """The name itself. Raises `BadName` for what is none."""
    if not _NAME.match(name):
        raise BadName(f"{name[:80]!r} is no name of a worker or a turn: 1 to 200 of A-Z a-z 0-9 _ -")
    return name


class Folder:
    """Makes the folder with mode 0700 as it is first written to."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def make(self) -> None:
        """Raises `OSError`."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path.chmod(0o700)

    def journal(self, turn: str) -> Path:
        """Raises `BadName`."""
        return self.path / f"{named(turn)}{JOURNAL}"

    def journals(self) -> list[str]:
        """The turns of which there is one."""
        return [path.name.removesuffix(JOURNAL) for path in self._holding(JOURNAL)]

    def sockets(self) -> list[str]:
        """The workers that have one, or have left it."""
        return [path.name.removesuffix(SOCKET) for path in self._holding(SOCKET)]

    def left(self, session: str) -> Path:
        """Where the processes are listed that a session's tools have left running."""
        return self.path / f"{named(session.replace('/', '_'))}.left"

    def listen(self, name: str) -> socket.socket:
        """A socket (0600) at which the worker of that name can be adopted. Raises `OSError` or `BadName`."""
        path = self.path / f"{named(name)}{SOCKET}"
        self.make()
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with address(str(path)) as short:
                listener.bind(short)
            path.chmod(0o600)
            listener.listen(8)
        except BaseException:
            listener.close()
            raise
        listener.setblocking(False)
        return listener

    def connect(self, name: str) -> socket.socket:
        """Raises `OSError` where nobody listens, or `BadName`."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.setblocking(False)  # whoever listens and accepts nobody must hold up nothing
        try:
            with address(str(self.path / f"{named(name)}{SOCKET}")) as short:
                connection.connect(short)
        except BaseException:
            connection.close()
            raise
        return connection

    def forget(self, name: str) -> None:
        """Removes the socket of a worker that has ended, where it can be. Raises `BadName`."""
        path = self.path / f"{named(name)}{SOCKET}"
        with suppress(OSError):
            path.unlink(missing_ok=True)

    def _holding(self, suffix: str) -> list[Path]:
        try:
            return [path for path in self.path.iterdir() if path.name.endswith(suffix)]
        except OSError:
            return []
