"""Files up and down, webhooks, and how much the bot may ask."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from tests.fakes.bot_api import BotApi, Fault, Weather
from tests.fakes.bot_api.asking import call, refusal, result

FORUM, USER = -1001, 7
MEGABYTE = 1024 * 1024


async def fetched(api: BotApi, path: str) -> tuple[int, bytes]:
    url = api.base_url.removesuffix("/bot") + f"/file/bot{api.token}/{path}"
    async with aiohttp.ClientSession() as client, client.get(url) as answer:
        return answer.status, await answer.read()


async def test_what_is_uploaded_is_shown_and_can_be_fetched() -> None:
    async with BotApi() as api:
        api.forum(FORUM, topics={42: "Desk"})
        topic = {"chat_id": FORUM, "message_thread_id": 42}
        bold = [{"type": "bold", "offset": 0, "length": 4}]
        message = await result(
            api, "sendDocument", **topic, document=b"all of it", caption="long", caption_entities=bold
        )
        await result(api, "sendPhoto", **topic, photo=b"picture")
        document, photo = api.sent(FORUM, 42)
        assert (document.text, document.marked("bold")) == ("long", ["long"])
        assert document.file is not None
        assert (document.file.kind, document.file.name, document.file.data) == (
            "document",
            "document.bin",
            b"all of it",
        )
        assert photo.file is not None
        assert photo.file.kind == "photo"
        file = await result(api, "getFile", file_id=message["document"]["file_id"])
        assert await fetched(api, file["file_path"]) == (200, b"all of it")
        assert (await fetched(api, "nothing"))[0] == 404
        edit = {"chat_id": FORUM, "message_id": document.message_id}
        assert "no text in the message" in await refusal(api, "editMessageText", **edit, text="x")
        await result(api, "editMessageCaption", **edit, caption="short")
        assert api.sent(FORUM, 42)[0].text == "short"


async def test_files_have_their_limits() -> None:
    async with BotApi() as api:
        api.forum(FORUM)
        send: dict[str, Any] = {"method": "sendDocument", "chat_id": FORUM}
        too_long = await refusal(api, **send, document=b"x", caption="x" * 1025)
        assert too_long == "Bad Request: message caption is too long"
        assert await refusal(api, **send, document=b"") == "Bad Request: file must be non-empty"
        assert await refusal(api, **send, document=b"x" * (50 * MEGABYTE + 1)) == "Request Entity Too Large"
        assert "wrong remote file identifier" in await refusal(api, **send, document="unknown")
        api.document(user=USER, size=20 * MEGABYTE + 1)
        document = api.updates.pending[0]["message"]["document"]
        assert await refusal(api, "getFile", file_id=document["file_id"]) == "Bad Request: file is too big"
        assert "wrong file_id" in await refusal(api, "getFile", file_id="unknown")
        api.member(FORUM, api.bot, "restricted", can_send_messages=True)
        may_not = await refusal(api, **send, document=b"x")
        assert may_not == "Bad Request: not enough rights to send documents to the chat"


@asynccontextmanager
async def listening(answers: list[int]) -> AsyncIterator[tuple[str, list[tuple[str | None, Any]]]]:
    """A bot's own server: its address, and what was pushed with which secret. It gives these answers, then 200."""
    pushed: list[tuple[str | None, Any]] = []

    async def take(request: web.Request) -> web.Response:
        pushed.append((request.headers.get("X-Telegram-Bot-Api-Secret-Token"), await request.json()))
        return web.Response(status=answers.pop(0) if answers else 200)

    app = web.Application()
    app.router.add_post("/hook", take)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}", pushed
    finally:
        await runner.cleanup()


