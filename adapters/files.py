"""Files that people have sent, in a folder of the home: one folder a key, with one file in it."""

import asyncio
import logging
import os
import re
import shutil
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from pathlib import Path

from bridge.ports.files import Stored

log = logging.getLogger(__name__)

_HARMLESS = re.compile(r"[^\w.-]+")
_MOST_BYTES = 80
_PART = ".part"


class HomeFiles:
    """Implements `bridge.ports.files.Files`. Nobody but its owner can read them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def found(self, key: str) -> Stored | None:
        return await asyncio.to_thread(self._found, key)

    async def keep(self, key: str, name: str, data: bytes) -> Stored:
        return await asyncio.to_thread(self._keep, key, name, partial(_write, data))

    async def copy(self, key: str, name: str, source: str) -> Stored:
        return await asyncio.to_thread(self._keep, key, name, partial(_copy, source))

    async def sweep(self, before: float, needed: Collection[str]) -> int:
        return await asyncio.to_thread(self._sweep, before, frozenset(needed))

    def _found(self, key: str) -> Stored | None:
        try:
            whole = [path for path in self._of(key).iterdir() if path.name != _PART]
        except FileNotFoundError:
            return None
        return Stored(str(whole[0]), whole[0].stat().st_size) if whole else None

    def _keep(self, key: str, name: str, fill: Callable[[int], None]) -> Stored:
        if (found := self._found(key)) is not None:
            return found
        folder = self._of(key)
        for each in (self._folder, folder):
            each.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = folder / _PART
        part.unlink(missing_ok=True)
        file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fill(file)
            os.fsync(file)
        finally:
            os.close(file)
        path = folder / harmless(name)
        part.rename(path)
        _sync(folder)
        _sync(self._folder)
        return Stored(str(path), path.stat().st_size)

    def _of(self, key: str) -> Path:
        return self._folder / _HARMLESS.sub("_", key)

    def _sweep(self, before: float, needed: frozenset[str]) -> int:
        """A folder is as old as what was put into it last."""
        removed = 0
        for folder in self._folder.iterdir() if self._folder.is_dir() else ():
            try:
                if folder.stat().st_mtime <= before and not any(str(path) in needed for path in folder.iterdir()):
                    shutil.rmtree(folder)
                    removed += 1
            except OSError as error:
                log.warning("What people sent once is left in %s: %s", folder, error)
        return removed


def copy_all(source: Path, target: Path) -> int:
    """Copies the files below one such folder to another, which must not be there yet, or there are none. What is swept
    meanwhile nobody needs. Returns how many were copied. Raises `OSError`."""
    kept = [path for path in source.glob("*/*") if path.name != _PART]
    if kept:
        target.mkdir(mode=0o700)
    copied = 0
    for path in kept:
        with suppress(FileNotFoundError), open(path, "rb") as given:
            folder = target / path.parent.name
            folder.mkdir(mode=0o700, exist_ok=True)
            with open(folder / path.name, "xb", opener=partial(os.open, mode=0o600)) as copy:
                shutil.copyfileobj(given, copy)
                copy.flush()
                os.fsync(copy.fileno())
            copied += 1
    return copied


def harmless(name: str) -> str:
    """A file's name with nothing in it that means anything to a shell, a terminal or a file system. It keeps its
    suffix, and is never hidden."""
    last = re.split(r"[/\\]", name)[-1]
    stem, dot, suffix = _HARMLESS.sub("_", last).strip("._-").rpartition(".")
    stem, suffix = (stem, dot + suffix) if stem and len(suffix) <= 16 else (stem + dot + suffix, "")
    room = _MOST_BYTES - len(suffix.encode())
    short = stem.encode("utf-8", "replace")[:room].decode("utf-8", "ignore").rstrip(".")
    return f"{short or 'file'}{suffix}"


def _write(data: bytes, file: int) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def _copy(source: str, file: int) -> None:
    with open(source, "rb") as given, os.fdopen(os.dup(file), "wb") as kept:
        shutil.copyfileobj(given, kept)


def _sync(folder: Path) -> None:
    """What was made in it is there after a loss of power too."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
