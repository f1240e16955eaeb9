"""The store: whether it is whole, which version it has, and what it holds."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from adapters.cli import exits
from adapters.cli.reading import lasted
from adapters.sqlite.database import WAL_BYTES
from adapters.sqlite.inspection import Inspection, inspect
from adapters.upkeep.finding import Finding, fail, ok, size, warn

_SKEW_S = 60
_GRACE_S = 86_400
_BACKLOG = 10_000
_OLDEST_SQLITE = (3, 37)


def database(path: Path, *, now: float, retention_s: float) -> Iterator[Finding]:
    """`retention_s` is what the settings say, or their default."""
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        yield fail("sqlite", f"SQLite {sqlite3.sqlite_version} is too old", "Use a Python with SQLite 3.37 or later.")
    else:
        yield ok("sqlite", f"SQLite {sqlite3.sqlite_version}")
    if not path.exists():
        yield ok("store", f"there is no {path.name} yet; the first start makes it")
        return
    try:
        found = inspect(path, before=now - retention_s - _GRACE_S)
    except sqlite3.Error as error:
        yield fail("store", f"{path} cannot be read: {error}", "Stop the bridge, and restore a backup.")
        return
    yield _whole(path, found)
    yield _schema(found)
    yield _log(path)
    yield _clock(found, now)
    yield _backlog(found)


def _whole(path: Path, found: Inspection) -> Finding:
    if found.faults:
        return fail("store", f"{path} is damaged: {found.faults[0]}", "Stop the bridge, and restore a backup.")
    held = ", ".join(f"{count} {table}" for table, count in found.counts.items())
    return ok("store", f"whole, {size(path.stat().st_size)}: {held or 'empty'}")


def _schema(found: Inspection) -> Finding:
    if found.schema > found.known:
        text = f"the store has schema {found.schema}, and this Tieline knows {found.known}"
        return fail("schema", text, "Install the Tieline that last used it, or a newer one.", code=exits.CONFIG)
    if found.schema < found.known:
        return ok("schema", f"{found.schema}; the next start brings it to {found.known}")
    return ok("schema", f"{found.schema}")


def _log(path: Path) -> Finding:
    try:
        grown = path.with_name(f"{path.name}-wal").stat().st_size
    except FileNotFoundError:
        grown = 0
    if grown > 2 * WAL_BYTES:
        remedy = "End whatever else has the database open: it keeps the log from being emptied."
        return warn("wal", f"the write-ahead log has grown to {size(grown)}", remedy)
    return ok("wal", f"the write-ahead log has {size(grown)}")


def _clock(found: Inspection, now: float) -> Finding:
    ahead = (found.newest_at or 0) - now
    if ahead > _SKEW_S:
        text = f"the newest entry is {lasted(ahead)} in the future: the clock was set back, or it was wrong"
        return warn("clock", text, "Set the clock right; what was written meanwhile lives so much longer.")
    return ok("clock", "it is not behind the newest entry")


def _backlog(found: Inspection) -> Finding:
    text = f"{found.overdue} messages are over for longer than it"
    if found.overdue > _BACKLOG:
        remedy = "Let the bridge run: it removes them a little at a time."
        return warn("retention", text, remedy)
    return ok("retention", text)
