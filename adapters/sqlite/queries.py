"""The named statements of `queries.sql`, `changes.sql` and `removal.sql`."""

import re
import sqlite3
from collections.abc import Iterator
from functools import cache
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


def parameters(statement: str) -> tuple[str, ...]:
    """The names of what a statement takes."""
    return tuple(dict.fromkeys(re.findall(r":(\w+)", statement)))


@cache
def numbered(statement: str, before: int = 0) -> str:
    """A statement that takes a row of its parameters, after so many other values: by number, which costs less than by
    name."""
    names = parameters(statement)
    return re.sub(r":(\w+)", lambda named: f"?{before + names.index(named[1]) + 1}", statement)


def _named(file: str) -> Iterator[tuple[str, str]]:
    text = files(__package__).joinpath(file).read_text(encoding="utf-8")
    for block in text.split(_NAME)[1:]:
        name, _, statement = block.partition("\n")
        yield name.strip(), statement.strip()


SQL: dict[str, str] = dict([*_named("queries.sql"), *_named("changes.sql"), *_named("removal.sql")])
