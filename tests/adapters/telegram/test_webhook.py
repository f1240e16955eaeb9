"""What is pushed is taken from Telegram alone, once, and only after it is stored."""

import asyncio
import json
import logging
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager
from typing import Any

import aiohttp
import pytest

from adapters.telegram.chat import TelegramChat
from adapters.telegram.config import Patience, secret_of
from adapters.telegram.listening import AT_ONCE, MOST_BYTES
from adapters.telegram.polling import ALLOWED_UPDATES
from tests.adapters.telegram.stage import (
    DESK,
    FORUM,
    PUBLIC,
    USER,
    FlyingClock,
    RememberingIntake,
    chat_for,
    connected,
    public,
    running,
)
from tests.fakes.bot_api import TOKEN, BotApi

SECRET = "X-Telegram-Bot-Api-Secret-Token"
HEADERS = {SECRET: "s3cret", "Content-Type": "application/json"}
UPDATE = json.dumps({"update_id": 7, "message": {"text": "anything"}})


@pytest.fixture(autouse=True)
def pushed(api: BotApi) -> None:
    public(api)


@asynccontextmanager
async def taking(api: BotApi, clock: FlyingClock, intake: RememberingIntake) -> AsyncIterator[TelegramChat]:
    before = len(api.calls("getWebhookInfo"))
    async with running(chat_for(api, clock), intake) as chat:
        await api.until(lambda: len(api.calls("getWebhookInfo")) > before)
        await well(chat)
        yield chat


async def well(chat: TelegramChat) -> None:
    async with asyncio.timeout(5):
        while not chat.health()["ok"]:  # noqa: ASYNC110 - the health tells nobody that it has changed
            await asyncio.sleep(0)


async def knock(
    api: BotApi,
    body: str | bytes = UPDATE,
    headers: Mapping[str, str] = HEADERS,
    path: str = "/hook",
    method: str = "POST",
) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession() as client,
        client.request(method, api.webhook.fronts[PUBLIC] + path, data=body, headers=headers) as answer,
    ):
        assert "server" not in {name.lower() for name in answer.headers}
        return answer.status, await answer.text()


async def test_telegram_is_told_all_that_it_must_know(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    async with taking(api, clock, intake) as chat:
        assert chat.health()["ok"] is True
    (call,) = api.calls("setWebhook")
    assert call.fields["url"] == f"{PUBLIC}/hook"
    assert call.fields["secret_token"] == "s3cret"
    assert json.loads(call.fields["allowed_updates"]) == list(ALLOWED_UPDATES)
    assert call.fields.get("drop_pending_updates", "False").lower() == "false"
    assert int(call.fields["max_connections"]) > 1
    assert not api.calls("getUpdates")


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({}, 200),
        ({"path": "/"}, 404),
        ({"path": "/hook/"}, 404),
        ({"path": "/hook2"}, 404),
        ({"method": "GET"}, 404),
        ({"method": "PUT"}, 404),
        ({"headers": {"Content-Type": "application/json"}}, 401),
        ({"headers": HEADERS | {SECRET: "wrong"}}, 401),
        ({"headers": HEADERS | {SECRET: ""}}, 401),
        ({"headers": HEADERS | {SECRET: "s3cret "[:-1] + "s"}}, 401),
        ({"headers": HEADERS | {"Content-Type": "text/plain"}}, 415),
        ({"headers": HEADERS | {"Content-Type": "Application/JSON; charset=utf-8"}}, 200),
        ({"body": b"x" * (MOST_BYTES + 1)}, 413),
        ({"body": b"x" * (MOST_BYTES + 1), "headers": {}}, 401),
        ({"body": "no json"}, 400),
        ({"body": b"\xff\xfe"}, 400),
        ({"body": "[" * 100_000}, 400),
        ({"body": "[]"}, 400),
        ({"body": "{}"}, 400),
        ({"body": '{"update_id": "7"}'}, 400),
        ({"body": '{"update_id": 1e400}'}, 400),
        ({"body": f'{{"update_id": {10**30}}}'}, 400),
    ],
)
async def test_who_is_not_telegram_learns_nothing_and_is_not_taken_in(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake, given: dict[str, Any], status: int
) -> None:
    async with taking(api, clock, intake):
        assert await knock(api, **given) == (status, "")
    assert bool(intake.kept) is (status == 200)


