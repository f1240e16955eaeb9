"""Real Hermes agents over ACP."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.home import Home
from tests.agents.office import Office
from tests.agents.provider import Calls, Provider
from tests.agents.scenes import Scenes, rows
from tests.fakes.bot_api import BotApi

pytestmark = pytest.mark.timeout(500)


def settled(folder: Path, provider: Provider, model: str) -> dict[str, str]:
    own = folder / "hermes"
    own.mkdir()
    told = {"default": model, "provider": "custom", "base_url": f"{provider.url}/v1", "api_key": provider.key}
    (own / "config.yaml").write_text(json.dumps({"model": told}))
    return {"HERMES_HOME": str(own)}


@pytest.fixture
def office(home: Home, api: BotApi, provider: Provider) -> Office:
    return Office(home, api, provider, "hermes", "hermes-acp", settled)


class TestHermes(Scenes):
    RUNS = Calls("terminal", {"command": "sleep 60"})
    ASKS = Calls("terminal", {"command": "rm -rf ../work/*"})

    def hurry(self, office: Office, handle: str) -> None:
        config = office.folder / handle / "hermes" / "config.yaml"
        patience = {"custom": {"stale_timeout_seconds": 1, "request_timeout_seconds": 1}}
        config.write_text(
            json.dumps({**json.loads(config.read_text()), "providers": patience, "agent": {"api_max_retries": 1}})
        )

    def user_rows(self, office: Office) -> Iterator[str]:
        for handle in office.members:
            database = office.folder / handle / "hermes" / "state.db"
            yield from rows(database, "select content from messages where role = 'user'")

    def forget(self, office: Office, handle: str) -> None:
        for file in (office.folder / handle / "hermes").glob("state.db*"):
            file.unlink()
