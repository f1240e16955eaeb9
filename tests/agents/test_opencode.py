"""Real OpenCode agents over ACP."""

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
    """Each keeps all that it has in a home of its own, and asks nobody but the provider."""
    home = folder / "home"
    home.mkdir()
    house = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "House",
        "options": {"baseURL": f"{provider.url}/v1", "apiKey": provider.key},
        "models": {model: {"name": model, "limit": {"context": 200_000, "output": 8_000}}},
    }
    told = {"model": f"house/{model}", "small_model": f"house/{model}", "provider": {"house": house}}
    config = folder / "opencode.json"
    asks = {"permission": {"bash": {"*": "allow", "rm *": "ask"}}}
    config.write_text(json.dumps({**told, **asks, "autoupdate": False, "share": "disabled"}))
    (folder / "models.json").write_text("{}")
    return {
        "HOME": str(home),
        "OPENCODE_CONFIG": str(config),
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_MODELS_PATH": str(folder / "models.json"),
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    }


@pytest.fixture
def office(home: Home, api: BotApi, provider: Provider) -> Office:
    return Office(home, api, provider, "opencode", "opencode", settled)


class TestOpenCode(Scenes):
    RUNS = Calls("bash", {"command": "sleep 60", "description": "wait"})
    ASKS = Calls("bash", {"command": "rm -rf ./left-over", "description": "tidy up"})
    WAITS = True

    def hurry(self, office: Office, handle: str) -> None:
        config = office.folder / handle / "opencode.json"
        told = json.loads(config.read_text())
        told["provider"]["house"]["options"]["timeout"] = 2_000
        config.write_text(json.dumps(told))

    def user_rows(self, office: Office) -> Iterator[str]:
        for handle in office.members:
            yield from rows(database_of(office, handle), _USERS)

    def forget(self, office: Office, handle: str) -> None:
        database = database_of(office, handle)
        for file in database.parent.glob("opencode.db*"):
            file.unlink()


_USERS = (
    "select part.data from part join message on part.message_id = message.id "
    "where json_extract(message.data, '$.role') = 'user'"
)


def database_of(office: Office, handle: str) -> Path:
    return office.folder / handle / "home" / ".local" / "share" / "opencode" / "opencode.db"
