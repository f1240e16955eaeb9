"""Removes what has outlived its retention, in short transactions between those of the writer."""

import sqlite3

from adapters.sqlite.database import Database
from adapters.sqlite.queries import SQL
from bridge.errors import Code, Refused
from bridge.ids import first_id

_STATEMENTS = (
    "remove_messages",
    "remove_requests",
    "remove_turns",
    "remove_posts",
    "remove_updates",
    "remove_steps",
    "remove_verdicts",
    "remove_conversations",
    "remove_keys",
)
"""What belongs to a message comes after it."""


class Removal:
    """`database` is the writer's: work in its thread never meets another transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._seen = ("", "")

    async def remove(self, before: float, keys_before: float, limit: int) -> int:
        """As `Store.remove`. Of the pairs it looks at `limit` a time, and begins anew after the last."""
        parameters = {
            "before": before,
            "first_id": first_id(before),
            "first_key": first_id(keys_before),
            "limit": limit,
        }
        try:
            return await self._database.run(lambda connection: self._remove(connection, parameters))
        except sqlite3.Error as error:
            raise Refused(Code.UNAVAILABLE, f"the database cannot be written: {error}") from error

    def _remove(self, connection: sqlite3.Connection, parameters: dict[str, object]) -> int:
        connection.execute("BEGIN IMMEDIATE")
        try:
            removed = sum(connection.execute(SQL[name], parameters).rowcount for name in _STATEMENTS)
            removed += self._remove_pairs(connection, parameters)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return removed

    def _remove_pairs(self, connection: sqlite3.Connection, parameters: dict[str, object]) -> int:
        a, b = self._seen
        found = connection.execute(SQL["next_pairs"], {**parameters, "a": a, "b": b}).fetchall()
        self._seen = tuple(found[-1]) if found else ("", "")
        rows = [{**parameters, "a": a, "b": b} for a, b in found]
        return connection.executemany(SQL["remove_pair"], rows).rowcount if rows else 0
