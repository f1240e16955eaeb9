"""Locks on files, which the kernel drops with their holder, however that ends."""

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

_LONGEST = 4_096


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lock, as far as that could be read: its process, and what it noted beside it."""

    pid: int | None
    note: str

    def __str__(self) -> str:
        return f"process {self.pid}" if self.pid else "another process"


class Locked(Exception):
    """Somebody else holds the lock."""

    def __init__(self, holder: Holder) -> None:
        super().__init__(f"{holder} holds it")
        self.holder = holder


class FileLock:
    """Held from its making until `release`. Raises `Locked` when somebody else holds it.

    The file is never removed: whoever waits for it could otherwise lock a file that is gone.
    """

    def __init__(self, path: Path, note: str = "") -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _read(self._file)
            self.release()
            raise Locked(holder) from None
        told = f"{os.getpid()} {note}".rstrip().encode(errors="surrogateescape") + b"\n"
        os.pwrite(self._file, told, 0)  # Over what was there: a full disk has no room for more.
        os.ftruncate(self._file, len(told))

    def release(self) -> None:
        os.close(self._file)


def holder_of(path: Path) -> Holder | None:
    """Who holds the lock; None where nobody does. Leaves it as it is."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read(file)
    finally:
        os.close(file)
    return None


def _read(file: int) -> Holder:
    pid, _, note = os.pread(file, _LONGEST, 0).decode(errors="replace").strip().partition(" ")
    return Holder(int(pid) if pid.isdecimal() else None, note)


class HomeLocked(Exception):
    """Another bridge has this home. `pid` is its process, where it could be read."""

    def __init__(self, path: Path, holder: Holder) -> None:
        super().__init__(f"{holder} already runs a bridge on {path.parent}: stop it first, or choose another home")
        self.path = path
        self.pid = holder.pid


class HomeLock(FileLock):
    """One bridge on one home. Raises `HomeLocked`."""

    def __init__(self, path: Path) -> None:
        try:
            super().__init__(path)
        except Locked as locked:
            raise HomeLocked(path, locked.holder) from None
