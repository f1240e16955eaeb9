"""The unix socket itself: private, and never taken away from a bridge that still listens."""

import errno
import socket
from pathlib import Path

from adapters.sockets import address


class SocketTaken(Exception):
    """Another bridge listens at this socket."""


def listen(path: Path) -> socket.socket:
    """A listening socket with mode 0600 in a directory with mode 0700.

    A socket file at which nobody listens is replaced. Raises `SocketTaken` or `OSError`.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.parent.chmod(0o700)
    with address(str(path)) as name:
        if path.is_socket():
            if _answers(name):
                raise SocketTaken(f"another bridge listens at {path}")
            path.unlink()
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listener.bind(name)
            path.chmod(0o600)
            listener.listen(128)
        except BaseException:
            listener.close()
            raise
    listener.setblocking(False)
    return listener


def remove(path: Path, listener_inode: int) -> None:
    """Removes the socket file, unless another bridge has put its own there meanwhile."""
    try:
        if path.stat().st_ino == listener_inode:
            path.unlink()
    except FileNotFoundError:
        pass


def _answers(name: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(name)
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError as error:
            # A full backlog or a slow bridge is a bridge.
            return error.errno != errno.ENOTSOCK
        return True
