"""Topics, General, members and migration, as groups know them."""

from typing import Any

import pytest

from tests.fakes.bot_api import BotApi
from tests.fakes.bot_api.asking import refusal, result, updates

FORUM, GROUP, USER = -1001, -55, 7


def forum(api: BotApi, thread: int = 42) -> dict[str, Any]:
    api.forum(FORUM, topics={thread: "Desk"})
    return {"chat_id": FORUM, "message_thread_id": thread}


async def test_topics_are_made_closed_opened_renamed_and_deleted() -> None:
    async with BotApi() as api:
        api.forum(FORUM)
        made = await result(api, "createForumTopic", chat_id=FORUM, name="Career")
        topic = {"chat_id": FORUM, "message_thread_id": made["message_thread_id"]}
        await result(api, "closeForumTopic", **topic)
        assert await refusal(api, "sendMessage", text="x", **topic) == "Bad Request: TOPIC_CLOSED"
        assert await refusal(api, "closeForumTopic", **topic) == "Bad Request: TOPIC_NOT_MODIFIED"
        await result(api, "reopenForumTopic", **topic)
        assert await refusal(api, "reopenForumTopic", **topic) == "Bad Request: TOPIC_NOT_MODIFIED"
        await result(api, "editForumTopic", name="Work", **topic)
        assert await refusal(api, "editForumTopic", name="Work", **topic) == "Bad Request: TOPIC_NOT_MODIFIED"
        await result(api, "sendChatAction", action="typing", **topic)
        await result(api, "sendMessage", text="x", **topic)
        await result(api, "deleteForumTopic", **topic)
        assert await refusal(api, "sendMessage", text="x", **topic) == "Bad Request: message thread not found"
        for method in ("closeForumTopic", "editForumTopic", "deleteForumTopic"):
            assert await refusal(api, method, **topic) == "Bad Request: TOPIC_ID_INVALID"


async def test_a_name_is_not_empty_and_is_cut_where_it_is_long() -> None:
    async with BotApi() as api:
        api.forum(FORUM)
        assert "non-empty" in await refusal(api, "createForumTopic", chat_id=FORUM, name="  ")
        made = await result(api, "createForumTopic", chat_id=FORUM, name="x" * 129)
        assert len(made["name"]) == 128
        assert len(api.losses) == 1


async def test_general_has_no_thread_but_for_what_is_shown_for_a_moment() -> None:
    async with BotApi() as api:
        api.forum(FORUM)
        general = {"chat_id": FORUM, "message_thread_id": 1}
        assert await refusal(api, "sendMessage", text="x", **general) == "Bad Request: message thread not found"
        await result(api, "sendChatAction", action="typing", **general)
        await result(api, "closeGeneralForumTopic", chat_id=FORUM)
        assert await refusal(api, "sendMessage", text="x", chat_id=FORUM) == "Bad Request: TOPIC_CLOSED"
        await result(api, "reopenGeneralForumTopic", chat_id=FORUM)
        await result(api, "sendMessage", text="x", chat_id=FORUM)
        await result(api, "hideGeneralForumTopic", chat_id=FORUM)
        assert await refusal(api, "hideGeneralForumTopic", chat_id=FORUM) == "Bad Request: TOPIC_NOT_MODIFIED"
        await result(api, "unhideGeneralForumTopic", chat_id=FORUM)


@pytest.mark.parametrize("error", ["message thread not found", "TOPIC_DELETED", "TOPIC_ID_INVALID"])
async def test_a_topic_that_people_deleted_is_refused(error: str) -> None:
    async with BotApi() as api:
        topic = forum(api)
        api.delete_topic(FORUM, 42, error)
        assert await refusal(api, "sendMessage", text="x", **topic) == f"Bad Request: {error}"


async def test_a_deleted_topic_of_a_private_chat_gives_the_chat_itself() -> None:
    async with BotApi() as api:
        api.private(USER, topics={5: "Desk"})
        api.delete_topic(USER, 5)
        landed = await result(api, "sendMessage", chat_id=USER, message_thread_id=5, text="x")
        assert "message_thread_id" not in landed


