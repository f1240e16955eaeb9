"""A topic that Telegram has made, and that the bridge does not know of, is taken and not made twice."""

import asyncio

import pytest

from adapters.telegram.chat import TelegramChat
from bridge.ids import Place
from bridge.ports.chat import NotDelivered
from tests.adapters.telegram.stage import (
    DESK,
    DESK_PLACE,
    FORUM,
    IMPATIENT,
    OPERATOR,
    STRANGER,
    USER,
    FlyingClock,
    LateClock,
    RememberingIntake,
    chat_for,
    connected,
    public,
    running,
)
from tests.fakes.bot_api import BotApi
from tests.fakes.bot_api.asking import result
from tests.fakes.bot_api.server import Fault

WANTED = f'[[{FORUM}, "Taxes", null]]'
"""What a bridge has noted before it asks for a topic."""


@pytest.fixture
def chat(api: BotApi) -> TelegramChat:
    return chat_for(api, LateClock(), patience=IMPATIENT)


def topics(api: BotApi, name: str = "Taxes") -> list[Place]:
    """Those that are there under that name."""
    found = api.room(FORUM).topics.items()
    return [Place(f"telegram:{FORUM}/{thread}") for thread, one in found if one.name == name and not one.deleted]


async def hears(api: BotApi, intake: RememberingIntake) -> None:
    api.say("hello", user=USER, chat=FORUM, thread=DESK)
    await intake.hears("hello")


async def all_handled(api: BotApi, intake: RememberingIntake) -> None:
    await api.until(lambda: not api.updates.pending)
    await intake.until(lambda: len(intake.finished) == len(intake.kept))


@pytest.mark.parametrize("way", ["polled", "pushed"])
async def test_a_bridge_that_died_before_the_topic_was_bound_takes_it(
    api: BotApi, intake: RememberingIntake, way: str
) -> None:
    if way == "pushed":
        public(api)
    chat = chat_for(api, LateClock())
    async with running(chat, intake):
        await connected(api)
        made = await chat.open_topic(DESK_PLACE, "Taxes")
        await all_handled(api, intake)
    async with running(chat, intake):
        await hears(api, intake)
        assert await chat.open_topic(DESK_PLACE, "Taxes") == made
        assert topics(api) == [made]


@pytest.mark.parametrize("way", ["polled", "pushed"])
async def test_a_bridge_that_died_before_it_was_told_of_the_topic_waits_for_that(
    api: BotApi, intake: RememberingIntake, way: str
) -> None:
    intake.notes["topics"] = WANTED
    await result(api, "createForumTopic", chat_id=FORUM, name="Taxes")
    if way == "pushed":
        public(api)
    late = {"message": api.updates.pending.pop()["message"]}
    chat = chat_for(api, LateClock())
    async with running(chat, intake):
        await hears(api, intake)
        opening = asyncio.create_task(chat.open_topic(DESK_PLACE, "Taxes"))
        api.raw(late)
        assert [await opening] == topics(api)


async def test_what_has_its_session_is_done_with(api: BotApi, chat: TelegramChat, intake: RememberingIntake) -> None:
    async with running(chat, intake):
        await connected(api)
        made = await chat.open_topic(DESK_PLACE, "Taxes")
        intake.bound_to.add(made)
        await all_handled(api, intake)
        assert intake.notes["topics"] == "[]"
    async with running(chat, intake):
        await connected(api)
        assert await chat.open_topic(DESK_PLACE, "Taxes") != made


async def test_what_a_bridge_did_not_live_to_hear_of_is_taken_too(api: BotApi, intake: RememberingIntake) -> None:
    chat = chat_for(api, LateClock())
    async with running(chat, intake):
        await connected(api)
        api.fail("createForumTopic", Fault.SILENT_AFTER)
        opening = asyncio.create_task(chat.open_topic(DESK_PLACE, "Taxes"))
        await api.until(lambda: len(topics(api)) == 1)
        opening.cancel()
    async with running(chat, intake):
        await connected(api)
        assert [await chat.open_topic(DESK_PLACE, "Taxes")] == topics(api)


