"""A poll that goes wrong, or hangs, is made anew, and another poller is not fought."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest
from telegram.request import HTTPXRequest

from adapters.telegram.chat import TelegramChat
from adapters.telegram.config import Patience, TelegramConfig
from tests.adapters.telegram.stage import (
    DESK,
    FORUM,
    IMPATIENT,
    OPERATOR,
    USER,
    FlyingClock,
    Halfway,
    RememberingIntake,
    chat_for,
    running,
)
from tests.fakes.bot_api import TOKEN, BotApi, Fault


def say(api: BotApi, text: str) -> int:
    return api.say(text, chat=FORUM, thread=DESK, user=USER)


@pytest.mark.parametrize("fault", [Fault.ERROR_500, Fault.CUT_BEFORE, Fault.CUT_AFTER])
async def test_a_failed_poll_is_repeated(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake, fault: Fault
) -> None:
    api.fail("getUpdates", fault, times=2)
    say(api, "in the end")
    async with running(chat_for(api, clock), intake):
        await intake.hears("in the end")


async def test_a_connection_that_went_dead_is_given_up(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    api.fail("getUpdates", Fault.SILENT_AFTER)
    say(api, "through another one")
    async with running(chat_for(api, clock, patience=IMPATIENT), intake):
        await intake.hears("through another one")


async def test_a_pool_that_is_stuck_is_replaced(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first client never gets a connection, and does not even let itself be closed."""
    stuck: list[HTTPXRequest] = []
    request = HTTPXRequest.do_request

    async def hangs(client: HTTPXRequest, url: str, *given: object, **more: object) -> object:
        if "getUpdates" in url and (not stuck or client in stuck):
            stuck.append(client)
            await asyncio.Event().wait()
        return await request(client, url, *given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(HTTPXRequest, "do_request", hangs)
    monkeypatch.setattr("adapters.telegram.polling._SLACK_S", 0.1)
    say(api, "through another one")
    patience = Patience(answer_s=0.3, poll_s=1)
    async with running(chat_for(api, clock, patience=patience), intake) as chat:
        await intake.hears("through another one")
        assert chat.health()["ok"] is True
    assert len(stuck) == 1


async def test_a_poll_that_was_under_way_as_the_machine_fell_asleep_is_cut_at_once(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.telegram.polling._TICK_S", 0.05)
    async with running(chat_for(api, clock, patience=Patience(answer_s=30, poll_s=30)), intake) as chat:
        await api.until(lambda: api.updates.polling and len(api.calls("getUpdates")) == 2)
        api.fail("getUpdates", Fault.SILENT_AFTER)
        say(api, "one")
        await intake.hears("one")
        await api.until(lambda: len(api.calls("getUpdates")) == 3)
        clock.fly(8 * 3600)
        say(api, "two")
        await intake.hears("one", "two")
        assert chat.health()["ok"] is True


@asynccontextmanager
async def mute() -> AsyncIterator[str]:
    """A server that accepts, and never answers."""
    held: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(lambda reader, writer: held.append(writer), "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/bot"
    finally:
        for writer in held:
            writer.close()
        server.close()


async def test_a_server_that_accepts_and_never_answers_is_told_and_found_again(
    clock: FlyingClock, intake: RememberingIntake
) -> None:
    async with mute() as url:
        config = TelegramConfig(TOKEN, url, frozenset({OPERATOR}))
        chat = TelegramChat(config, clock, Halfway(), patience=Patience(connect_s=0.2, answer_s=0.2, poll_s=1))
        async with running(chat, intake):
            await clock.paused(2)
            assert "cannot be reached" in str(chat.health()["error"])
            assert chat.health()["ok"] is False


async def test_a_webhook_that_is_in_the_way_is_deleted_once_and_what_waits_for_it_is_not(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    api.webhook.fronts["https://old.example"] = "http://127.0.0.1:9"
    async with aiohttp.ClientSession() as rival:
        url = f"{api.base_url}{TOKEN}/setWebhook"
        await rival.get(url, params={"url": "https://old.example/hook"})
        say(api, "while it was set")
        async with running(chat_for(api, clock), intake) as chat:
            await intake.hears("while it was set")
            assert chat.health()["ok"] is True
            assert json.loads(api.calls("deleteWebhook")[0].fields.get("drop_pending_updates", "false")) is False
            await rival.get(url, params={"url": "https://old.example/hook"})
            while "another program sets a webhook" not in str(chat.health()["error"]):
                await clock.paused(len(clock.pauses) + 1)
            assert len(api.calls("deleteWebhook")) == 1
            await rival.get(f"{api.base_url}{TOKEN}/deleteWebhook")
            say(api, "the other one is gone")
            await intake.hears("while it was set", "the other one is gone")


@pytest.mark.filterwarnings("ignore::telegram.warnings.PTBDeprecationWarning")
async def test_a_pause_that_telegram_wants_between_polls_is_kept_over_a_restart(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    intake.notes["budget:getUpdates"] = json.dumps({"halted": [clock.now(), clock.now() + 30]})
    began = clock.now()
    async with running(chat_for(api, clock), intake):
        await api.until(lambda: api.updates.polling)
    assert clock.pauses[0] == pytest.approx(30, abs=2)
    assert clock.now() - began >= 29
