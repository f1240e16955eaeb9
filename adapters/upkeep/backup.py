"""`tieline backup`: a whole copy of the store, with or without a running bridge."""

import argparse
import time
from collections.abc import Mapping
from pathlib import Path

from adapters.cli import exits
from adapters.cli.output import record, say
from adapters.cli.plain import one_line
from adapters.settings.home import DATABASE, home_of
from adapters.sqlite.backup import back_up
from adapters.upkeep.finding import size


def backup(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Raises `Refused` where there is no backup to be had."""
    home = home_of(environ)
    made = back_up(home / DATABASE, _target(home, options.path))
    counts = made.inspection.counts
    if options.json:
        record({"path": str(made.path), "bytes": made.bytes, "schema": made.inspection.schema, **counts})
    else:
        held = ", ".join(f"{count} {table}" for table, count in counts.items())
        say(one_line(f"{made.path}: {size(made.bytes)}, whole, {held}"))
    return exits.OK


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
