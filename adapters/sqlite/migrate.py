"""Migrations: numbered, recorded, forward only, each in a transaction of its own."""

import sqlite3
from contextlib import closing
from importlib.resources import files
from pathlib import Path

from adapters.sqlite.queries import statements

_RECORD = "CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT"
_RECORDED = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'migrations'"


class NewerSchema(Exception):
    """The database was made by a newer Tieline. It is left as it is."""

    def __init__(self, path: Path, found: int, known: int) -> None:
        super().__init__(
            f"{path} has schema {found}, and this Tieline knows schemas up to {known}: "
            "install the Tieline that last used it or a newer one, or restore a backup from before its upgrade"
        )
        self.path = path
        self.found = found
        self.known = known


def known_migrations() -> dict[int, tuple[str, str]]:
    """Name and script of each migration, by number."""
    folder = files(__package__).joinpath("migrations")
    scripts = sorted((item for item in folder.iterdir() if item.name.endswith(".sql")), key=lambda item: item.name)
    return {
        int(item.name.partition("_")[0]): (item.name.removesuffix(".sql"), item.read_text("utf-8")) for item in scripts
    }


def refuse_newer(path: Path) -> None:
    """Raises `NewerSchema`. Opens the file for reading only, so that it stays untouched."""
    known = max(known_migrations())
    try:
        found = _schema_at(path, "ro")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname != "SQLITE_READONLY_ROLLBACK":
            raise
        # The power went while the file was being made: what was begun then is taken back before it can be read.
        found = _schema_at(path, "rw")
    if found > known:
        raise NewerSchema(path, found, known)


def _schema_at(path: Path, mode: str) -> int:
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True)) as connection:
        return schema_of(connection)


def schema_of(connection: sqlite3.Connection) -> int:
    """The number of the last migration that was applied; 0 for a new file."""
    if connection.execute(_RECORDED).fetchone() is None:
        return 0
    newest: int | None = connection.execute("SELECT max(number) FROM migrations").fetchone()[0]
    return newest or 0


def migrate(connection: sqlite3.Connection, *, upto: int | None = None) -> None:
    """Applies what is missing, up to the newest or to `upto`. A migration that fails leaves no trace."""
    connection.execute(_RECORD)
    for number, (name, script) in known_migrations().items():
        if number <= schema_of(connection) or (upto is not None and number > upto):
            continue
        connection.execute("BEGIN IMMEDIATE")
        try:
            for statement in statements(script):
                connection.execute(statement)
            connection.execute("INSERT INTO migrations (number, name) VALUES (?, ?)", (number, name))
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
