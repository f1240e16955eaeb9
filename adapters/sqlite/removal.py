"""Removes what has outlived its retention: a stretch at a time, between the transactions of the writer."""

import sqlite3
from collections.abc import Callable

from adapters.sqlite.database import Database
from adapters.sqlite.queries import SQL
from bridge.errors import Code, Refused
from bridge.ids import first_id

_Bound = Callable[[float, float], float | str]


def _old(before: float, keys_before: float) -> str:
    return first_id(before)


_KINDS: dict[str, tuple[float | str, _Bound]] = {
    "messages": ("", _old),
    "requests": ("", _old),
    "turns": ("", _old),
    "posts": ("", _old),
    "updates": (-1.0, lambda before, keys_before: before),
    "steps": ("", _old),
    "verdicts": ("", _old),
    "conversations": ("", _old),
    "keys": ("", lambda before, keys_before: first_id(keys_before)),
    "grants": ("", _old),
    "approvals": ("", _old),
    "tokens": ("", _old),
    "acts": ("", _old),
    "quotas": (-1, lambda before, keys_before: before // 86_400),
    "pairs": ("", lambda before, keys_before: "\U0010ffff"),
    "sessions": ("", lambda before, keys_before: "\U0010ffff"),
}
"""Where each kind begins and ends, in its own order. What belongs to a message comes after all messages, and
what has turns after all turns."""


class Removal:
    """`database` is the writer's: work in its thread never meets another transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._left = list(_KINDS)
        self._after: float | str | None = None

    async def remove(self, before: float, keys_before: float, limit: int) -> tuple[int, bool]:
        """As `Store.remove`."""
        try:
            return await self._database.run(lambda connection: self._stretch(connection, before, keys_before, limit))
        except sqlite3.Error as error:
            raise Refused(Code.UNAVAILABLE, f"the database cannot be written: {error}") from error

    def _stretch(
        self, connection: sqlite3.Connection, before: float, keys_before: float, limit: int
    ) -> tuple[int, bool]:
        kind = self._left[0]
        begin, bound = _KINDS[kind]
        after = begin if self._after is None else self._after
        stretch = {"after": after, "until": bound(before, keys_before), "limit": limit}
        last, count = connection.execute(SQL[f"next_{kind}"], stretch).fetchone()
        removed = 0
        if count:
            rows = {"after": after, "last": last, "before": before}
            removed = connection.execute(SQL[f"remove_{kind}"], rows).rowcount
        self._after = last
        if count < limit:
            self._left, self._after = self._left[1:], None
        more = bool(self._left)
        self._left = self._left or list(_KINDS)
        return removed, more
