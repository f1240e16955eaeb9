import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.adapters.nurseries import lending
from tests.adapters.worker.house import House


@pytest.fixture(scope="session")
def requests() -> Iterator[socket.socket]:
    with lending() as requests:
        yield requests


@pytest.fixture
async def house(tmp_path: Path, requests: socket.socket) -> AsyncIterator[House]:
    house = House(tmp_path, requests)
    yield house
    await house.end()
