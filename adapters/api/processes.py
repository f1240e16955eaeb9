"""What the kernel says of the process at the other end of a unix socket."""

import socket
import struct
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_WALKS = 5
_SOL_LOCAL, _LOCAL_PEERPID = 0, 2  # <sys/un.h> of macOS, which Python does not name


@dataclass(frozen=True, slots=True)
class Lineage:
    """A process, its ancestors from the nearest on, and whether it has a controlling terminal. Without any pid the
    process has ended, and nobody can tell any more who it was."""

    pids: tuple[int, ...]
    terminal: bool


@dataclass(frozen=True, slots=True)
class _Process:
    parent: int
    terminal: bool


def peer_of(connection: socket.socket) -> int | None:
    """The pid of the process that connected; None where the kernel does not tell, e.g. across pid namespaces."""
    try:
        if sys.platform == "linux":
            credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            pid, _uid, _gid = struct.unpack("3i", credentials)
        else:
            (pid,) = struct.unpack("i", connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID, struct.calcsize("i")))
    except OSError:
        return None
    return pid if pid > 0 else None


def lineage(pid: int) -> Lineage:
    """Blocks for a moment. Goes as far up as the kernel lets this user look."""
    look = _from_proc if sys.platform == "linux" else _from_ps().get
    for _ in range(_WALKS):
        if (found := _ancestry(pid, look)) is not None:
            return found
    return Lineage((), terminal=False)


def _ancestry(pid: int, look: Callable[[int], _Process | None]) -> Lineage | None:
    """None where a process on the way has ended meanwhile: its children have another parent now."""
    found: dict[int, _Process] = {}
    at = pid
    while at > 0 and at not in found:
        process = look(at)
        if process is None:
            child = next(reversed(found), None)
            return Lineage((*found, at), found[pid].terminal) if child and look(child) == found[child] else None
        found[at] = process
        at = process.parent
    return Lineage(tuple(found), found[pid].terminal)


def _from_proc(pid: int) -> _Process | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The name of the program stands in parentheses and may hold any byte, also spaces and parentheses.
    _state, parent, _group, _session, terminal = stat.rpartition(b")")[2].split()[:5]
    return _Process(int(parent), terminal != b"0")


def _from_ps() -> dict[int, _Process]:
    listing = subprocess.run(
        ["/bin/ps", "-axo", "pid=,ppid=,tty="], capture_output=True, text=True, check=False, timeout=5
    )
    rows = (line.split() for line in listing.stdout.splitlines())
    return {int(row[0]): _Process(int(row[1]), row[2].strip("?-") != "") for row in rows if len(row) == 3}
