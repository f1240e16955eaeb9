"""Statements that write one row, or many at once.

For each step of a statement sqlite3 gives the interpreter away and then waits for its turn to have it back, which may
take longer than the row itself; and whoever else wants the interpreter meanwhile waits as well. So many rows are
written by one statement, in one step.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

from adapters.sqlite.codec import row_of
from adapters.sqlite.queries import numbered, parameters

Row = tuple[object, ...]

_SIZES = (64, 16, 4, 1)
"""For how many rows there are statements: few numbers, so that each is prepared once."""


@dataclass(frozen=True, slots=True, eq=False)
class Write:
    """An INSERT of one group of values, or an UPDATE that its WHERE confines to one row. `row` makes the row that it
    takes of an entity, with its `names` in their order."""

    text: str
    names: tuple[str, ...]
    row: Callable[[Any], Row]

    @classmethod
    def of(cls, kind: type, statement: str) -> "Write":
        names = parameters(statement)
        return cls(statement.rstrip(";"), names, row_of(kind, names))

    def runs(self, rows: Sequence[Row]) -> list["Run"]:
        runs, begun = [], 0
        for size in _SIZES:
            while len(rows) - begun >= size:
                values = rows[begun] if size == 1 else tuple(chain.from_iterable(rows[begun : begun + size]))
                runs.append(Run(_for_rows(self, size), values, size))
                begun += size
        return runs


class Run(NamedTuple):
    """A statement with its values, and how many rows it must insert or hit."""

    statement: str
    values: Row
    rows: int


@cache
def _for_rows(write: Write, size: int) -> str:
    width = len(write.names)
    if size == 1:
        return numbered(write.text)
    head, values, group = write.text.partition("VALUES")
    if values:
        return f"{head}VALUES {', '.join(numbered(group, row * width) for row in range(size))}"
    change, _, where = write.text.rpartition("WHERE")
    given = ", ".join([f"({', '.join('?' * width)})"] * size)
    return f"{_of_given(write, change)}FROM (VALUES {given}) AS given WHERE {_of_given(write, where)}"


def _of_given(write: Write, part: str) -> str:
    """SQLite calls the columns of a list of values `column1`, `column2` and so on."""
    return re.sub(r":(\w+)", lambda named: f"given.column{write.names.index(named[1]) + 1}", part)
