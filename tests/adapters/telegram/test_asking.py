"""Whoever answers in place of a Bot API, and however: it is told in words of ours, and the token is in none."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest
from aiohttp import web

from adapters.telegram.asking import Asking, Unanswered, Why
from adapters.telegram.config import Patience, TelegramConfig
from tests.fakes.bot_api import BotApi, Fault

TOKEN = "123456:a-token-that-nobody-may-see"
IMPATIENT = Patience(connect_s=2, answer_s=0.3)

Serve = Callable[[web.Response], Coroutine[Any, Any, str]]


@pytest.fixture
async def answering() -> AsyncIterator[Serve]:
    """A server that gives one answer to everything; returns its base URL."""
    runners: list[web.AppRunner] = []

    async def serve(answer: web.Response) -> str:
        async def handle(request: web.Request) -> web.Response:
            text = (answer.text or "").replace("$PATH", request.path)
            return web.Response(status=answer.status, text=text, content_type=answer.content_type)

        app = web.Application()
        app.router.add_route("*", "/{path:.*}", handle)
        runner = web.AppRunner(app, access_log=None)
        runners.append(runner)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        return f"http://127.0.0.1:{runner.addresses[0][1]}/bot"

    yield serve
    for runner in runners:
        await runner.cleanup()


async def why(base_url: str, token: str = TOKEN) -> Unanswered:
    async with Asking(TelegramConfig(token, base_url), IMPATIENT) as asking:
        with pytest.raises(Unanswered) as raised:
            await asking.ask("getMe")
    return raised.value


@pytest.mark.parametrize(
    ("status", "text", "expected"),
    [
        (404, "<h1>No $PATH here</h1>", Why.NO_API),
        (401, "log in", Why.NO_API),
        (403, "$PATH is forbidden", Why.NO_API),
        (200, "<h1>Welcome to $PATH</h1>", Why.NO_API),
        (200, "[]", Why.NO_API),
        (200, "{}", Why.NO_API),
        (200, "null", Why.NO_API),
        (502, "bad gateway to $PATH", Why.UNSURE),
        (500, '{"ok": false}', Why.UNSURE),
        (401, '{"ok": false, "error_code": 401, "description": "Unauthorized"}', Why.TOKEN),
        (404, '{"ok": false, "error_code": 404, "description": "Not Found"}', Why.TOKEN),
        (409, '{"ok": false, "description": "Conflict: terminated by other getUpdates request"}', Why.CONFLICT),
        (400, '{"ok": false, "description": "Bad Request: chat not found"}', Why.REFUSED),
        (400, '{"ok": false, "description": "x", "parameters": {"migrate_to_chat_id": -5}}', Why.MIGRATED),
        (429, '{"ok": false, "description": "x", "parameters": {"retry_after": 7}}', Why.FLOOD),
    ],
)
async def test_what_answers_is_told_apart(
    status: int, text: str, expected: Why, answering: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    error = await why(await answering(web.Response(status=status, text=text)))
    assert error.why is expected
    told = [str(error), repr(error), repr(error.__cause__), caplog.text]
    assert not [each for each in told if TOKEN in each]
    assert error.chat == (-5 if expected is Why.MIGRATED else 0)
    assert error.after_s == (7 if expected is Why.FLOOD else 0)


async def test_nobody_there_is_away_and_silence_is_unsure(api: BotApi) -> None:
    assert (await why("http://127.0.0.1:1/bot")).why is Why.AWAY
    api.fail("getMe", Fault.SILENT_AFTER)
    assert (await why(api.base_url, api.token)).why is Why.UNSURE


async def test_a_poll_waits_and_a_question_beside_it_does_not(api: BotApi) -> None:
    async with Asking(TelegramConfig(api.token, api.base_url)) as asking:
        polling = asyncio.ensure_future(asking.poll(timeout=20))
        await api.until(lambda: api.updates.polling)
        assert (await asking.ask("getMe"))["username"] == "tieline_bot"
        api.say("hello", user=111)
        (update,) = await polling
        assert update["message"]["text"] == "hello"


async def test_the_library_is_heard_again_afterwards(api: BotApi) -> None:
    before = logging.getLogger("telegram").level
    async with Asking(TelegramConfig(api.token, api.base_url)):
        pass
    assert logging.getLogger("telegram").level == before
