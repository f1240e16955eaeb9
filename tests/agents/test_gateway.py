"""Hermes' own gateway with its own bot, linked with a real bridge by its plugin."""

import asyncio
import json
import os
import shutil
import signal
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.home import Home
from tests.agents.gateway_provider import Calls, Json, Model, Provider, last, provider, since_user, told
from tests.agents.installed import HERMES
from tests.fakes.bot_api import BotApi

pytestmark = pytest.mark.timeout(400)

CHAT, DESK, CAREER = -1001, 42, 43
CANARY = "CANARY-5519 is Initech serious?"
PLUGIN = Path(__file__).parents[2] / "adapters" / "hermes" / "tieline_hermes"
READ = Calls("mcp_tieline_peer_receive")
PATIENCE_S = 120.0


@pytest.fixture
async def api() -> AsyncIterator[BotApi]:
    async with BotApi() as api:
        yield api


class Hermes:
    """One home of Hermes', and its gateway as a process."""

    def __init__(self, path: Path, api: BotApi, stub: Provider, bridge: Path) -> None:
        self.path = path
        self._bridge = bridge
        self._process: asyncio.subprocess.Process | None = None
        path.mkdir()
        shutil.copytree(PLUGIN, path / "plugins" / "tieline", ignore=shutil.ignore_patterns("__pycache__"))
        topics = [{"name": "Front Desk", "thread_id": DESK}, {"name": "Career", "thread_id": CAREER}]
        config = {
            "model": {"default": "stub-model", "provider": "custom", "base_url": stub.url, "api_key": "x"},
            "display": {"busy_input_mode": "queue"},
            "plugins": {"enabled": ["tieline"]},
            "security": {"allow_lazy_installs": False},
            "platforms": {
                "telegram": {
                    "enabled": True,
                    "token": api.token,
                    "extra": {
                        "base_url": api.base_url,
                        "fallback_ips": ["127.0.0.1"],
                        "group_topics": [{"chat_id": CHAT, "topics": topics}],
                    },
                }
            },
        }
        (path / "config.yaml").write_text(json.dumps(config))
        self._api = api

    def pair(self, token: str) -> None:
        (self.path / "tieline").mkdir(exist_ok=True)
        (self.path / "tieline" / "token").write_text(token)

    async def up(self) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("TIELINE_", "HERMES_"))}
        environ = {
            **kept,
            "HERMES_HOME": str(self.path),
            "TIELINE_HOME": str(self._bridge),
            "TELEGRAM_BOT_TOKEN": self._api.token,
            "TELEGRAM_ALLOWED_USERS": "111",
            "HERMES_TELEGRAM_DISABLE_FALLBACK_IPS": "1",
            "TELEGRAM_HOME_CHANNEL": str(CHAT),
            "HERMES_TELEGRAM_TEXT_BATCH_DELAY_SECONDS": "0.05",
        }
        with (self.path / "stderr.txt").open("ab") as stderr:
            self._process = await asyncio.create_subprocess_exec(
                str(HERMES / "hermes"), "gateway", "run", env=environ, stdout=stderr, stderr=stderr,
                stdin=asyncio.subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip

    async def kill(self) -> None:
        await self._ended(signal.SIGKILL)

    async def down(self) -> None:
        await self._ended(signal.SIGTERM)

    async def _ended(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(number)
            async with asyncio.timeout(PATIENCE_S):
                await self._process.wait()

    def rows(self, role: str) -> list[str]:
        """The texts of a role in Hermes' own database."""
        with closing(sqlite3.connect(self.path / "state.db")) as database:
            return [str(row[0]) for row in database.execute("SELECT content FROM messages WHERE role = ?", (role,))]

    def said(self) -> str:
        logs = "".join(path.read_text()[-4000:] for path in (self.path / "logs").glob("*.log"))
        return (self.path / "stderr.txt").read_text()[-4000:] + logs


class Office:
    def __init__(self, home: Home, api: BotApi, hermes: Hermes, stub: Provider) -> None:
        self.home, self.api, self.hermes, self.stub = home, api, hermes, stub

    def say(self, text: str, thread: int) -> None:
        self.api.say(text, chat=CHAT, thread=thread, user=111)

    async def seen(self, part: str, thread: int) -> Any:
        return await self.api.seen(lambda sent: part in sent.text and sent.thread == thread, timeout=PATIENCE_S)

    async def sessions(self) -> dict[str, Any]:
        return {one["id"]: one for one in (await self.home.typed("sessions", "--json")).lines}

    async def joined(self) -> None:
        """Waits until both topics are the bridge's sessions, and the gateway is linked."""
        wanted = {"default/front-desk", "default/career"}
        async with asyncio.timeout(PATIENCE_S):
            while not wanted <= (await self.sessions()).keys():
                pass

    async def linked(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not any(one["linked"] for one in (await self.home.typed("gateway", "list", "--json")).lines):
                pass


@asynccontextmanager
async def office(tmp_path: Path, api: BotApi, model: Model) -> AsyncIterator[Office]:
    """The gateway has a session of a topic once somebody has written there."""
    api.forum(CHAT, topics={DESK: "Front Desk", CAREER: "Career"})
    (tmp_path / "bridge").mkdir()
    home = Home(tmp_path / "bridge")
    home.rule("default/front-desk", "default/career")
    home.rule("default/shell", "kind:gateway")
    async with provider(model) as stub:
        hermes = Hermes(tmp_path / "hermes", api, stub, home.path)
        one = Office(home, api, hermes, stub)
        try:
            await home.up()
            paired = await home.typed("gateway", "pair", "hermes", "--json")
            hermes.pair(json.loads(paired.out)["token"])
            await hermes.up()
            one.say("hello", DESK)
            await one.seen("hello back", DESK)
            one.say("hello", CAREER)
            await one.seen("hello back", CAREER)
            await one.joined()
            yield one
        except BaseException:
            print(hermes.said())
            print(home.stderr.read_text()[-4000:])
            raise
        finally:
            await hermes.down()
            await home.close()


@dataclass
class Pace:
    """A model that has begun to think goes on once it is told to."""

    thinks: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self) -> None:
        self.thinks.set()
        await self.go_on.wait()


def desk_and_career(pace: Pace | None = None) -> Model:
    """What a person asks at the desk is handed over; career reads its mail and answers; the desk tells its person."""

    async def model(messages: list[Json]) -> str | Calls:
        words, since = told(messages, "user")[-1], since_user(messages)
        if "unfinished work" in words:
            # Hermes goes on by itself with what a restart has cut off.
            known = any("Initech" in text for text in told(messages, "tool"))
            return "the answer is yes" if known else ("nothing is left" if "hand it over" in str(messages) else READ)
        if "hello" in words:
            return "hello back"
        if "hand it over" in words:
            if not since:
                arguments = {"to": "career", "text": CANARY, "intent": "request", "wake": True}
                return Calls("mcp_tieline_peer_send", arguments)
            return "handed over"
        if "peer_receive" in words:
            if not since:
                return READ
            read = str(last(since).get("content"))
            if "Initech" in read and "the answer is" not in read:
                if pace is not None:
                    await pace()
                return "the answer is yes"
            return "told: the answer is yes" if "the answer is" in read else "NO_REPLY"
        if "think" in words and pace is not None:
            await pace()
        return f"you said: {words[-60:]}"

    return model


async def test_a_topic_hands_to_an_idle_one_of_the_same_bot_and_its_answer_comes_back(
    tmp_path: Path, api: BotApi
) -> None:
    async with office(tmp_path, api, desk_and_career()) as one:
        assert (await one.sessions())["default/career"]["kind"] == "gateway"
        one.say("please hand it over", DESK)
        await one.seen("the answer is yes", CAREER)
        await one.seen("told: the answer is yes", DESK)
        assert not [text for text in one.hermes.rows("user") if "CANARY" in text]
        assert any("CANARY" in text for text in one.hermes.rows("tool"))
        asked = [messages for messages in one.stub.asked if "peer_receive" in told(messages, "user")[-1]]
        assert not [text for messages in asked for text in told(messages, "user") if "CANARY" in text]


async def test_a_person_at_the_other_topic_is_first_and_the_handoff_waits(tmp_path: Path, api: BotApi) -> None:
    pace = Pace()
    async with office(tmp_path, api, desk_and_career(pace)) as one:
        one.say("think of something", CAREER)
        await pace.thinks.wait()
        one.say("please hand it over", DESK)
        await one.seen("handed over", DESK)
        assert (await one.sessions())["default/career"]["activity"] == "thinking"
        (mail,) = (await one.home.typed("inbox", "--session", "career", "--json")).lines
        assert mail["state"] == "queued"
        pace.go_on.set()
        await one.seen("think of something", CAREER)
        await one.seen("the answer is yes", CAREER)
        await one.seen("told: the answer is yes", DESK)


async def test_a_bridge_that_is_killed_in_the_middle_goes_on_with_the_turn_once(tmp_path: Path, api: BotApi) -> None:
    pace = Pace()
    async with office(tmp_path, api, desk_and_career(pace)) as one:
        one.say("please hand it over", DESK)
        await pace.thinks.wait()
        await one.home.kill()
        pace.go_on.set()
        await one.seen("the answer is yes", CAREER)
        await one.home.up()
        await one.seen("told: the answer is yes", DESK)
        assert len([text for text in one.hermes.rows("user") if "peer_receive" in text]) == 2


@pytest.mark.parametrize("ends", ["kill", "down"])
async def test_a_gateway_that_is_restarted_in_the_middle_loses_nothing_and_repeats_nothing(
    tmp_path: Path, api: BotApi, ends: str
) -> None:
    pace = Pace()
    async with office(tmp_path, api, desk_and_career(pace)) as one:
        one.say("please hand it over", DESK)
        await pace.thinks.wait()
        await getattr(one.hermes, ends)()
        pace.go_on.set()
        await one.hermes.up()
        await one.seen("told: the answer is yes", DESK)
        assert len([sent for sent in api.history if "told: the answer is yes" in sent.text]) == 1
