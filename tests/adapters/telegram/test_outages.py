"""Whatever Telegram does, the bridge goes on, says what is wrong, and comes back by itself."""

import logging
import subprocess
import sys

import aiohttp
import pytest

from adapters.telegram.chat import TelegramChat
from adapters.telegram.config import TelegramConfig
from bridge.ports.chat import NotDelivered
from tests.adapters.telegram.stage import (
    DESK,
    FORUM,
    PATIENT,
    USER,
    FlyingClock,
    Halfway,
    RememberingIntake,
    chat_for,
    post,
    running,
)
from tests.fakes.bot_api import TOKEN, BotApi


async def test_a_good_connection_is_healthy(api: BotApi, clock: FlyingClock, intake: RememberingIntake) -> None:
    async with running(chat_for(api, clock), intake) as chat:
        assert chat.health() == {"ok": False, "last_poll_age_s": None, "error": "not connected yet"}
        await api.until(lambda: len(api.calls("getUpdates")) >= 2)
        health = chat.health()
        assert health["ok"] is True
        assert health["error"] is None
        assert isinstance(health["last_poll_age_s"], float)
        clock.fly(3600)
        assert chat.health()["ok"] is False


async def test_certificates_and_proxies_that_cannot_be_used_do_not_end_the_bridge(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nonexistent")
    async with running(chat_for(api, clock), intake) as chat:
        await clock.paused(2)
        assert "No such file" in str(chat.health()["error"])
        with pytest.raises(NotDelivered) as refused:
            await chat.deliver(post())
        assert refused.value.retry_at is not None
        monkeypatch.delenv("SSL_CERT_FILE")
        api.say("at last", chat=FORUM, thread=DESK, user=USER)
        await intake.hears("at last")
        assert chat.health()["ok"] is True


async def test_a_refused_token_is_said_and_tried_again_slowly(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    api.token, right = "1:revoked", api.token
    async with running(chat_for(api, clock, token=right), intake) as chat:
        await clock.paused(2)
        health = chat.health()
        assert health["ok"] is False
        assert "token" in str(health["error"])
        assert set(clock.pauses) == {PATIENT.hopeless_s}
        with pytest.raises(NotDelivered) as refused:
            await chat.deliver(post())
        assert refused.value.retry_at is not None
        api.token = right
        api.say("at last", chat=FORUM, thread=DESK, user=USER)
        await intake.hears("at last")
        assert chat.health()["ok"] is True


async def test_a_server_that_comes_late_is_found(api: BotApi, clock: FlyingClock, intake: RememberingIntake) -> None:
    await api.down()
    async with running(chat_for(api, clock), intake) as chat:
        await clock.paused(3)
        assert "cannot be reached" in str(chat.health()["error"])
        assert max(clock.pauses) <= PATIENT.backoff_s
        await api.up()
        api.say("hello again", chat=FORUM, thread=DESK, user=USER)
        await intake.hears("hello again")
        assert chat.health()["ok"] is True


async def test_a_second_poller_is_not_fought_but_named(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    async with running(chat_for(api, clock), intake) as chat, aiohttp.ClientSession() as rival:
        await api.until(lambda: len(api.calls("getUpdates")) >= 2)
        assert chat.health()["ok"] is True
        while "another program" not in str(chat.health()["error"]):
            await api.until(lambda: api.updates.polling)
            await rival.get(f"{api.base_url}{TOKEN}/getUpdates")
        assert PATIENT.hopeless_s not in clock.pauses[:2]
        api.say("the other one is gone", chat=FORUM, thread=DESK, user=USER)
        await intake.hears("the other one is gone")
        assert chat.health()["ok"] is True


async def test_the_proxy_of_the_environment_is_used(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", api.base_url.removesuffix("/bot"))
    monkeypatch.setenv("no_proxy", "")
    beyond = TelegramConfig(TOKEN, "http://telegram.invalid/bot", users=frozenset({USER}))
    api.say("through the proxy", user=USER)
    async with running(TelegramChat(beyond, clock, Halfway()), intake):
        await intake.hears("through the proxy")


async def test_the_token_is_in_no_log_error_or_repr(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with running(chat_for(api, clock), intake) as chat:
        await api.until(lambda: api.updates.polling)
        await chat.deliver(post())
        api.token, right = "1:revoked", api.token
        with pytest.raises(NotDelivered) as refused:
            await chat.deliver(post())
        await api.down()
        with pytest.raises(NotDelivered) as unreachable:
            await chat.deliver(post())
        await api.up()
        api.token = right
    said = [record.getMessage() + str(record.exc_text) + repr(record.args) for record in caplog.records]
    errors: list[BaseException | None] = [refused.value, unreachable.value]
    while errors:
        error = errors.pop()
        if error is not None:
            said += [str(error), repr(error)]
            errors += [error.__cause__, error.__context__]
    said += [repr(TelegramConfig(token=TOKEN)), str(chat.health())]
    assert any("sendMessage" in line for line in said)
    assert not [line for line in said if TOKEN in line or TOKEN.split(":")[1] in line]


def test_the_library_is_not_loaded_before_the_chat_runs() -> None:
    check = "import sys, adapters.telegram.chat; sys.exit('telegram' in sys.modules or 'httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
