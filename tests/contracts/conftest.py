"""Every test here runs over every store."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.memory.store import MemoryStore
from adapters.sqlite.store import open_store
from bridge.ports.store import Store
from tests.databases import made


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    opened: Store = MemoryStore() if request.param == "memory" else await open_store(made(tmp_path / "tieline.db"))
    yield opened
    await opened.close()
