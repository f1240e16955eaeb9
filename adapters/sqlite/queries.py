"""The named statements of `queries.sql`, `changes.sql` and `removal.sql`."""

import re
import sqlite3
from collections.abc import Iterator, Sequence
from importlib.resources import files

_NAME = "-- name:"


def statements(script: str) -> Iterator[str]:
    """The statements of a script, one by one, so that a caller's transaction may hold them together."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending.strip()
            pending = ""
    if any(line.strip() and not line.startswith("--") for line in pending.splitlines()):
        raise ValueError(f"an unfinished statement: {pending.strip()}")


def numbered(statement: str, columns: Sequence[str]) -> str:
    """A statement that takes a row of these columns: by number, which costs less than by name."""
    return re.sub(r":(\w+)", lambda named: f"?{columns.index(named[1]) + 1}", statement)


def _named(file: str) -> Iterator[tuple[str, str]]:
    text = files(__package__).joinpath(file).read_text(encoding="utf-8")
    for block in text.split(_NAME)[1:]:
        name, _, statement = block.partition("\n")
        yield name.strip(), statement.strip()


SQL: dict[str, str] = dict([*_named("queries.sql"), *_named("changes.sql"), *_named("removal.sql")])
