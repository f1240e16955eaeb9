import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.adapters.acp.bench import Bench
from tests.adapters.nurseries import Lent, lending


@pytest.fixture(scope="session")
def requests() -> Iterator[socket.socket]:
    with lending() as requests:
        yield requests


@pytest.fixture(params=["here", "in a worker"])
async def bench(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Bench]:
    """What holds for agents holds wherever they run."""
    lent = Lent(request.getfixturevalue("requests")) if request.param == "in a worker" else None
    bench = Bench(tmp_path, lent)
    yield bench
    await bench.end()