async def test_whoever_connects_and_says_nothing_keeps_nobody_out(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    port = int(api.webhook.fronts[PUBLIC].rpartition(":")[2])
    with ExitStack() as silent:
        async with taking(api, clock, intake):
            for number in range(2 * AT_ONCE + 5):
                stranger = silent.enter_context(socket.create_connection(("127.0.0.1", port)))
                if number % 2:
                    stranger.sendall(b"POST /hook HTTP/1.1\r\nHost:")
                await asyncio.sleep(0)  # so that it is let in
            assert await knock(api) == (200, "")
            assert await knock(api, headers={}) == (401, "")


@pytest.mark.parametrize("line", [b"POST /hook HTTP/1.1", b"POST /nothing HTTP/1.1", b"\x00 no request at all"])
async def test_what_strangers_go_on_to_send_is_not_waited_for_and_fills_no_log(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake, line: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    port = int(api.webhook.fronts[PUBLIC].rpartition(":")[2])
    async with taking(api, clock, intake), asyncio.timeout(5):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(line + b"\r\nHost: any\r\nContent-Length: 1000\r\n\r\nbegun")
        assert (await reader.read()).startswith(b"HTTP/1.1 4")
        writer.close()
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_it_is_taken_only_once_it_is_stored(api: BotApi, clock: FlyingClock, intake: RememberingIntake) -> None:
    async with taking(api, clock, intake):
        intake.away = True
        assert await knock(api) == (503, "")
        intake.away = False
        assert await knock(api) == (200, "")
    assert list(intake.kept) == [7]


async def test_what_is_pushed_twice_is_handled_once_also_after_a_restart(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    api.say("once", chat=FORUM, thread=DESK, user=USER)
    async with taking(api, clock, intake):
        await intake.hears("once")
        again = next(iter(intake.kept.values()))
        intake.heard.clear()
        assert await knock(api, again) == (200, "")
    async with taking(api, clock, intake):
        assert await knock(api, again) == (200, "")
        api.say("next", chat=FORUM, thread=DESK, user=USER)
        await intake.hears("next")


async def test_a_webhook_of_somebody_else_is_replaced_once_and_then_told(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    chat = chat_for(api, clock, patience=Patience(answer_s=5, poll_s=0))
    async with aiohttp.ClientSession() as rival:
        async with running(chat, intake):
            await api.until(lambda: bool(api.calls("getWebhookInfo")))
            for _ in range(2):
                await api.until(lambda: api.webhook.url == f"{PUBLIC}/hook")
                await rival.get(f"{api.base_url}{TOKEN}/setWebhook", params={"url": "https://rival.example/"})
            while "another program sets a webhook" not in str(chat.health()["error"]):
                await clock.paused(len(clock.pauses) + 1)
        assert [call.fields["url"] for call in api.calls("setWebhook")].count(f"{PUBLIC}/hook") == 2


async def test_an_address_that_is_taken_is_told_and_tried_again(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    other = RememberingIntake()
    async with taking(api, clock, intake):
        second = chat_for(api, clock)
        async with running(second, other):
            await clock.paused(2)
            assert "cannot be listened at" in str(second.health()["error"])
    async with taking(api, clock, other):
        api.say("free again", chat=FORUM, thread=DESK, user=USER)
        await other.hears("free again")


async def test_what_telegram_cannot_push_is_told(api: BotApi, clock: FlyingClock, intake: RememberingIntake) -> None:
    chat = chat_for(api, clock, patience=Patience(answer_s=5, poll_s=0))
    right = api.webhook.fronts[PUBLIC]
    async with running(chat, intake):
        await connected(api)
        api.webhook.fronts[PUBLIC] = "http://127.0.0.1:9"
        api.say("in the end", chat=FORUM, thread=DESK, user=USER)
        while f"cannot reach {PUBLIC}" not in str(chat.health()["error"]):
            await clock.paused(len(clock.pauses) + 1)
        api.webhook.fronts[PUBLIC] = right
        await intake.hears("in the end")
        await well(chat)


async def test_from_webhook_to_polling_and_back_nothing_is_lost(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    fronts = dict(api.webhook.fronts)
    for number in range(4):
        api.webhook.fronts = fronts if number % 2 == 0 else {}
        async with running(chat_for(api, clock), intake):
            await intake.until(lambda: len(intake.heard) == number)  # noqa: B023 - awaited at once
            api.say(str(number), chat=FORUM, thread=DESK, user=USER)
            await intake.hears(*map(str, range(number + 1)))


def test_the_secret_comes_of_the_token_and_differs_by_it() -> None:
    one = secret_of(TOKEN, PUBLIC)
    assert one == secret_of(TOKEN, PUBLIC)
    assert len({one, secret_of(TOKEN + "x", PUBLIC), secret_of(TOKEN, PUBLIC + "/x")}) == 3
    assert TOKEN.split(":")[1] not in one
