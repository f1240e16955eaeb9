"""The home as files: whose they are, who may read them, and how much room there is."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from adapters.settings.home import BALLAST, DATABASE
from adapters.sqlite.ballast import BYTES, Ballast
from adapters.upkeep.finding import Finding, fail, ok, size, warn

_LITTLE = 512 << 20
_PRIVATE = (DATABASE, f"{DATABASE}-wal", "run", "run/control.sock", "environment")


def permissions(home: Path, secrets: list[Path]) -> Iterator[Finding]:
    """`secrets` are files that hold a token."""
    private = [home, *(home / name for name in _PRIVATE), *secrets]
    found = [finding for path in private if (finding := _private(path)) is not None]
    yield from found or [ok("permissions", f"{home} and what is in it are yours alone")]


def _private(path: Path) -> Finding | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        return fail("permissions", f"{path} cannot be looked at: {error.strerror}", "See who owns it.")
    if status.st_uid != os.geteuid():
        remedy = f"Run the bridge as that user, or: chown {os.geteuid()} {path}"
        return fail("permissions", f"{path} belongs to another user ({status.st_uid})", remedy)
    if status.st_mode & 0o077:
        wanted = "700" if stat.S_ISDIR(status.st_mode) else "600"
        return warn("permissions", f"others may get at {path}", f"chmod {wanted} {path}")
    return None


def room(home: Path) -> Iterator[Finding]:
    status = os.statvfs(home)
    free = status.f_bavail * status.f_frsize
    remedy = "Make room: while the disk is full nothing new is accepted."
    if free < BYTES:
        yield fail("disk", f"{size(free)} free: the disk is full", remedy)
    elif free < _LITTLE:
        yield warn("disk", f"{size(free)} free", remedy)
    else:
        yield ok("disk", f"{size(free)} free")
    if Ballast(home / BALLAST).whole:
        yield ok("ballast", f"{size(BYTES)} are set aside for a full disk")
    else:
        yield warn("ballast", "nothing is set aside for a full disk", "The bridge does it once there is room.")
