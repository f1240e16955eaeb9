"""The ballast: room that is set aside for the hour in which the disk is full."""

import os
from contextlib import suppress
from pathlib import Path

BYTES = 8 << 20
_CHUNK = 1 << 16
_LEAST = 1 << 20


class Ballast:
    """A file of random bytes, which no file system can keep without giving it their room."""

    def __init__(self, path: Path, size: int = BYTES) -> None:
        self._path = path
        self._partial = path.with_name(f"{path.name}.partial")
        self._size = size

    @property
    def wanted(self) -> int:
        """The bytes that must be free for it to be made: what it takes, and as much again to work with."""
        return 2 * self._size

    @property
    def whole(self) -> bool:
        try:
            return self._path.stat().st_size == self._size
        except OSError:
            return False

    @property
    def scarce(self) -> bool:
        """Whether there is so little room that this may be why something failed."""
        return self._free() < self.wanted

    @property
    def exhausted(self) -> bool:
        """Whether there is too little room to begin with."""
        return self._free() < _LEAST

    def make(self) -> bool:
        """Sets the room aside, where there is enough of it. Returns whether it is set aside."""
        if self.whole:
            return True
        if self._free() < self.wanted:
            return False
        try:
            with open(self._partial, "wb", opener=_private) as file:
                for _ in range(self._size // _CHUNK):
                    file.write(os.urandom(_CHUNK))
                file.flush()
                os.fsync(file.fileno())
            self._partial.replace(self._path)
        except OSError:
            with suppress(OSError):
                self._partial.unlink()
            return False
        return True

    def free(self) -> bool:
        """Gives the room back. Returns whether any was set aside."""
        try:
            self._path.unlink()
        except OSError:
            return False
        return True

    def _free(self) -> int:
        try:
            status = os.statvfs(self._path.parent)
        except OSError:
            return 0
        return status.f_bavail * status.f_frsize


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
