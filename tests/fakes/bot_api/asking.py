"""Asks the fake as any client would, for the tests of the fake itself."""

import json
from typing import Any

import aiohttp

from tests.fakes.bot_api.api import BotApi


async def call(api: BotApi, method: str, **fields: Any) -> dict[str, Any]:
    """The whole answer. What is no text is written as JSON; bytes are a file."""
    form = aiohttp.FormData()
    for name, value in fields.items():
        if isinstance(value, bytes):
            form.add_field(name, value, filename=f"{name}.bin")
        else:
            form.add_field(name, value if isinstance(value, str) else json.dumps(value))
    async with aiohttp.ClientSession() as client:
        answer = await client.post(f"{api.base_url}{api.token}/{method}", data=form)
        body: dict[str, Any] = await answer.json()
        assert answer.status == body.get("error_code", 200)
    return body


async def result(api: BotApi, method: str, **fields: Any) -> Any:
    body = await call(api, method, **fields)
    assert body["ok"], body["description"]
    return body["result"]


async def refusal(api: BotApi, method: str, **fields: Any) -> str:
    """The error's text; empty where there is none."""
    return str((await call(api, method, **fields)).get("description", ""))


async def updates(api: BotApi, **fields: Any) -> list[dict[str, Any]]:
    """All that wait, which are acknowledged by the next call."""
    waiting: list[dict[str, Any]] = await result(api, "getUpdates", **fields)
    if waiting:
        await result(api, "getUpdates", offset=waiting[-1]["update_id"] + 1)
    return waiting
