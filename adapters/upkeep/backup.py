"""`tieline backup`: a whole copy of the store and of what people have sent, with or without a running bridge."""

import argparse
import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

from adapters.cli import exits
from adapters.cli.output import record, say
from adapters.cli.plain import one_line
from adapters.files import copy_all
from adapters.settings.home import DATABASE, FILES, home_of
from adapters.sqlite.backup import Backup, back_up
from adapters.upkeep.finding import size
from bridge.errors import Code, Refused

_ANOTHER = "Choose another name."


def backup(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Raises `Refused` where there is no backup to be had."""
    home = home_of(environ)
    target = _target(home, options.path)
    beside = target.with_name(f"{target.name}.files")
    if os.path.lexists(beside):
        raise Refused(Code.INVALID_REQUEST, f"{beside} exists, and a backup overwrites nothing", remedy=_ANOTHER)
    made = back_up(home / DATABASE, target)
    files = _files(home / FILES, beside, made)
    counts = made.inspection.counts
    if options.json:
        of_files = {"files": files, "files_path": str(beside) if files else None}
        record({"path": str(made.path), "bytes": made.bytes, "schema": made.inspection.schema, **counts, **of_files})
    else:
        held = ", ".join(f"{count} {table}" for table, count in counts.items())
        say(one_line(f"{made.path}: {size(made.bytes)}, whole, {held}"))
        if files:
            say(one_line(f"{beside}: {files} files that people sent"))
    return exits.OK


def _files(kept: Path, beside: Path, made: Backup) -> int:
    """After the store: each file is kept before the message that names it. There is all of it or nothing."""
    partial = beside.with_name(f".{beside.name}.partial-{os.getpid()}")
    try:
        copied = copy_all(kept, partial)
        if copied:
            partial.rename(beside)
    except OSError as error:
        made.path.unlink(missing_ok=True)
        remedy = "Make room, or name a folder with more."
        raise Refused(Code.UNAVAILABLE, f"what people sent cannot be copied: {error}", remedy=remedy) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return copied


def _target(home: Path, path: str | None) -> Path:
    """Named by the time where no name is given: in the folder that is named, else in the home's own."""
    name = time.strftime("tieline-%Y%m%dT%H%M%SZ.db", time.gmtime())
    if path is None:
        folder = home / "backups"
        if home.is_dir():
            folder.mkdir(mode=0o700, exist_ok=True)
        return folder / name
    given = Path(path).expanduser().absolute()
    return given / name if given.is_dir() else given
