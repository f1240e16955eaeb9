"""Hermes' own gateway with its own bot, in whose forum Front Desk and Career are topics, linked with a real bridge."""

import asyncio
import json
import os
import shutil
import signal
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

from tests.acceptance.home import Home
from tests.agents.installed import HERMES
from tests.agents.provider import Model, Provider, Says
from tests.fakes.bot_api import BotApi

CHAT, DESK, CAREER = -1001, 42, 43
PLUGIN = Path(__file__).parents[2] / "adapters" / "hermes"
PATIENCE_S = 120.0
_MODEL = "stub-model"


class Hermes:
    """One home of Hermes', and its gateway as a process. `busy` is what a person's words do to a running turn."""

    def __init__(self, path: Path, api: BotApi, provider: Provider, bridge: Path, busy: str) -> None:
        self.path = path
        self.command: Sequence[str] = (str(HERMES / "hermes"),)
        self._api = api
        self._bridge = bridge
        self._process: asyncio.subprocess.Process | None = None
        path.mkdir()
        topics = [{"name": "Front Desk", "thread_id": DESK}, {"name": "Career", "thread_id": CAREER}]
        model = {"default": _MODEL, "provider": "custom", "base_url": f"{provider.url}/v1", "api_key": provider.key}
        telegram = {
            "base_url": api.base_url,
            "fallback_ips": ["127.0.0.1"],
            "group_topics": [{"chat_id": CHAT, "topics": topics}],
        }
        config = {
            "model": model,
            "display": {"busy_input_mode": busy},
            "plugins": {"enabled": ["tieline"]},
            "security": {"allow_lazy_installs": False},
            "platforms": {"telegram": {"enabled": True, "token": api.token, "extra": telegram}},
        }
        (path / "config.yaml").write_text(json.dumps(config))

    def copied(self) -> None:
        """The plugin is in Hermes' own folder for these."""
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(PLUGIN / "tieline_hermes", self.path / "plugins" / "tieline", ignore=ignored)

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
                *self.command, "gateway", "run", env=environ, stdout=stderr, stderr=stderr,
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


class Topics:
    """Both topics have one `model`, which tells them apart by what it is asked."""

    def __init__(self, home: Home, api: BotApi, hermes: Hermes, model: Model) -> None:
        self.home, self.api, self.hermes, self.model = home, api, hermes, model

    def say(self, text: str, thread: int) -> None:
        self.api.say(text, chat=CHAT, thread=thread, user=111)

    async def seen(self, part: str, thread: int) -> Any:
        return await self.api.seen(lambda sent: part in sent.text and sent.thread == thread, timeout=PATIENCE_S)

    def posts(self, thread: int) -> list[str]:
        return [sent.text for sent in self.api.sent(CHAT, thread)]

    async def sessions(self) -> dict[str, Any]:
        return {one["id"]: one for one in (await self.home.typed("sessions", "--json")).lines}

    async def told(self) -> list[tuple[str, str, str]]:
        """What the doctor says of the link."""
        found = (await self.home.tieline("doctor", "--json")).lines
        return [(one["level"], one["text"], one["remedy"]) for one in found if one["check"] == "gateway"]

    async def _joined(self) -> None:
        """Waits until both topics are the bridge's sessions, and the gateway is linked."""
        wanted = {"default/front-desk", "default/career"}
        async with asyncio.timeout(PATIENCE_S):
            while not wanted <= (await self.sessions()).keys():
                pass

    async def opened(self) -> None:
        """The gateway has a session of a topic once somebody has written there."""
        self.model.on("hello", Says("hello back"))
        for thread in (DESK, CAREER):
            self.say("hello", thread)
            await self.seen("hello back", thread)
        await self._joined()
        self.model.forget()


@asynccontextmanager
async def topics(
    tmp_path: Path, api: BotApi, provider: Provider, *, busy: str = "queue", installed: Sequence[str] = ()
) -> AsyncIterator[Topics]:
    """`installed` is Hermes' command where the plugin is installed as a package beside it."""
    api.forum(CHAT, topics={DESK: "Front Desk", CAREER: "Career"})
    (tmp_path / "bridge").mkdir()
    home = Home(tmp_path / "bridge")
    home.rule("default/front-desk", "default/career")
    home.rule("default/shell", "kind:gateway")
    hermes = Hermes(tmp_path / "hermes", api, provider, home.path, busy)
    if installed:
        hermes.command = installed
    else:
        hermes.copied()
    one = Topics(home, api, hermes, provider.model(_MODEL))
    try:
        await home.up()
        paired = await home.typed("gateway", "pair", "hermes", "--json")
        hermes.pair(json.loads(paired.out)["token"])
        await hermes.up()
        await one.opened()
        yield one
    except BaseException:
        print(hermes.said())
        print(home.stderr.read_text()[-4000:])
        raise
    finally:
        await hermes.down()
        await home.close()
