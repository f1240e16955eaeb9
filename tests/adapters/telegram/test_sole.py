"""Of all bridges of one user, one polls a bot; the others say which, and take over once it has ended."""

import os
from contextlib import ExitStack
from pathlib import Path

import pytest

from adapters.sole_poller import sole_poller
from adapters.telegram.config import TelegramConfig
from adapters.telegram.sole import PolledElsewhere, lock_file
from bridge.ports.chat import NotDelivered
from tests.adapters.telegram.stage import DESK, FORUM, USER, FlyingClock, RememberingIntake, chat_for, post, running
from tests.fakes.bot_api import BotApi

BOT = TelegramConfig(token="123:abc")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_RUNTIME_DIR": str(tmp_path)}


async def test_a_second_bridge_runs_on_without_telegram_names_the_first_and_takes_over_from_it(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake, environ: dict[str, str], tmp_path: Path
) -> None:
    first, home = ExitStack(), tmp_path / "home"
    first.enter_context(sole_poller(BOT, home, environ))
    chat = chat_for(api, clock, claim=lambda: sole_poller(BOT, tmp_path / "other", environ))
    async with running(chat, intake):
        await clock.paused(2)
        health = chat.health()
        assert health["ok"] is False
        assert f"process {os.getpid()} polls this bot already for {home}: " in str(health["error"])
        with pytest.raises(NotDelivered) as refused:
            await chat.deliver(post())
        assert refused.value.retry_at is not None
        assert api.calls("getUpdates") == []
        first.close()
        api.say("hello", chat=FORUM, thread=DESK, user=USER)
        await intake.hears("hello")
        assert chat.health()["ok"] is True


def test_a_bridge_that_ends_leaves_the_bot_to_the_next(environ: dict[str, str], tmp_path: Path) -> None:
    for _ in range(2):
        with sole_poller(BOT, tmp_path, environ), pytest.raises(PolledElsewhere), sole_poller(BOT, tmp_path, environ):
            pass


def test_another_bot_and_another_server_are_polled_side_by_side(environ: dict[str, str], tmp_path: Path) -> None:
    others = [TelegramConfig(token="124:abc"), TelegramConfig(token=BOT.token, base_url="http://127.0.0.1:1/bot")]
    with ExitStack() as held:
        for bot in (BOT, *others):
            held.enter_context(sole_poller(bot, tmp_path, environ))


def test_the_name_of_the_lock_tells_nothing_of_the_token(environ: dict[str, str]) -> None:
    path = lock_file(BOT, environ)
    assert "abc" not in path.name
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_without_a_folder_of_ones_own_the_bot_is_polled_all_the_same_and_the_log_tells(
    environ: dict[str, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "tieline"
    folder.mkdir()
    folder.chmod(0o755)
    with sole_poller(BOT, tmp_path, environ):
        assert "is not this user's alone" in caplog.text
