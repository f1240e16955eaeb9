from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.acceptance.forks import Forks, forking
from tests.acceptance.home import Home
from tests.acceptance.onboarding import Init, environ
from tests.acceptance.seat import Seat
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


@pytest.fixture
async def init(tmp_path: Path, api: BotApi, forks: Forks) -> AsyncIterator[Init]:
    """Starts the command on a home that is not there yet, where no agent is installed."""
    seats: list[Seat] = []

    async def started(*options: str, through: tuple[str, ...] = (), **more: str) -> Seat:
        seat = await Seat.taken(environ(tmp_path, api) | more, ("init", *options), forks, through)
        seats.append(seat)
        return seat

    yield started
    for seat in seats:
        await seat.close()