async def test_where_the_answer_never_comes_telegrams_word_is_enough(
    api: BotApi, chat: TelegramChat, intake: RememberingIntake
) -> None:
    async with running(chat, intake):
        await connected(api)
        api.fail("createForumTopic", Fault.SILENT_AFTER)
        assert [await chat.open_topic(DESK_PLACE, "Taxes")] == topics(api)


async def test_what_was_not_made_is_made_when_it_is_asked_for_again(api: BotApi, intake: RememberingIntake) -> None:
    chat = chat_for(api, FlyingClock(), patience=IMPATIENT)
    async with running(chat, intake):
        await connected(api)
        api.fail("createForumTopic", Fault.CUT_BEFORE)
        with pytest.raises(NotDelivered, match="not known"):
            await chat.open_topic(DESK_PLACE, "Taxes")
        assert topics(api) == []
        assert [await chat.open_topic(DESK_PLACE, "Taxes")] == topics(api)


async def test_two_of_one_name_are_two(api: BotApi, chat: TelegramChat, intake: RememberingIntake) -> None:
    async with running(chat, intake):
        await connected(api)
        opened = await asyncio.gather(*(chat.open_topic(DESK_PLACE, "Taxes") for _ in range(3)))
        assert sorted(opened) == sorted(topics(api))
        assert len(opened) == 3
    async with running(chat, intake):
        await connected(api)
        again = await asyncio.gather(*(chat.open_topic(DESK_PLACE, "Taxes") for _ in range(3)))
    assert sorted(again) == sorted(opened)


async def test_only_what_the_bot_has_made_itself_and_under_that_name_is_taken(
    api: BotApi, intake: RememberingIntake
) -> None:
    intake.notes["topics"] = WANTED
    others = [api.create_topic(FORUM, "Taxes", user=user) for user in (OPERATOR, USER, STRANGER)]
    await result(api, "createForumTopic", chat_id=FORUM, name="Else")
    chat = chat_for(api, FlyingClock())
    async with running(chat, intake):
        await connected(api)
        await all_handled(api, intake)
        made = await chat.open_topic(DESK_PLACE, "Taxes")
    assert topics(api) == [*(Place(f"telegram:{FORUM}/{thread}") for thread in others), made]


async def test_one_that_was_deleted_is_not_taken(api: BotApi, chat: TelegramChat, intake: RememberingIntake) -> None:
    async with running(chat, intake):
        await connected(api)
        made = await chat.open_topic(DESK_PLACE, "Taxes")
        await chat.delete_topic(made)
        await all_handled(api, intake)
    async with running(chat, intake):
        await connected(api)
        assert [await chat.open_topic(DESK_PLACE, "Taxes")] == topics(api)


async def test_nothing_is_made_that_could_not_be_remembered(
    api: BotApi, chat: TelegramChat, intake: RememberingIntake
) -> None:
    async with running(chat, intake):
        await connected(api)
        intake.away = True
        with pytest.raises(NotDelivered, match="the disk is full") as refused:
            await chat.open_topic(DESK_PLACE, "Taxes")
        assert refused.value.retry_at is not None
        assert topics(api) == []
        intake.away = False
        assert [await chat.open_topic(DESK_PLACE, "Taxes")] == topics(api)


@pytest.mark.parametrize("note", ["", "{", "[[1]]", '[["x", 1, null]]', "[7]", "null"])
async def test_a_note_that_cannot_be_read_hinders_nothing(
    api: BotApi, chat: TelegramChat, intake: RememberingIntake, note: str
) -> None:
    intake.notes["topics"] = note
    async with running(chat, intake):
        await connected(api)
        await hears(api, intake)
        assert [await chat.open_topic(DESK_PLACE, "Taxes")] == topics(api)
