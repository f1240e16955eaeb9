from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.sqlite.store import SqliteStore, open_store
from tests.databases import made


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tieline.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    opened = await open_store(made(path))
    yield opened
    await opened.close()