async def test_topics_that_are_switched_off_are_no_threads() -> None:
    async with BotApi() as api:
        topic = forum(api)
        api.switch_topics(FORUM, on=False)
        assert await refusal(api, "sendMessage", text="x", **topic) == "Bad Request: message thread not found"
        assert await refusal(api, "closeForumTopic", **topic) == "Bad Request: the chat is not a forum"
        assert "is_forum" not in await result(api, "getChat", chat_id=FORUM)
        api.switch_topics(FORUM, on=True)
        await result(api, "sendMessage", text="x", **topic)


@pytest.mark.parametrize("chat", [GROUP, -1002, USER])
async def test_a_chat_without_topics_has_no_threads(chat: int) -> None:
    async with BotApi() as api:
        api.group(GROUP)
        api.supergroup(-1002)
        api.private(USER)
        thread = {"chat_id": chat, "message_thread_id": 42}
        assert await refusal(api, "sendMessage", text="x", **thread) == "Bad Request: message thread not found"
        assert await refusal(api, "createForumTopic", chat_id=chat, name="x") == "Bad Request: the chat is not a forum"


async def test_topics_of_private_chats_are_made_and_renamed_but_not_closed() -> None:
    async with BotApi() as api:
        api.private(USER)
        api.private_topics()
        assert (await result(api, "getMe"))["has_topics_enabled"]
        made = await result(api, "createForumTopic", chat_id=USER, name="Desk")
        topic = {"chat_id": USER, "message_thread_id": made["message_thread_id"]}
        await result(api, "editForumTopic", name="Work", **topic)
        for method in ("closeForumTopic", "reopenForumTopic"):
            assert await refusal(api, method, **topic) == "Bad Request: the chat is not a forum"
        await result(api, "deleteForumTopic", **topic)
        api.private_topics(on=False)
        assert await refusal(api, "createForumTopic", chat_id=USER, name="x") == "Bad Request: the chat is not a forum"


async def test_it_takes_a_right_to_change_topics_but_for_ones_own() -> None:
    async with BotApi() as api:
        topic = forum(api)
        own = await result(api, "createForumTopic", chat_id=FORUM, name="Own")
        for member in (
            {"status": "administrator", "can_manage_topics": False, "can_delete_messages": False},
            {"status": "member"},
        ):
            api.member(FORUM, api.bot, **member)
            create = await refusal(api, "createForumTopic", chat_id=FORUM, name="x")
            assert create == "Bad Request: not enough rights to create a topic"
            for method, what in (
                ("editForumTopic", "edit"),
                ("closeForumTopic", "edit"),
                ("deleteForumTopic", "delete"),
            ):
                assert await refusal(api, method, **topic) == f"Bad Request: not enough rights to {what} the topic"
            assert "edit the topic" in await refusal(api, "closeGeneralForumTopic", chat_id=FORUM)
        mine = {"chat_id": FORUM, "message_thread_id": own["message_thread_id"]}
        await result(api, "closeForumTopic", **mine)
        await result(api, "reopenForumTopic", **mine)
        api.say("hello", user=USER, chat=FORUM, thread=own["message_thread_id"])
        assert "not enough rights to delete" in await refusal(api, "deleteForumTopic", **mine)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        ("left", "Forbidden: bot is not a member of the supergroup chat"),
        ("kicked", "Forbidden: bot was kicked from the supergroup chat"),
        ("restricted", "Bad Request: not enough rights to send text messages to the chat"),
    ],
)
async def test_who_may_not_write_is_told_why(status: str, error: str) -> None:
    async with BotApi() as api:
        topic = forum(api)
        api.member(FORUM, api.bot, status)
        assert await refusal(api, "sendMessage", text="x", **topic) == error


