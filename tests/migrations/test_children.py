"""Sessions of a database from before there were children."""

import sqlite3
from contextlib import closing
from pathlib import Path

from adapters.sqlite.codec import columns_of, row_of
from adapters.sqlite.migrate import migrate
from adapters.sqlite.store import open_store
from bridge.session import Session
from tests.contracts.entities import DESK, session


async def test_a_session_from_before_is_nobodys_child_and_has_no_caps_yet(tmp_path: Path) -> None:
    path = tmp_path / "tieline.db"
    older = session(agent="desk", tags=("office",))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, upto=10)
        known = {column[1] for column in connection.execute("PRAGMA table_info(sessions)")}
        values = zip(columns_of(Session), row_of(Session, columns_of(Session))(older), strict=True)
        row = {name: value for name, value in values if name in known}
        places = ", ".join("?" * len(row))
        connection.execute(f"INSERT INTO sessions ({', '.join(row)}) VALUES ({places})", [*row.values()])
    store = await open_store(path)
    try:
        assert await store.session(DESK) == older
        assert await store.children() == []
    finally:
        await store.close()
