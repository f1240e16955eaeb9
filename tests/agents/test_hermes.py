"""Real Hermes agents over ACP."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.home import Home
from tests.agents.office import Office
from tests.agents.provider import Calls, Provider, Says, hangs
from tests.agents.scenes import CANARY, MAIL, READS, Scenes, failures, rows
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

    async def test_hung(self, office: Office) -> None:
        """Hermes itself gives up a model that says nothing: that is no answer."""
        career = office.member("career")
        config = office.folder / "career" / "hermes" / "config.yaml"
        patience = {"custom": {"stale_timeout_seconds": 1, "request_timeout_seconds": 1}}
        config.write_text(
            json.dumps({**json.loads(config.read_text()), "providers": patience, "agent": {"api_max_retries": 1}})
        )
        office.home.rule("default/shell", "default/career")
        career.on(MAIL, hangs())
        await office.open()
        sent = (await office.home.tieline("send", "career", CANARY, "--wake", "--json")).lines[0]
        await office.seen("career", "timed out")
        career.forget()
        career.on(MAIL, READS)
        career.on(CANARY, Says("the offer is sound"), tool="peer_receive")
        await office.until_answered(sent, "the offer is sound")
        assert await failures(office, sent) == ["timeout"]

    async def test_cancel_at_a_question(self, office: Office) -> None:
        """A cancel leaves a question of the agent open: the bridge answers it itself."""
        desk = office.member("desk")
        desk.on("again", Says("here again"))
        desk.on("work", Calls("terminal", {"command": "rm -rf ../work/*"}))
        await office.open()
        office.say("desk", "work")
        await office.seen("desk", "asks for permission")
        office.say("desk", "/stop")
        await office.seen("desk", "stopped")
        office.say("desk", "once again")
        await office.seen("desk", "here again")

    async def test_allowed(self, office: Office) -> None:
        desk = office.member("desk")
        desk.on("work", Calls("terminal", {"command": "rm -rf ../work/*"}))
        desk.on("", Says("it is empty"), tool="terminal")
        await office.open()
        office.say("desk", "work")
        asked = await office.seen("desk", "asks for permission")
        office.api.press(asked, dict(asked.buttons)["Allow once"], user=111)
        await office.seen("desk", "it is empty")

    def user_rows(self, office: Office) -> Iterator[str]:
        for handle in office.members:
            database = office.folder / handle / "hermes" / "state.db"
            yield from rows(database, "select content from messages where role = 'user'")

    def forget(self, office: Office, handle: str) -> None:
        for file in (office.folder / handle / "hermes").glob("state.db*"):
            file.unlink()
