"""Real Codex agents over ACP."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.acceptance.home import Home
from tests.agents.office import Office
from tests.agents.provider import Calls, Provider, Says, Waits
from tests.agents.responses import Responses
from tests.agents.scenes import Scenes
from tests.fakes.bot_api import BotApi

pytestmark = pytest.mark.timeout(500)


def settled(folder: Path, provider: Provider, model: str) -> dict[str, str]:
    own = folder / "codex"
    own.mkdir()
    (own / "config.toml").write_text(
        f"""model = "{model}"
model_provider = "house"
check_for_update_on_startup = false
[model_providers.house]
name = "house"
base_url = "{provider.url}/v1"
wire_api = "responses"
env_key = "HOUSE_KEY"
request_max_retries = 0
stream_max_retries = 1
"""
    )
    return {"CODEX_HOME": str(own), "HOUSE_KEY": provider.key, "INITIAL_AGENT_MODE": "workspace-write"}


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with Provider(Responses()) as provider:
        yield provider


@pytest.fixture
def office(home: Home, api: BotApi, provider: Provider) -> Office:
    return Office(home, api, provider, "codex", "codex-acp", settled)


class TestCodex(Scenes):
    RUNS = Calls("exec_command", {"cmd": "sleep 60"})
    ASKS = Calls(
        "exec_command",
        {"cmd": "rm -rf ./left-over", "sandbox_permissions": "require_escalated", "justification": "May I tidy up?"},
    )
    ONCE = "Yes, proceed"
    REFUSED = "Authentication required"

    def hanging(self) -> Waits:
        """It waits for ever for an answer to begin."""
        return Waits(asyncio.Event(), Says("never"), first="I have begun")

    def hurry(self, office: Office, handle: str) -> None:
        config = office.folder / handle / "codex" / "config.toml"
        config.write_text(f"{config.read_text()}stream_idle_timeout_ms = 1000\n")

    def user_rows(self, office: Office) -> Iterator[str]:
        """In the rollouts of its threads, where its own notes stand as users' words too."""
        for file in office.folder.glob("*/codex/sessions/**/*.jsonl"):
            for line in file.read_text().splitlines():
                item = json.loads(line).get("payload", {})
                if item.get("type") == "message" and item.get("role") == "user":
                    yield json.dumps(item)

    def forget(self, office: Office, handle: str) -> None:
        for file in (office.folder / handle / "codex" / "sessions").rglob("*.jsonl"):
            file.unlink()
