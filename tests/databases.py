"""Databases that are made already: to make one takes longer than most of what is then done with it."""

import os
import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from adapters.sqlite.migrate import migrate


def made(path: Path) -> Path:
    """As a bridge leaves it that has stored nothing yet. Nothing may be there before."""
    with open(path, "xb", opener=_private) as file:
        file.write(_new())
    return path


@cache
def _new() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder, "tieline.db")
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = OFF")
            migrate(connection)
        return path.read_bytes()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
