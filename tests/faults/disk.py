"""A disk that tells what was written to it and synced, and that can fail."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

import apsw

_made = count(1)


@dataclass(frozen=True, slots=True)
class Opened:
    file: str


@dataclass(frozen=True, slots=True)
class Read:
    """Asked about, but not kept in the log."""

    file: str


@dataclass(frozen=True, slots=True)
class Written:
    file: str
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Truncated:
    file: str
    size: int


@dataclass(frozen=True, slots=True)
class Synced:
    file: str


@dataclass(frozen=True, slots=True)
class Deleted:
    file: str


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """Somebody was told that a message, or its settlement, is stored."""

    message: str
    settled: bool


Op = Opened | Read | Written | Truncated | Synced | Deleted | Acknowledged


class Disk(apsw.VFS):
    """The machine's own files, with every operation on them in `log` once it is done. `fault` is asked before each,
    and what it raises, such as `apsw.FullError`, is what SQLite is told."""

    def __init__(self) -> None:
        self.name = f"disk-{next(_made)}"
        self.log: list[Op] = []
        self.fault: Callable[[Op], None] = lambda op: None
        super().__init__(self.name, "")

    def did(self, op: Op, do: Callable[[], None] = lambda: None) -> None:
        self.fault(op)
        do()
        self.log.append(op)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        return _File(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        self.did(Deleted(os.path.basename(filename)), lambda: super(Disk, self).xDelete(filename, syncdir))


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._disk = disk
        path = name.filename() if isinstance(name, apsw.URIFilename) else name or "temporary"
        self._name = os.path.basename(path)
        super().__init__("", name, flags)
        disk.did(Opened(self._name))

    def xRead(self, amount: int, offset: int) -> bytes:
        self._disk.fault(Read(self._name))
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:
        self._disk.did(Written(self._name, offset, bytes(data)), lambda: super(_File, self).xWrite(data, offset))

    def xTruncate(self, newsize: int) -> None:
        self._disk.did(Truncated(self._name, newsize), lambda: super(_File, self).xTruncate(newsize))

    def xSync(self, flags: int) -> None:
        """The files of a test need no real sync: what it stands for is in the log."""
        self._disk.did(Synced(self._name))
