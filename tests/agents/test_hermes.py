"""Real Hermes agents over ACP."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.home import Home
from tests.agents.office import Office
from tests.agents.provider import Calls, Provider, Says
from tests.agents.scenes import CANARY, MAIL, READS, Scenes, methods, rows
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
    ASKS = Calls("terminal", {"command": "rm -rf ./left-over"})

    async def test_one_home(self, office: Office) -> None:
        """Two sessions share a home of Hermes: each is itself, with the model that it names, and goes on as itself."""
        desk = office.member("desk")
        office.more_env = {"HERMES_HOME": str(office.folder / "desk" / "hermes")}
        career = office.member("career", model="custom:career")
        office.home.rule("default/desk", "default/career")
        desk.on("look at this", Calls("peer_send", {"to": "career", "text": f"{CANARY} judge", "wake": True}))
        desk.on("", Says("handed on"), tool="peer_send")
        desk.on(MAIL, READS)
        desk.on("the offer is sound", Says("I was told: it is sound"), tool="peer_receive")
        desk.on("who", Says("I am the desk"))
        career.on(MAIL, READS)
        career.on(CANARY, Says("the offer is sound"), tool="peer_receive")
        career.on("who", Says("I am the career"))
        await office.open()
        office.say("desk", "look at this offer")
        await office.seen("desk", "I was told: it is sound")
        await office.home.down()
        await office.home.up()
        office.say("desk", "who are you?")
        office.say("career", "who are you?")
        await office.seen("desk", "I am the desk")
        await office.seen("career", "I am the career")
        for model, own, others in ((desk, "look at this offer", MAIL), (career, MAIL, "look at this offer")):
            first = next(line for line in model.asked[-1].lines if line.role == "user")
            assert own in first.text
            assert others not in first.text
        assert methods(office, "career")[0].count("session/set_model") == 1

    def hurry(self, office: Office, handle: str) -> None:
        config = office.folder / handle / "hermes" / "config.yaml"
        patience = {"custom": {"stale_timeout_seconds": 1, "request_timeout_seconds": 1}}
        config.write_text(
            json.dumps({**json.loads(config.read_text()), "providers": patience, "agent": {"api_max_retries": 1}})
        )

    def user_rows(self, office: Office) -> Iterator[str]:
        for handle in office.members:
            database = office.folder / handle / "hermes" / "state.db"
            if database.exists():
                yield from rows(database, "select content from messages where role = 'user'")

    def forget(self, office: Office, handle: str) -> None:
        for file in (office.folder / handle / "hermes").glob("state.db*"):
            file.unlink()
