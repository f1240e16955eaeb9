from collections.abc import AsyncIterator

import pytest

from tests.adapters.telegram.stage import CAREER, DESK, FORUM, FlyingClock, RememberingIntake
from tests.fakes.bot_api import BotApi


@pytest.fixture
async def api() -> AsyncIterator[BotApi]:
    async with BotApi() as api:
        api.forum(FORUM, topics={DESK: "Front Desk", CAREER: "Career"})
        yield api


@pytest.fixture
def clock() -> FlyingClock:
    return FlyingClock()


@pytest.fixture
async def intake() -> RememberingIntake:
    return RememberingIntake()