async def test_a_chat_and_its_members_are_told() -> None:
    async with BotApi() as api:
        api.forum(FORUM, title="Office")
        api.member(FORUM, USER, "creator")
        api.member(FORUM, 8, "left")
        assert (await result(api, "getChat", chat_id=FORUM))["title"] == "Office"
        assert await refusal(api, "getChat", chat_id=-5) == "Bad Request: chat not found"
        for user, status in ((USER, "creator"), (8, "left"), (9, "member"), (api.bot, "administrator")):
            assert (await result(api, "getChatMember", chat_id=FORUM, user_id=user))["status"] == status
        administrators = await result(api, "getChatAdministrators", chat_id=FORUM)
        assert {each["user"]["id"] for each in administrators} == {USER, api.bot}
        api.member(FORUM, api.bot, "administrator", by=USER, can_manage_topics=False)
        (told,) = await updates(api)
        assert told["my_chat_member"]["new_chat_member"]["can_manage_topics"] is False


async def test_a_group_that_migrates_says_so_in_both_chats() -> None:
    async with BotApi() as api:
        api.group(GROUP)
        api.migrate(GROUP, -10055, topics={42: "Desk"}, user=USER)
        api.say("after", user=USER, chat=GROUP)
        old, new = (update["message"] for update in await updates(api))
        assert (old["chat"]["id"], old["migrate_to_chat_id"]) == (GROUP, -10055)
        assert (new["chat"]["id"], new["migrate_from_chat_id"]) == (-10055, GROUP)
        for method in ("sendMessage", "sendChatAction"):
            fields = {"text": "x"} if method == "sendMessage" else {"action": "typing"}
            assert "upgraded to a supergroup chat" in await refusal(api, method, chat_id=GROUP, **fields)
            await result(api, method, chat_id=-10055, message_thread_id=42, **fields)


async def test_what_people_do_to_topics_is_told() -> None:
    async with BotApi() as api:
        api.forum(FORUM)
        thread = api.create_topic(FORUM, "Career", user=USER)
        api.rename_topic(FORUM, thread, "Work", user=USER)
        api.close_topic(FORUM, thread, user=USER)
        api.reopen_topic(FORUM, thread, user=USER)
        api.hide_general(FORUM, user=USER)
        api.delete_topic(FORUM, thread)
        *topic, general = (update["message"] for update in await updates(api))
        kinds = ["created", "edited", "closed", "reopened"]
        for kind, message in zip(kinds, topic, strict=True):
            assert f"forum_topic_{kind}" in message
            assert message["message_thread_id"] == thread
        assert topic[0]["message_id"] == thread
        assert "general_forum_topic_hidden" in general


async def test_menus_are_kept_for_each_scope_and_language() -> None:
    async with BotApi() as api:
        api.forum(FORUM)
        api.private(USER)
        api.member(FORUM, USER, "administrator")

        async def put(name: str, scope: dict[str, Any] | None = None, **more: str) -> None:
            commands = [{"command": name, "description": f"The {name}"}]
            await result(api, "setMyCommands", commands=commands, **({"scope": scope} if scope else {}), **more)

        await put("all")
        await put("german", language_code="de")
        await put("members", {"type": "all_group_chats"})
        await put("admins", {"type": "chat_administrators", "chat_id": FORUM})
        await put("one", {"type": "chat_member", "chat_id": FORUM, "user_id": 8})
        assert list(api.commands) == ["all"]
        assert list(api.menu(USER, USER)) == ["all"]
        assert list(api.menu(USER, USER, "de")) == ["german"]
        assert list(api.menu(FORUM, USER)) == ["admins"]
        assert list(api.menu(FORUM, 8)) == ["one"]
        assert list(api.menu(FORUM, 9)) == ["members"]
        scope = {"type": "chat_member", "chat_id": FORUM, "user_id": 8}
        await result(api, "deleteMyCommands", scope=scope)
        assert await result(api, "getMyCommands", scope=scope) == []
        assert list(api.menu(FORUM, 8)) == ["members"]
        wrong = [{"command": "Not-So", "description": "x"}]
        assert await refusal(api, "setMyCommands", commands=wrong) == "Bad Request: BOT_COMMAND_INVALID"
        elsewhere = {"type": "chat", "chat_id": -5}
        assert await refusal(api, "setMyCommands", commands=[], scope=elsewhere) == "Bad Request: chat not found"
