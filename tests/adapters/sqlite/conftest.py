from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.sqlite.store import SqliteStore, open_store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tieline.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    opened = await open_store(path)
    yield opened
    await opened.close()
