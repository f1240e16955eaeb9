from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.adapters.api.live import serving
from tests.adapters.api.memory_exchange import DESK, MemoryExchange
from tests.adapters.cli.shell import Shell


@pytest.fixture
def exchange() -> MemoryExchange:
    return MemoryExchange(tokens={"desk-token": DESK})


@pytest.fixture
def idle_shell(tmp_path: Path) -> Shell:
    """A shell whose bridge does not run."""
    return Shell(tmp_path)


@pytest.fixture
async def shell(tmp_path: Path, exchange: MemoryExchange) -> AsyncIterator[Shell]:
    """A shell whose bridge accepts."""
    async with serving(exchange, tmp_path):
        yield Shell(tmp_path)
