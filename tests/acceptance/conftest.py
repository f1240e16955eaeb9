from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.acceptance.home import Home
from tests.fakes.bot_api import BotApi


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    home = Home(tmp_path)
    yield home
    await home.close()


@pytest.fixture
async def api() -> AsyncIterator[BotApi]:
    async with BotApi() as api:
        yield api
