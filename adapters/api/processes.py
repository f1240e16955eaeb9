"""What the kernel says of the process at the other end of a unix socket."""

import errno
import os
import select
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from adapters import sockets

_WALKS = 5
_SO_PEERPIDFD = 77  # <asm-generic/socket.h> of Linux 6.5


@dataclass(frozen=True, slots=True)
class Peer:
    """The process that connected. Its `birth`, by the kernel's clock, tells it from a later one with the same pid: a
    connection may outlive who has opened it. None where it had ended before anybody could look."""

    pid: int
    birth: str | None


@dataclass(frozen=True, slots=True)
class Lineage:
    """A process, its ancestors from the nearest on, and whether it has a controlling terminal. Without any pid the
    process has ended, and nobody can tell any more who it was."""

    pids: tuple[int, ...]
    terminal: bool


@dataclass(frozen=True, slots=True)
class Seen:
    """A process at one moment. On macOS its birth is not told."""

    parent: int
    terminal: bool
    birth: str = ""


Look = Callable[[int], Seen | None]
"""What is seen of a process, or None where there is none."""


def peer_of(connection: socket.socket) -> Peer | None:
    """To be asked as soon as it has connected. None where the kernel does not tell, e.g. across pid namespaces."""
    told = sockets.peer_of(connection)
    if told is None:
        return None
    pid, _uid = told
    if sys.platform != "linux":
        return Peer(pid, "")
    process = from_proc(pid)
    return Peer(pid, process.birth if process is not None and not _ended(connection) else None)


def _ended(connection: socket.socket) -> bool:
    """Whether the process that connected has ended, so that another may have its pid by now. False where the kernel
    is too old to tell."""
    try:
        handle = connection.getsockopt(socket.SOL_SOCKET, _SO_PEERPIDFD)
    except OSError as error:
        return error.errno == errno.ESRCH
    try:
        ends = select.poll()
        ends.register(handle, select.POLLIN)
        return bool(ends.poll(0))
    finally:
        os.close(handle)


def lineage(peer: Peer, look: Look | None = None) -> Lineage:
    """Blocks for a moment. Goes as far up as the kernel lets this user look."""
    if look is None:
        look = from_proc if sys.platform == "linux" else _from_ps().get
    for _ in range(_WALKS):
        if (found := _ancestry(peer, look)) is not None:
            return found
    return Lineage((), terminal=False)


def _ancestry(peer: Peer, look: Look) -> Lineage | None:
    """None where a process on the way has ended meanwhile: its children have another parent now."""
    found: dict[int, Seen] = {}
    at = pid = peer.pid
    while at > 0 and at not in found:
        process = look(at)
        if process is None:
            child = next(reversed(found), None)
            return Lineage((*found, at), found[pid].terminal) if child and look(child) == found[child] else None
        if at == pid and process.birth != peer.birth:
            return None
        found[at] = process
        at = process.parent
    return Lineage(tuple(found), found[pid].terminal)


def from_proc(pid: int) -> Seen | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The name of the program stands in parentheses and may hold any byte, also spaces and parentheses.
    fields = stat.rpartition(b")")[2].split()
    return Seen(int(fields[1]), fields[4] != b"0", fields[19].decode())


def _from_ps() -> dict[int, Seen]:
    listing = subprocess.run(
        ["/bin/ps", "-axo", "pid=,ppid=,tty="], capture_output=True, text=True, check=False, timeout=5
    )
    rows = (line.split() for line in listing.stdout.splitlines())
    return {int(row[0]): Seen(int(row[1]), row[2].strip("?-") != "") for row in rows if len(row) == 3}
