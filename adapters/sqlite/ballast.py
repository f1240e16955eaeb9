"""The ballast: room that is kept free for the hour in which the disk is full."""

import os
from contextlib import suppress
from pathlib import Path

BYTES = 8 << 20
_CHUNK = 1 << 20


class Ballast:
    """A file of random bytes, which no file system can store without giving it their room."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._partial = path.with_name(f"{path.name}.partial")

    @property
    def whole(self) -> bool:
        try:
            return self._path.stat().st_size == BYTES
        except OSError:
            return False

    def make(self) -> bool:
        """Takes the room, where there is twice as much of it, so that the rest is not used up by this. Returns whether
        it is taken."""
        if self.whole:
            return True
        try:
            room = os.statvfs(self._path.parent)
            if room.f_bavail * room.f_frsize < 2 * BYTES:
                return False
            with open(self._partial, "wb", opener=_private) as file:
                for _ in range(BYTES // _CHUNK):
                    file.write(os.urandom(_CHUNK))
                file.flush()
                os.fsync(file.fileno())
            self._partial.replace(self._path)
        except OSError:
            with suppress(OSError):
                self._partial.unlink(missing_ok=True)
            return False
        return True

    def free(self) -> bool:
        """Gives the room back. Returns whether there was any."""
        try:
            self._path.unlink()
        except OSError:
            return False
        return True


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
