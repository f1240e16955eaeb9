"""The journal of one turn: what its worker took on and what came of it, on disk before it is told (DESIGN §8).

A line is a record with its number and its digest, which covers all records before it, and the turn's name before
those. So what is cut short, altered, repeated or another turn's is told apart from what was written, and what stands
before the damage can be trusted.
"""

import errno
import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BEGUN = "begun"
_LONGEST = 64 * 2**20
"""In bytes: of a longer file only so much is read. Its worker writes less (`host`)."""


@dataclass(frozen=True, slots=True)
class Record:
    number: int
    kind: str
    body: Mapping[str, Any]
    digest: str


@dataclass(frozen=True, slots=True)
class Found:
    """The records of a journal, up to the first that cannot be trusted; then `damage` tells what is wrong with it."""

    records: tuple[Record, ...]
    damage: str | None = None

    @property
    def header(self) -> Mapping[str, Any] | None:
        first = self.records[0] if self.records else None
        return first.body if first is not None and first.kind == BEGUN else None


class Journal:
    """Written by one process. Raises `OSError` where the disk takes no more; what was written before stays."""

    def __init__(self, path: Path, turn: str, header: Mapping[str, Any]) -> None:
        self.path = path
        self._turn = turn
        self.size = 0
        self._digest = _seed(turn)
        self.number = -1
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            self.add(BEGUN, header, firmly=True)
            _keep_name(path)
        except BaseException:
            os.close(self._file)
            path.unlink(missing_ok=True)
            raise

    def add(self, kind: str, body: Mapping[str, Any], *, firmly: bool) -> Record:
        """`firmly` means that it survives a power cut from then on."""
        number = self.number + 1
        content = _content(number, kind, body)
        record = Record(number, kind, body, _linked(self._digest, content))
        line = f'{{"digest":"{record.digest}","record":{content}}}\n'.encode()
        try:
            if os.write(self._file, line) < len(line):
                raise OSError(errno.ENOSPC, "the disk took a part of a record only")
            if firmly:
                os.fsync(self._file)
        except OSError:
            # Whatever stands there now is a torn end, which readers drop, or was told to nobody.
            os.ftruncate(self._file, self.size)
            raise
        self.size += len(line)
        self.number, self._digest = number, record.digest
        return record

    def since(self, number: int) -> tuple[Record, ...] | None:
        """The records after that number. None where the file no longer holds what was written."""
        found = read(self.path, self._turn)
        if found.damage is not None or not found.records or found.records[-1].digest != self._digest:
            return None
        return found.records[number + 1 :]

    def close(self) -> None:
        os.close(self._file)

    def remove(self) -> None:
        """Nobody needs it any more. One that stays is removed by the next bridge."""
        self.close()
        with suppress(OSError):
            self.path.unlink(missing_ok=True)


def read(path: Path, turn: str) -> Found:
    """What a journal holds that can be trusted. An end that was torn while it was written is no damage: it was never
    told to anybody."""
    try:
        with path.open("rb") as file:
            data = file.read(_LONGEST)
    except OSError as error:
        return Found((), f"it cannot be read: {error.strerror}")
    *lines, _torn = data.split(b"\n")
    records: list[Record] = []
    digest = _seed(turn)
    for line in lines:
        record = _record(line, digest, len(records))
        if record is None:
            return Found(tuple(records), f"its record {len(records)} is not as it was written")
        records.append(record)
        digest = record.digest
    return Found(tuple(records), None if records else "it is empty")


def header_of(path: Path, turn: str) -> Mapping[str, Any] | None:
    """What a journal begins with, however long it is. None where that cannot be trusted."""
    try:
        with path.open("rb") as file:
            line = file.readline(_LONGEST)
    except OSError:
        return None
    record = _record(line[:-1], _seed(turn), 0) if line.endswith(b"\n") else None
    return record.body if record is not None and record.kind == BEGUN else None


def _record(line: bytes, before: str, number: int) -> Record | None:
    try:
        whole = json.loads(line)
        record = whole["record"]
        kind, body = record["kind"], record["body"]
        content = _content(record["number"], kind, body)
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    digest = _linked(before, content)
    known = isinstance(kind, str) and isinstance(body, dict) and record["number"] == number
    return Record(number, kind, body, digest) if known and whole.get("digest") == digest else None


def _content(number: int, kind: str, body: Mapping[str, Any]) -> str:
    return json.dumps({"number": number, "kind": kind, "body": body}, separators=(",", ":"), sort_keys=True)


def _seed(turn: str) -> str:
    return hashlib.sha256(turn.encode()).hexdigest()


def _linked(before: str, content: str) -> str:
    return hashlib.sha256(f"{before}\n{content}".encode("utf-8", "replace")).hexdigest()


def _keep_name(path: Path) -> None:
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
