from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.acceptance.forks import Forks, forking
from tests.acceptance.home import Home
from tests.fakes.bot_api import BotApi


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    with forking() as forks:
        yield forks


@pytest.fixture
async def home(tmp_path: Path, forks: Forks) -> AsyncIterator[Home]:
    home = Home(tmp_path, forks)
    yield home
    await home.close()


@pytest.fixture
async def api() -> AsyncIterator[BotApi]:
    async with BotApi() as api:
        yield api
