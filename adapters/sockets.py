"""Unix sockets: addresses however long the path is, and who is at the other end. Light enough for any command."""

import os
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_LONGEST = 100  # sun_path takes 104 bytes on macOS and 108 on Linux
_SOL_LOCAL, _LOCAL_PEERPID = 0, 2  # <sys/un.h> of macOS, which Python does not name


@contextmanager
def address(path: str) -> Iterator[str]:
    """A name of `path` that fits into a socket's address, where the system has one. Raises `OSError`."""
    if len(os.fsencode(path)) <= _LONGEST or sys.platform != "linux":
        yield path
        return
    directory = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{directory}/{os.path.basename(path)}"
    finally:
        os.close(directory)


def peer_of(connection: socket.socket) -> tuple[int, int | None] | None:
    """The pid and, on Linux, the uid of the process that connected, or that listens. None where the kernel does not
    tell, e.g. across pid namespaces."""
    try:
        if sys.platform == "linux":
            credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            pid, uid, _gid = struct.unpack("3i", credentials)
        else:
            (pid,) = struct.unpack("i", connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID, struct.calcsize("i")))
            uid = None
    except OSError:
        return None
    return (pid, uid) if pid > 0 else None
