"""The fake is held to the Bot API: what drifts from it is found, and updates wait as they do there."""

import asyncio
from typing import Any

import pytest

from tests.fakes.bot_api import BotApi, Fault
from tests.fakes.bot_api.asking import call, refusal, result
from tests.fakes.bot_api.contract import Drift

FORUM = -1001


@pytest.mark.parametrize(
    ("method", "fields"),
    [
        ("sendMessage", {"chat_id": FORUM, "text": "x", "txet": "y"}),
        ("sendMessage", {"chat_id": FORUM}),
        ("sendMessage", {"chat_id": FORUM, "text": "x", "parse_mode": "HTML"}),
        ("sendDice", {"chat_id": FORUM}),
    ],
)
async def test_a_request_that_is_not_modelled_fails_the_test(method: str, fields: dict[str, Any]) -> None:
    async def drift() -> None:
        async with BotApi() as api:
            api.forum(FORUM)
            await call(api, method, **fields)

    with pytest.raises(Drift):
        await drift()


async def test_an_update_that_the_bot_api_does_not_know_is_refused() -> None:
    async with BotApi() as api:
        with pytest.raises(Drift):
            api.updates.add("message", {"message_id": 1})


async def test_another_token_and_another_method_are_unknown() -> None:
    async with BotApi() as api:
        assert await refusal(api, "getMeNot") == "Not Found"
        old, api.token = api.token, "1:new"
        assert (await result(api, "getMe"))["id"] == api.bot
        api.token = old
        assert (await result(api, "getMe"))["id"] == api.bot


async def test_an_offset_acknowledges_what_lies_before_it() -> None:
    async with BotApi() as api:
        api.say("one", user=1)
        api.say("two", user=1)
        first, second = (update["update_id"] for update in api.updates.pending)
        assert len(await result(api, "getUpdates")) == 2
        rest = await result(api, "getUpdates", offset=second)
        assert [update["update_id"] for update in rest] == [second]
        assert api.updates.acknowledged == first


async def test_a_poll_ends_another_that_waits() -> None:
    async with BotApi() as api:
        waiting = asyncio.create_task(refusal(api, "getUpdates", timeout=5))
        await api.until(lambda: api.updates.polling)
        api_say = asyncio.create_task(result(api, "getUpdates", timeout=5))
        assert (await waiting).startswith("Conflict: terminated by other getUpdates request")
        api.say("one", user=1)
        assert len(await api_say) == 1


async def test_reactions_and_members_are_told_only_where_they_are_asked_for() -> None:
    async with BotApi() as api:
        api.forum(FORUM)
        said = api.say("one", user=1, chat=FORUM)
        api.react(FORUM, said, "👍", user=1)
        api.member(FORUM, 5, "kicked", by=1)
        assert [set(update) - {"update_id"} for update in await result(api, "getUpdates")] == [{"message"}]
        await result(api, "getUpdates", allowed_updates=["message", "message_reaction", "chat_member"])
        api.react(FORUM, said, "👎", user=1)
        api.member(FORUM, 5, "member", by=1)
        _, reaction, member = await result(api, "getUpdates")
        assert "message_thread_id" not in reaction["message_reaction"]
        assert [each["emoji"] for each in reaction["message_reaction"]["old_reaction"]] == ["👍"]
        assert member["chat_member"]["old_chat_member"]["status"] == "kicked"


@pytest.mark.parametrize("fault", list(Fault))
async def test_a_fault_is_done_or_not_as_it_says(fault: Fault) -> None:
    async with BotApi() as api:
        api.forum(FORUM)
        api.fail("sendMessage", fault)
        asked = asyncio.create_task(call(api, "sendMessage", chat_id=FORUM, text="x"))
        await api.until(lambda: bool(api.calls("sendMessage")))
        if fault is Fault.SILENT_AFTER:
            await api.until(lambda: bool(api.unconfirmed))
            asked.cancel()
        await asyncio.wait([asked])
        if not asked.cancelled():
            asked.exception()
        done = fault not in (Fault.ERROR_500, Fault.TOO_LARGE, Fault.CUT_BEFORE)
        assert [sent.text for sent in api.sent(FORUM)] == (["x"] if done else [])
        assert len(api.unconfirmed) == (done and fault is not Fault.SLOW_AFTER)
