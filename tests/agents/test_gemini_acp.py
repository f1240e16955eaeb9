"""Real Gemini CLI agents over ACP."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.acceptance.home import Home
from tests.agents.generating import Generating
from tests.agents.office import Office
from tests.agents.provider import Provider
from tests.agents.scenes import Scenes
from tests.fakes.bot_api import BotApi

pytestmark = pytest.mark.timeout(500)


def settled(folder: Path, provider: Provider, model: str) -> dict[str, str]:
    own = folder / "gemini"
    (own / ".gemini").mkdir(parents=True)
    told = {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "general": {"disableAutoUpdate": True},
    }
    (own / ".gemini" / "settings.json").write_text(json.dumps({**told, "privacy": {"usageStatisticsEnabled": False}}))
    return {
        "GEMINI_CLI_HOME": str(own),
        "GEMINI_API_KEY": provider.key,
        "GEMINI_MODEL": model,
        "GOOGLE_GEMINI_BASE_URL": provider.url,
    }


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with Provider(Generating()) as provider:
        yield provider


@pytest.fixture
def office(home: Home, api: BotApi, provider: Provider) -> Office:
    return Office(home, api, provider, "gemini", "gemini", settled)


class Gemini(Scenes):
    """Of these scenes only the handoff was tried."""


async def test_handoff(office: Office) -> None:
    scenes = Gemini()
    await scenes.test_handoff(office)
    scenes.is_clean(office)