async def test_a_webhook_gets_each_update_until_it_takes_it() -> None:
    async with BotApi() as api, listening([500, 403]) as (address, pushed):
        assert "HTTPS" in await refusal(api, "setWebhook", url=f"{address}/hook")
        api.webhook.fronts["https://bridge.example"] = address
        url = "https://bridge.example/hook"
        assert "unallowed" in await refusal(api, "setWebhook", url=url, secret_token="a b")
        await result(api, "setWebhook", url=url, secret_token="s3cret")
        api.say("one", user=USER)
        api.say("two", user=USER)
        await api.until(lambda: not api.updates.pending)
        assert {secret for secret, _ in pushed} == {"s3cret"}
        assert [update["message"]["text"] for _, update in pushed] == ["one", "one", "one", "two"]
        assert api.webhook.refusals == 2
        info = await result(api, "getWebhookInfo")
        assert (info["url"], info["pending_update_count"]) == (url, 0)
        assert info["last_error_message"] == "Wrong response from the webhook: 403 Forbidden"
        assert (await refusal(api, "getUpdates")).startswith("Conflict: can't use getUpdates method while webhook")
        await result(api, "deleteWebhook")
        api.say("three", user=USER)
        assert [update["message"]["text"] for update in await result(api, "getUpdates")] == ["three"]


async def test_pending_updates_are_dropped_where_the_bot_says_so() -> None:
    async with BotApi() as api:
        api.say("one", user=USER)
        await result(api, "deleteWebhook", drop_pending_updates=True)
        assert await result(api, "getUpdates") == []


async def test_a_chat_is_held_to_its_rate() -> None:
    now = 0.0
    async with BotApi(clock=lambda: now) as api:
        api.forum(FORUM)
        api.group(-55)
        api.limit(FORUM, 3, 10)
        send: dict[str, Any] = {"method": "sendMessage", "text": "x"}
        for second in (0.0, 1.0, 2.0):
            now = second
            await result(api, **send, chat_id=FORUM)
        await result(api, **send, chat_id=-55)
        refused = await call(api, **send, chat_id=FORUM)
        assert refused["error_code"] == 429
        assert refused["description"] == "Too Many Requests: retry after 8"
        assert refused["parameters"] == {"retry_after": 8}
        await result(api, "getChat", chat_id=FORUM)
        now = 10.0
        await result(api, **send, chat_id=FORUM)
        assert api.busiest(FORUM, 10) == 4
        assert api.busiest(FORUM, 1) == 2
        assert api.busiest(FORUM, 60, {"editMessageText"}) == 0


async def test_a_chat_that_was_flooded_takes_the_next_request_after_it() -> None:
    async with BotApi() as api:
        api.forum(FORUM)
        api.flood(FORUM, 3)
        send: dict[str, Any] = {"method": "sendMessage", "chat_id": FORUM, "text": "x"}
        assert await refusal(api, **send) == "Too Many Requests: retry after 3"
        await result(api, **send)


async def test_weather_is_the_same_for_the_same_seed() -> None:
    async def refusals() -> list[bool]:
        async with BotApi() as api:
            api.forum(FORUM)
            api.weather(Weather(seed=4, flood=0.5))
            return [bool(await refusal(api, "sendMessage", chat_id=FORUM, text="x")) for _ in range(20)]

    first = await refusals()
    assert first == await refusals()
    assert 2 < sum(first) < 18


async def test_weather_leaves_sends_unanswered() -> None:
    async with BotApi() as api:
        api.forum(FORUM)
        api.weather(Weather(silent=1))
        asked = asyncio.create_task(call(api, "sendMessage", chat_id=FORUM, text="x"))
        await api.until(lambda: len(api.unconfirmed) == 1)
        asked.cancel()
        api.weather(Weather(cut_before=1))
        with pytest.raises(aiohttp.ClientError):
            await call(api, "sendMessage", chat_id=FORUM, text="y")
        assert [sent.text for sent in api.sent(FORUM)] == ["x"]


async def test_a_download_may_go_wrong() -> None:
    async with BotApi() as api:
        api.document(b"text", user=USER)
        document = api.updates.pending[0]["message"]["document"]
        path = (await result(api, "getFile", file_id=document["file_id"]))["file_path"]
        api.fail("file", Fault.ERROR_500)
        assert (await fetched(api, path))[0] == 500
        assert await fetched(api, path) == (200, b"text")
        assert len(api.calls("file")) == 2


async def test_a_poll_that_waits_is_ended_by_a_webhook() -> None:
    async with BotApi() as api, listening([]) as (address, _):
        api.webhook.fronts["https://bridge.example"] = address
        polling = asyncio.ensure_future(refusal(api, "getUpdates", timeout=30))
        await api.until(lambda: api.updates.polling)
        await result(api, "setWebhook", url="https://bridge.example/hook")
        assert await polling == "Conflict: terminated by setWebhook request"
