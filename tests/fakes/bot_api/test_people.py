"""What people say reaches the bot as Telegram tells it."""

from typing import Any

import pytest

from tests.fakes.bot_api import BotApi, Item, origins
from tests.fakes.bot_api.asking import refusal, result, updates

FORUM, CHANNEL, USER = -1001, -100777, 7


async def heard(api: BotApi) -> list[dict[str, Any]]:
    return [update["message"] for update in await updates(api)]


@pytest.mark.parametrize("kind", ["photo", "document", "voice", "audio", "video", "video_note", "animation", "sticker"])
async def test_a_file_can_be_fetched(kind: str) -> None:
    async with BotApi() as api:
        api.send_file(Item(kind, b"what it holds"), user=USER)
        (message,) = await heard(api)
        media = message[kind][-1] if kind == "photo" else message[kind]
        file = await result(api, "getFile", file_id=media["file_id"])
        assert api._world.files[file["file_id"]].data == b"what it holds"


async def test_an_album_arrives_in_parts() -> None:
    async with BotApi() as api:
        items = [Item("photo", caption="look"), Item("photo"), Item("document", name="a.txt")]
        numbers = api.album(items, user=USER)
        parts = await heard(api)
        assert [part["message_id"] for part in parts] == numbers
        assert len({part["media_group_id"] for part in parts}) == 1
        assert [part.get("caption") for part in parts] == ["look", None, None]


async def test_a_long_paste_is_cut_by_the_senders_app() -> None:
    async with BotApi() as api:
        text = "word " * 2000 + "😀" * 3000
        api.paste(text, user=USER)
        parts = [message["text"] for message in await heard(api)]
        assert all(len(part.encode("utf-16-le")) // 2 <= 4096 for part in parts)
        assert "".join(parts).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize(
    "origin",
    [
        origins.of_user(8),
        origins.of_hidden("Somebody"),
        origins.of_chat(-100888, "Elsewhere"),
        origins.of_channel(CHANNEL, "News"),
    ],
)
async def test_a_forward_says_where_it_came_from(origin: dict[str, Any]) -> None:
    async with BotApi() as api:
        api.forward("read this", origin, user=USER)
        (message,) = await heard(api)
        assert message["forward_origin"] == origin


async def test_a_reply_carries_what_it_replies_to() -> None:
    async with BotApi() as api:
        api.forum(FORUM, topics={42: "Desk"})
        first = api.say("first of all", user=USER, chat=FORUM, thread=42)
        api.say("this?", user=USER, chat=FORUM, thread=42, reply_to=first, quote="first")
        api.say("that?", user=USER, external_reply={"origin": origins.of_user(8)})
        first_said, quoting, replying = await heard(api)
        assert "forum_topic_created" in first_said["reply_to_message"]
        assert quoting["reply_to_message"]["message_id"] == first
        assert quoting["quote"]["text"] == "first"
        assert "reply_to_message" not in replying


async def test_a_reply_in_a_supergroup_without_topics_has_the_thread_of_its_chain() -> None:
    async with BotApi() as api:
        api.supergroup(FORUM)
        first = api.say("first", user=USER, chat=FORUM)
        second = api.say("second", user=USER, chat=FORUM, reply_to=first)
        api.say("third", user=USER, chat=FORUM, reply_to=second)
        assert [message.get("message_thread_id") for message in await heard(api)] == [None, first, first]
        assert all("is_topic_message" not in message for message in api.room(FORUM).messages.values())


async def test_who_is_no_person_is_told() -> None:
    async with BotApi() as api:
        api.forum(FORUM)
        api.channel(CHANNEL)
        api.say("as an administrator", user=USER, chat=FORUM, anonymous=True)
        api.say("as a channel", user=USER, chat=FORUM, as_channel=CHANNEL)
        api.say("as a bot", user=8, chat=FORUM, bot=True)
        api.say("through a bot", user=USER, chat=FORUM, via_bot=True)
        api.post("news", chat=CHANNEL, linked=FORUM)
        *said, post, handed_on = await updates(api)
        anonymous, channel, bot, via = (update["message"] for update in said)
        assert anonymous["sender_chat"]["id"] == FORUM
        assert channel["sender_chat"]["id"] == CHANNEL
        assert bot["from"]["is_bot"]
        assert "via_bot" in via
        assert "from" not in post["channel_post"]
        assert handed_on["message"]["is_automatic_forward"]


async def test_what_is_edited_is_told() -> None:
    async with BotApi() as api:
        api.edit(USER, api.say("/ask one", user=USER), "/ask another")
        api.edit(USER, api.photo(user=USER, caption="one"), "another")
        _, text, _, caption = await updates(api)
        assert text["edited_message"]["text"] == "/ask another"
        assert text["edited_message"]["entities"][0]["length"] == len("/ask")
        assert caption["edited_message"]["caption"] == "another"


async def test_with_privacy_mode_on_a_member_gets_commands_and_replies_to_it() -> None:
    async with BotApi() as api:
        api.forum(FORUM)
        api.privacy()
        api.say("hello", user=USER, chat=FORUM)
        api.member(FORUM, api.bot, "member")
        api.say("unheard", user=USER, chat=FORUM)
        own = (await result(api, "sendMessage", chat_id=FORUM, text="x"))["message_id"]
        api.say("a reply", user=USER, chat=FORUM, reply_to=own)
        api.say("/help", user=USER, chat=FORUM)
        api.say("in private", user=USER)
        assert [message["text"] for message in await heard(api)] == ["hello", "a reply", "/help", "in private"]
        assert (await result(api, "getMe"))["can_read_all_group_messages"] is False


async def test_where_the_bot_is_not_it_hears_nothing() -> None:
    async with BotApi() as api:
        api.forum(FORUM)
        api.remove_bot(FORUM)
        api.say("unheard", user=USER, chat=FORUM)
        assert await updates(api) == []


async def test_a_button_that_was_pressed_is_answered_once() -> None:
    async with BotApi() as api:
        api.private(USER)
        keyboard = {"inline_keyboard": [[{"text": "Yes", "callback_data": "yes"}]]}
        await result(api, "sendMessage", chat_id=USER, text="x", reply_markup=keyboard)
        (shown,) = api.sent(USER)
        with pytest.raises(AssertionError):
            api.press(shown, "no", user=USER)
        query = api.press(shown, "yes", user=USER, old=True)
        (update,) = await updates(api)
        assert update["callback_query"]["message"]["date"] == 0
        answer: dict[str, Any] = {"method": "answerCallbackQuery", "callback_query_id": query}
        assert await refusal(api, **answer, text="x" * 201) == "Bad Request: MESSAGE_TOO_LONG"
        await result(api, **answer, text="done")
        assert await api.answered(query) == "done"
        assert "query is too old" in await refusal(api, **answer)
