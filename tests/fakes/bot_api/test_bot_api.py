"""The fake is held to the Bot API: what drifts from it is found, and its errors are the real ones."""

import json

import aiohttp
import pytest

from tests.fakes.bot_api import TOKEN, BotApi
from tests.fakes.bot_api.contract import Drift

FORUM = -1001


async def call(api: BotApi, method: str, **fields: object) -> dict[str, object]:
    data = {key: str(value) for key, value in fields.items()}
    async with aiohttp.ClientSession() as client:
        answer = await client.post(f"{api.base_url}{TOKEN}/{method}", data=data)
        body: dict[str, object] = await answer.json()
        assert answer.status == body.get("error_code", 200)
    return body


@pytest.mark.parametrize("fields", [{"chat_id": FORUM, "text": "x", "txet": "y"}, {"chat_id": FORUM}])
async def test_a_request_that_the_bot_api_does_not_know_fails_the_test(fields: dict[str, object]) -> None:
    async def drift() -> None:
        async with BotApi() as api:
            api.forum(FORUM)
            await call(api, "sendMessage", **fields)

    with pytest.raises(Drift):
        await drift()


async def test_an_update_that_the_bot_api_does_not_know_is_refused() -> None:
    async with BotApi() as api:
        with pytest.raises(Drift):
            api.updates.add("message", {"message_id": 1})


async def test_topics_are_made_closed_opened_and_renamed() -> None:
    async with BotApi() as api:
        api.forum(FORUM)
        made = await call(api, "createForumTopic", chat_id=FORUM, name="Career")
        thread = made["result"]["message_thread_id"]  # type: ignore[index]
        topic = {"chat_id": FORUM, "message_thread_id": thread}
        assert (await call(api, "closeForumTopic", **topic))["ok"]
        closed = await call(api, "sendMessage", text="x", **topic)
        assert closed["description"] == "Bad Request: TOPIC_CLOSED"
        assert (await call(api, "reopenForumTopic", **topic))["ok"]
        assert (await call(api, "editForumTopic", name="Work", **topic))["ok"]
        assert (await call(api, "sendChatAction", action="typing", **topic))["ok"]
        assert (await call(api, "sendMessage", text="x", **topic))["ok"]


async def test_general_has_no_thread() -> None:
    async with BotApi() as api:
        api.forum(FORUM)
        refused = await call(api, "sendMessage", chat_id=FORUM, text="x", message_thread_id=1)
        assert refused["description"] == "Bad Request: message thread not found"


async def test_a_chat_and_its_members_are_told() -> None:
    async with BotApi() as api:
        api.forum(FORUM, title="Office")
        chat = await call(api, "getChat", chat_id=FORUM)
        member = await call(api, "getChatMember", chat_id=FORUM, user_id=111)
        assert chat["result"]["title"] == "Office"  # type: ignore[index]
        assert member["result"]["user"]["id"] == 111  # type: ignore[index]
        assert (await call(api, "getChat", chat_id=-5))["description"] == "Bad Request: chat not found"


async def test_entities_beyond_a_hundred_are_dropped_and_long_callback_data_is_refused() -> None:
    bold = [{"type": "bold", "offset": i, "length": 1} for i in range(120)]
    keyboard = {"inline_keyboard": [[{"text": "x", "callback_data": "y" * 65}]]}
    async with BotApi() as api:
        api.forum(FORUM)
        sent = await call(api, "sendMessage", chat_id=FORUM, text="x" * 120, entities=json.dumps(bold))
        assert len(sent["result"]["entities"]) == 100  # type: ignore[index]
        refused = await call(api, "sendMessage", chat_id=FORUM, text="x", reply_markup=json.dumps(keyboard))
        assert refused["description"] == "Bad Request: BUTTON_DATA_INVALID"


async def test_a_reply_needs_its_message_unless_it_may_do_without() -> None:
    async with BotApi() as api:
        api.forum(FORUM)
        strict, lenient = {"message_id": 9}, {"message_id": 9, "allow_sending_without_reply": True}
        refused = await call(api, "sendMessage", chat_id=FORUM, text="x", reply_parameters=json.dumps(strict))
        assert refused["description"] == "Bad Request: message to be replied not found"
        assert (await call(api, "sendMessage", chat_id=FORUM, text="x", reply_parameters=json.dumps(lenient)))["ok"]


async def test_an_offset_acknowledges_what_lies_before_it() -> None:
    async with BotApi() as api:
        api.say("one", user=1)
        api.say("two", user=1)
        first, second = (update["update_id"] for update in api.updates.pending)
        assert len((await call(api, "getUpdates"))["result"]) == 2  # type: ignore[arg-type]
        rest = await call(api, "getUpdates", offset=second)
        assert [update["update_id"] for update in rest["result"]] == [second]  # type: ignore[attr-defined]
        assert api.updates.acknowledged == first
