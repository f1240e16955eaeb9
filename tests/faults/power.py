"""What a disk may hold after a power cut, by what was written to it and synced before.

Of a file, everything is there that was written before its last sync. Of what was written since, each sector is there
as it was at any moment since, so that pages are torn, and the file has any size that it has had since. A file that
was made since the directory was last synced may be missing, and one that was deleted since may be back.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.faults.disk import Acknowledged, Deleted, Op, Opened, Synced, Truncated, Written

SECTOR = 512


@dataclass(slots=True)
class _File:
    durable: bytearray = field(default_factory=bytearray)
    named: bool = False
    """Whether its directory entry is durable."""
    pending: list[Written | Truncated] = field(default_factory=list)

    def sync(self) -> None:
        for op in self.pending:
            _apply(self.durable, op)
        self.pending = []

    def after_cut(self, random: Random) -> bytes:
        """What is there afterwards: nothing of what is pending, all of it, or any sectors of it."""
        content, sizes = bytearray(self.durable), [len(self.durable)]
        states: dict[int, list[bytes]] = {}
        for op in self.pending:
            _apply(content, op)
            sizes.append(len(content))
            if isinstance(op, Written):
                first = op.offset // SECTOR * SECTOR
                for start in range(first, op.offset + len(op.data), SECTOR):
                    before = bytes(self.durable[start : start + SECTOR])
                    states.setdefault(start, [before]).append(bytes(content[start : start + SECTOR]))
        luck = random.random()
        if luck < 0.1:
            return bytes(content)
        found = bytearray(self.durable)
        if luck > 0.3:
            for start, versions in states.items():
                _apply(found, Written("", start, random.choice(versions)))
            size = random.choice(sizes)
            found = found[:size].ljust(size, b"\0")
        return bytes(found)


class Platter:
    """Takes the operations of a `Disk` in their order."""

    def __init__(self) -> None:
        self._files: dict[str, _File] = {}
        self._deleted: dict[str, _File] = {}
        self.acknowledged: list[Acknowledged] = []

    def take(self, op: Op) -> None:
        match op:
            case Opened(name):
                self._files.setdefault(name, _File())
            case Written(name) | Truncated(name):
                self._files[name].pending.append(op)
            case Synced(name):
                self._files[name].sync()
                if not self._files[name].named:
                    self._sync_directory()
            case Deleted(name):
                if (file := self._files.pop(name, None)) is not None and file.named:
                    self._deleted[name] = file
            case Acknowledged():
                self.acknowledged.append(op)

    def _sync_directory(self) -> None:
        """SQLite does it with the first sync of a journal that it has made."""
        self._deleted.clear()
        for file in self._files.values():
            file.named = True

    def after_cut(self, random: Random) -> Iterator[tuple[str, bytes]]:
        """The files that a power cut at this moment leaves."""
        back = {name: file for name, file in self._deleted.items() if random.random() < 0.5}
        there = {name: file for name, file in self._files.items() if file.named or random.random() < 0.5}
        for name, file in {**back, **there}.items():
            yield name, file.after_cut(random)

    def restore(self, folder: Path, random: Random) -> None:
        folder.mkdir(parents=True)
        for name, content in self.after_cut(random):
            (folder / name).write_bytes(content)


def _apply(content: bytearray, op: Written | Truncated) -> None:
    if isinstance(op, Truncated):
        del content[op.size :]
        return
    content.extend(bytes(max(0, op.offset - len(content))))
    content[op.offset : op.offset + len(op.data)] = op.data
