"""A copy of the database: whole, of one instant, and looked at before it gets its name."""

import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from adapters.sqlite.inspection import Inspection, inspect, reading
from bridge.errors import Code, Refused


@dataclass(frozen=True, slots=True)
class Backup:
    path: Path
    bytes: int
    inspection: Inspection


def back_up(database: Path, target: Path) -> Backup:
    """Copies the database to `target`, readable by its owner only, while a bridge goes on writing or none runs.

    Raises `Refused`: `invalid_request` for a target that exists or has no folder, else `unavailable`. Then there is
    no file at `target`.
    """
    if not database.exists():
        raise Refused(Code.INVALID_REQUEST, f"there is no {database} yet", remedy="It is made when the bridge starts.")
    if os.path.lexists(target):
        raise _taken(target)
    partial = target.with_name(f".{target.name}.partial-{os.getpid()}")
    try:
        os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except OSError as error:
        remedy = "Name a folder that exists and that you may write to."
        raise Refused(Code.INVALID_REQUEST, f"{target} cannot be made: {error.strerror}", remedy=remedy) from error
    try:
        _copy(database, partial)
        inspection = inspect(partial)
        if inspection.faults:
            raise sqlite3.DatabaseError(f"{database} is damaged: {inspection.faults[0]}")
        _sync(partial)
        _name(partial, target)
        _sync(target.parent)
        return Backup(target, target.stat().st_size, inspection)
    except (OSError, sqlite3.Error) as error:
        remedy = "Make room, or see what is wrong: tieline doctor"
        raise Refused(Code.UNAVAILABLE, f"there is no backup: {error}", remedy=remedy) from error
    finally:
        for name in ("", "-wal", "-shm", "-journal"):
            partial.with_name(partial.name + name).unlink(missing_ok=True)


def _copy(database: Path, partial: Path) -> None:
    """Page by page, in one step and so of one instant, faults and all: what is checked then is what the bridge has."""
    with reading(database) as source, closing(sqlite3.connect(partial, isolation_level=None)) as target:
        source.backup(target)
        target.execute("PRAGMA journal_mode = DELETE")  # one file, and nothing beside it


def _taken(target: Path) -> Refused:
    reason = f"{target} exists, and a backup overwrites nothing"
    return Refused(Code.INVALID_REQUEST, reason, remedy="Choose another name.")


def _name(partial: Path, target: Path) -> None:
    """Takes the name only if nobody has it by now."""
    try:
        os.link(partial, target)
    except FileExistsError:
        raise _taken(target) from None
    except OSError:  # a file system without hard links
        os.rename(partial, target)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
