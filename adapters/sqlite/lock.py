"""One bridge on one home: a lock that the kernel drops with its holder, however that ends."""

import fcntl
import os
from pathlib import Path


class HomeLocked(Exception):
    """Another bridge has this home. `pid` is its process, where it could be read."""

    def __init__(self, path: Path, pid: int | None) -> None:
        holder = f"process {pid}" if pid else "another process"
        super().__init__(f"{holder} already runs a bridge on {path.parent}: stop it first, or choose another home")
        self.path = path
        self.pid = pid


class HomeLock:
    """Held from its making until `release`. Raises `HomeLocked` when somebody else holds it.

    The file is never removed: whoever waits for it could otherwise lock a file that is gone.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._file, 32).strip()
            self.release()
            raise HomeLocked(path, int(holder) if holder.isdigit() else None) from None
        os.ftruncate(self._file, 0)
        os.write(self._file, f"{os.getpid()}\n".encode())

    def release(self) -> None:
        os.close(self._file)
