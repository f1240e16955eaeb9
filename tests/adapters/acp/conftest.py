from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.adapters.acp.bench import Bench


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    await bench.end()
