"""Real Claude Code agents over ACP, as an ordinary user."""

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.acceptance.home import Home
from tests.agents.messages import Messages
from tests.agents.office import Office
from tests.agents.provider import Calls, Provider
from tests.agents.scenes import Scenes
from tests.agents.window import Person, person
from tests.fakes.bot_api import BotApi

pytestmark = pytest.mark.timeout(500)


def settled(folder: Path, provider: Provider, model: str) -> dict[str, str]:
    """Its person is asked before all that is no tool of the bridge."""
    own = folder / "claude"
    own.mkdir()
    permissions = {"defaultMode": "default"}
    (own / "settings.json").write_text(json.dumps({"permissions": permissions}))
    return {
        "CLAUDE_CONFIG_DIR": str(own),
        "ANTHROPIC_BASE_URL": provider.url,
        "ANTHROPIC_API_KEY": provider.key,
        "ANTHROPIC_MODEL": model,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "ENABLE_TOOL_SEARCH": "false",
        "CLAUDE_CODE_MAX_RETRIES": "1",
    }


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with Provider(Messages()) as provider:
        yield provider


@pytest.fixture
def somebody() -> Iterator[Person]:
    with person() as somebody:
        yield somebody


@pytest.fixture
async def home(somebody: Person, api: BotApi, provider: Provider) -> AsyncIterator[Home]:
    """The person's own, where the person may look."""
    home = Home(somebody.home)
    yield home
    await home.close()


@pytest.fixture
def office(home: Home, api: BotApi, provider: Provider, somebody: Person) -> Office:
    return Office(home, api, provider, "claude-code", "claude-agent-acp", settled, person=somebody)


class TestClaude(Scenes):
    RUNS = Calls("Bash", {"command": "sleep 60", "description": "wait"})
    ASKS = Calls("Bash", {"command": "rm -rf ./left-over", "description": "tidy up"})
    ONCE = "Yes"
    REFUSED = "Authentication required"

    def hurry(self, office: Office, handle: str) -> None:
        settings = office.folder / handle / "claude" / "settings.json"
        told = json.loads(settings.read_text())
        settings.write_text(json.dumps({**told, "env": {"API_TIMEOUT_MS": "1500"}}))

    def user_rows(self, office: Office) -> Iterator[str]:
        """In its transcripts, where results of tools stand in rows of users too."""
        for file in office.folder.glob("*/claude/projects/**/*.jsonl"):
            for line in file.read_text().splitlines():
                row = json.loads(line)
                content = row.get("message", {}).get("content", []) if row.get("type") == "user" else []
                for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
                    if block["type"] == "text":
                        yield block["text"]

    def forget(self, office: Office, handle: str) -> None:
        for file in (office.folder / handle / "claude" / "projects").rglob("*.jsonl"):
            file.unlink()
