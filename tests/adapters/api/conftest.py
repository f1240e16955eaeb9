from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.adapters.api.live import serving
from tests.adapters.api.memory_exchange import DESK, MemoryExchange


@pytest.fixture
def exchange() -> MemoryExchange:
    return MemoryExchange(tokens={"desk-token": DESK})


@pytest.fixture
async def home(tmp_path: Path, exchange: MemoryExchange) -> AsyncIterator[Path]:
    """The home of a bridge that accepts."""
    async with serving(exchange, tmp_path):
        yield tmp_path
