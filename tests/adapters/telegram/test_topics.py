"""Topics, as Telegram has them and loses them (invariant 11)."""

import asyncio

import pytest

from adapters.telegram.budget import Rate, Rates
from adapters.telegram.chat import TelegramChat
from bridge.ids import Place
from bridge.move import Move, Why
from bridge.ports.chat import Admitted, Blocked, Gone, Later, Migrated, Moved, NotDelivered, Renamed, Reopened
from tests.adapters.telegram.stage import (
    CAREER,
    DESK,
    DESK_PLACE,
    FORUM,
    IMPATIENT,
    OPERATOR,
    STRANGER,
    USER,
    FlyingClock,
    RememberingIntake,
    chat_for,
    post,
    running,
)
from tests.fakes.bot_api import BotApi
from tests.fakes.bot_api.server import Fault

GENERAL = Place(f"telegram:{FORUM}/general")
PLAIN = Place(f"telegram:{FORUM}")
GROUP, SUPER = -555, -1009876543210
GROUP_PLACE, SUPER_PLACE = Place(f"telegram:{GROUP}"), Place(f"telegram:{SUPER}")
PRIVATE = Place(f"telegram:{OPERATOR}")


@pytest.fixture
def chat(api: BotApi, clock: FlyingClock) -> TelegramChat:
    return chat_for(api, clock, chats=frozenset({FORUM, GROUP}))


def managing(api: BotApi, *, topics: bool = True) -> None:
    api.member(FORUM, api.bot, "administrator", can_manage_topics=topics)


async def test_a_topic_is_made_renamed_closed_opened_and_deleted(
    api: BotApi, chat: TelegramChat, intake: RememberingIntake
) -> None:
    managing(api)
    async with running(chat, intake):
        await api.until(lambda: api.updates.polling)
        made = await chat.open_topic(DESK_PLACE, "  Taxes\n2026 ")
        thread = int(made.rpartition("/")[2])
        topic = api._world.rooms[FORUM].topics[thread]
        assert topic.name == "Taxes 2026"
        await chat.deliver(post("first", place=made))
        assert [sent.text for sent in api.sent(FORUM, thread)] == ["first"]
        for _ in range(2):  # what is so already counts as done
            await chat.rename_topic(made, "Tax")
            await chat.close_topic(made)
        assert (topic.name, topic.closed) == ("Tax", True)
        await chat.reopen_topic(made)
        assert not topic.closed
        await chat.delete_topic(made)
        assert topic.deleted
        assert chat.topic_link(made) == f"https://t.me/c/1234/{thread}"


async def test_forums_are_the_allowed_chats_that_have_topics(
    api: BotApi, chat: TelegramChat, intake: RememberingIntake
) -> None:
    api.group(GROUP)
    async with running(chat, intake):
        await api.until(lambda: api.updates.polling)
        assert await chat.forums() == [PLAIN]
        api.migrate(GROUP, SUPER, topics={7: "Else"})
        with pytest.raises(Moved):
            await chat.deliver(post(place=GROUP_PLACE))
        assert await chat.forums() == [SUPER_PLACE, PLAIN]
        api.remove_bot(SUPER)
        api.switch_topics(FORUM, on=False)
        assert await chat.forums() == []


async def test_what_cannot_be_done_says_what_is_missing(
    api: BotApi, chat: TelegramChat, intake: RememberingIntake
) -> None:
    api.group(GROUP)
    managing(api, topics=False)
    async with running(chat, intake):
        await api.until(lambda: api.updates.polling)
        with pytest.raises(NotDelivered, match="the right to manage topics"):
            await chat.open_topic(DESK_PLACE, "Taxes")
        with pytest.raises(NotDelivered, match="has no topics: switch them on"):
            await chat.open_topic(GROUP_PLACE, "Taxes")
        with pytest.raises(NotDelivered, match=r"not in telegram\.chats"):
            await chat.open_topic(Place("telegram:-100999"), "Taxes")
        with pytest.raises(NotDelivered, match="no topic of its own"):
            await chat.rename_topic(GENERAL, "Taxes")
        with pytest.raises(NotDelivered, match="no place of Telegram"):
            await chat.close_topic(Place("room:x"))


async def test_whether_a_topic_was_made_may_not_be_known_and_it_is_not_made_again(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    managing(api)
    chat = chat_for(api, clock, patience=IMPATIENT)
    async with running(chat, intake):
        await api.until(lambda: api.updates.polling)
        api.fail("createForumTopic", Fault.CUT_BEFORE)
        with pytest.raises(NotDelivered, match="not known") as refused:
            await chat.open_topic(DESK_PLACE, "Taxes")
        assert refused.value.retry_at is None
        api.flood(FORUM, 7)
        with pytest.raises(NotDelivered) as flooded:
            await chat.open_topic(DESK_PLACE, "Taxes")
        assert flooded.value.retry_at is not None


async def test_private_chats_have_topics_that_cannot_be_closed(
    api: BotApi, chat: TelegramChat, intake: RememberingIntake
) -> None:
    api.private(OPERATOR)
    api.private_topics(on=True)
    async with running(chat, intake):
        await api.until(lambda: api.updates.polling)
        made = await chat.open_topic(PRIVATE, "Taxes")
        await chat.rename_topic(made, "Tax")
        with pytest.raises(NotDelivered, match="private chats"):
            await chat.close_topic(made)
        assert chat.topic_link(made) is None


# What is lost


@pytest.mark.parametrize("refusal", ["message thread not found", "TOPIC_DELETED", "TOPIC_ID_INVALID"])
async def test_a_deleted_topic_is_gone(
    api: BotApi, chat: TelegramChat, intake: RememberingIntake, refusal: str
) -> None:
    api.delete_topic(FORUM, DESK, refusal)
    async with running(chat, intake):
        await api.until(lambda: api.updates.polling)
        with pytest.raises(Gone, match="deleted"):
            await chat.deliver(post())
    assert [sent for sent in api.history if sent.chat == FORUM] == []


async def test_a_topic_that_is_deleted_costs_no_more_than_two_requests(
    api: BotApi, chat: TelegramChat, intake: RememberingIntake
) -> None:
    """However often another one cannot be made yet: those would be missing for that."""
    api.delete_topic(FORUM, DESK)
    async with running(chat, intake):
        await api.until(lambda: api.updates.polling)
        for _ in range(4):
            with pytest.raises(Gone, match="deleted"):
                await chat.deliver(post())
    assert len(api.calls("sendMessage")) == 2


async def test_a_topic_is_not_taken_for_deleted_once_topics_are_switched_on_again(
    api: BotApi, chat: TelegramChat, intake: RememberingIntake
) -> None:
    api.room(FORUM).forum = False
    api.room(FORUM).topics[DESK].deleted = True
    async with running(chat, intake):
        await api.until(lambda: api.updates.polling)
        for _ in range(3):
            with pytest.raises(Blocked, match="switched off"):
                await chat.deliver(post())
        api.room(FORUM).forum = True
        api.room(FORUM).topics[DESK].deleted = False
        await chat.deliver(post())
    assert len(api.sent(FORUM, DESK)) == 1


async def test_a_deleted_topic_is_found_gone_also_where_only_one_question_at_a_time_may_be_asked(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    """Else the question after which the other one has to wait would be asked for ever, and take all the room."""
    api.delete_topic(FORUM, DESK)
    one_at_a_time = Rates(chat=Rate(1, 3), group=Rate(1000, 1), bot=Rate(1000, 1))
    chat = chat_for(api, clock, rates=one_at_a_time)
    async with running(chat, intake):
        await api.until(lambda: api.updates.polling)
        with pytest.raises(Later) as later:
            await chat.deliver(post())
        clock.fly(later.value.until - clock.now())
        with pytest.raises(Gone, match="deleted"):
            await chat.deliver(post())


async def test_a_deleted_topic_of_a_private_chat_is_gone_and_what_fell_out_of_it_is_taken_back(
    api: BotApi, chat: TelegramChat, intake: RememberingIntake
) -> None:
    api.private(OPERATOR, topics={7: "Taxes"})
    api.delete_topic(OPERATOR, 7)
    async with running(chat, intake):
        await api.until(lambda: api.updates.polling)
        with pytest.raises(Gone):
            await chat.deliver(post(place=Place(f"telegram:{OPERATOR}/7")))
    assert api.sent(OPERATOR) == []


async def test_where_topics_are_switched_off_nothing_is_lost_and_nothing_goes_to_the_chat_as_a_whole(
    api: BotApi, chat: TelegramChat, intake: RememberingIntake
) -> None:
    async with running(chat, intake):
        await api.until(lambda: api.updates.polling)
        api.switch_topics(FORUM, on=False)
        with pytest.raises(Blocked, match="switched off"):
            await chat.deliver(post())
        assert api.sent(FORUM) == []
        api.switch_topics(FORUM, on=True)
        await chat.deliver(post())
        assert [sent.text for sent in api.sent(FORUM, DESK)] == ["Hello"]


async def test_a_closed_topic_is_opened_where_the_bot_may(
    api: BotApi, chat: TelegramChat, intake: RememberingIntake
) -> None:
    async with running(chat, intake):
        await api.until(lambda: api.updates.polling)
        managing(api, topics=False)
        api.close_topic(FORUM, DESK)
        with pytest.raises(Blocked, match="closed: open it again") as held:
            await chat.deliver(post())
        assert held.value.retry_at is not None
        assert api.sent(FORUM, DESK) == []
        managing(api)
        await chat.deliver(post())
        assert [sent.text for sent in api.sent(FORUM, DESK)] == ["Hello"]


async def test_a_migrated_group_has_moved_and_is_allowed_under_its_new_id(
    api: BotApi, chat: TelegramChat, intake: RememberingIntake
) -> None:
    api.group(GROUP)
    async with running(chat, intake):
        await api.until(lambda: api.updates.polling)
        api.migrate(GROUP, SUPER)
        with pytest.raises(Moved) as moved:
            await chat.deliver(post(place=GROUP_PLACE))
        assert moved.value.new == SUPER_PLACE
        with pytest.raises(Moved) as moved:
            await chat.deliver(post(place=Place(f"telegram:{GROUP}/7")))
        assert moved.value.new == Place(f"telegram:{SUPER}/7")
        assert chat.attended(SUPER_PLACE)
        await chat.deliver(post(place=SUPER_PLACE))
        api.say("hello", user=USER, chat=SUPER)
        await intake.hears("hello")
    assert [sent.text for sent in api.sent(SUPER)] == ["Hello"]


async def test_what_was_remembered_of_a_migration_is_allowed_from_the_start_and_stays_so(
    api: BotApi, clock: FlyingClock
) -> None:
    chat = chat_for(api, clock, chats=frozenset({GROUP}), moves=[Move(GROUP_PLACE, SUPER_PLACE, 1.0, Why.MIGRATED)])
    assert chat.attended(SUPER_PLACE)
    chat.narrow(chat._config)
    assert chat.attended(SUPER_PLACE)


# What people do


async def test_the_word_of_a_migration_is_passed_on_before_what_is_said_in_the_new_chat(
    api: BotApi, chat: TelegramChat, intake: RememberingIntake
) -> None:
    api.group(GROUP)
    api.say("before", user=USER, chat=GROUP)
    api.migrate(GROUP, SUPER, user=USER)
    api.say("after", user=USER, chat=SUPER)
    async with running(chat, intake):
        await intake.until(lambda: len(intake.heard) == 2)
    assert {heard.text: heard.place for heard in intake.heard} == {"before": GROUP_PLACE, "after": SUPER_PLACE}
    assert Migrated(GROUP_PLACE, SUPER_PLACE) in intake.happenings


async def test_what_was_said_before_a_migration_is_not_overtaken_by_what_is_said_after_it(
    api: BotApi, chat: TelegramChat, intake: RememberingIntake
) -> None:
    api.group(GROUP)
    intake.slow[GROUP_PLACE] = asyncio.Event()
    api.say("before", user=USER, chat=GROUP)
    api.migrate(GROUP, SUPER, user=USER)
    api.say("after", user=USER, chat=SUPER)
    api.say("meanwhile", user=USER, chat=FORUM, thread=DESK)
    async with running(chat, intake):
        await intake.hears("meanwhile")
        assert Migrated(GROUP_PLACE, SUPER_PLACE) not in intake.happenings
        intake.slow[GROUP_PLACE].set()
        await intake.hears("meanwhile", "before", "after")


async def test_a_stop_in_the_new_chat_outranks_what_waits_in_the_old_one(
    api: BotApi, chat: TelegramChat, intake: RememberingIntake
) -> None:
    api.group(GROUP)
    intake.slow[GROUP_PLACE] = asyncio.Event()
    async with running(chat, intake):
        for text in ("one", "two"):
            api.say(text, user=USER, chat=GROUP)
        await intake.until(lambda: len(intake.held_up) == 1)
        api.migrate(GROUP, SUPER, user=USER)
        api.say("/stop", user=OPERATOR, chat=SUPER)
        await intake.hears("/stop")
        intake.slow[GROUP_PLACE].set()
        await intake.hears("/stop", "one")
        await intake.until(lambda: len(intake.finished) == len(intake.kept))
    assert [heard.text for heard in intake.outranked] == ["two"]


ANEW = Place(f"telegram:{FORUM}/{CAREER}")
"""A topic that goes on in the stead of another one."""


async def test_what_was_said_in_a_topic_is_not_overtaken_by_what_is_said_in_the_one_in_its_stead(
    api: BotApi, chat: TelegramChat, intake: RememberingIntake
) -> None:
    intake.slow[DESK_PLACE] = asyncio.Event()
    async with running(chat, intake):
        for text in ("one", "two"):
            api.say(text, user=USER, chat=FORUM, thread=DESK)
        await intake.until(lambda: len(intake.held_up) == 1)
        intake.moved = [[ANEW, DESK_PLACE]]
        api.say("three", user=USER, chat=FORUM, thread=CAREER)
        api.say("meanwhile", user=USER)
        await intake.hears("meanwhile")
        intake.slow[DESK_PLACE].set()
        await intake.hears("meanwhile", "one", "two", "three")
        api.say("four", user=USER, chat=FORUM, thread=CAREER)
        await intake.hears("meanwhile", "one", "two", "three", "four")


async def test_that_order_holds_over_a_restart(api: BotApi, chat: TelegramChat, intake: RememberingIntake) -> None:
    for text, thread in (("one", DESK), ("two", DESK), ("three", CAREER)):
        api.say(text, user=USER, chat=FORUM, thread=thread)
    intake.slow[DESK_PLACE] = intake.slow[ANEW] = asyncio.Event()
    async with running(chat, intake):
        await intake.until(lambda: len(intake.kept) == 3)
    intake.moved = [[ANEW, DESK_PLACE]]
    del intake.slow[ANEW]
    intake.held_up.clear()
    async with running(chat, intake):
        await intake.until(lambda: len(intake.held_up) == 1)
        intake.slow[DESK_PLACE].set()
        await intake.hears("one", "two", "three")


async def test_a_stop_in_a_topic_made_anew_outranks_what_waits_in_the_deleted_one(
    api: BotApi, chat: TelegramChat, intake: RememberingIntake
) -> None:
    intake.slow[DESK_PLACE] = asyncio.Event()
    async with running(chat, intake):
        for text in ("one", "two"):
            api.say(text, user=USER, chat=FORUM, thread=DESK)
        await intake.until(lambda: len(intake.held_up) == 1)
        intake.moved = [[ANEW, DESK_PLACE]]
        api.say("/stop", user=OPERATOR, chat=FORUM, thread=CAREER)
        await intake.hears("/stop")
        intake.slow[DESK_PLACE].set()
        await intake.hears("/stop", "one")
        await intake.until(lambda: len(intake.finished) == len(intake.kept))
    assert [heard.text for heard in intake.outranked] == ["two"]


async def test_a_strangers_chat_is_not_believed_that_it_was_ours(
    api: BotApi, chat: TelegramChat, intake: RememberingIntake
) -> None:
    api.supergroup(SUPER)
    api.service(SUPER, {"migrate_from_chat_id": -666}, user=STRANGER)
    api.service(SUPER, {"migrate_from_chat_id": -1001234567890}, user=STRANGER)
    api.say("let me in", user=USER, chat=SUPER)
    api.say("heard", user=USER, chat=FORUM, thread=DESK)
    async with running(chat, intake):
        await intake.hears("heard")
    assert intake.happenings == []
    assert not chat.attended(SUPER_PLACE)


async def test_renames_and_openings_are_passed_on_but_not_the_bots_own(
    api: BotApi, chat: TelegramChat, intake: RememberingIntake
) -> None:
    managing(api)
    api.rename_topic(FORUM, DESK, "Reception", user=OPERATOR)
    api.rename_topic(FORUM, CAREER, "Jobs", user=STRANGER)
    api.close_topic(FORUM, DESK, user=USER)
    api.reopen_topic(FORUM, DESK, user=USER)
    async with running(chat, intake):
        await intake.until(lambda: len(intake.happenings) == 3)
        await chat.rename_topic(DESK_PLACE, "Front")
        api.say("after", user=USER, chat=FORUM, thread=DESK)
        await intake.hears("after")
    renamed = [one for one in intake.happenings if isinstance(one, Renamed)]
    assert sorted((one.name, one.person.operator if one.person else None) for one in renamed) == [
        ("Jobs", None),
        ("Reception", True),
    ]
    assert Reopened(DESK_PLACE) in intake.happenings


async def test_it_is_told_where_the_bot_is_let_in_again_or_may_do_more(
    api: BotApi, chat: TelegramChat, intake: RememberingIntake
) -> None:
    api.private(USER)
    api.private(STRANGER)
    for where, status in [(FORUM, "kicked"), (FORUM, "administrator"), (USER, "member"), (STRANGER, "member")]:
        api.member(where, api.bot, status, by=OPERATOR)
    async with running(chat, intake):
        await intake.until(lambda: len(intake.finished) == 4)
    assert intake.happenings == [Admitted(Place(f"telegram:{FORUM}")), Admitted(Place(f"telegram:{USER}"))]


async def test_the_chat_goes_on_as_general_and_back_as_topics_are_switched(
    api: BotApi, chat: TelegramChat, intake: RememberingIntake
) -> None:
    api.say("one", user=USER, chat=FORUM)
    api.say("two", user=USER, chat=FORUM)
    async with running(chat, intake):
        await intake.until(lambda: len(intake.heard) == 2)
        assert intake.happenings == [Migrated(PLAIN, GENERAL)]
        api.switch_topics(FORUM, on=False)
        api.say("three", user=USER, chat=FORUM)
        await intake.until(lambda: len(intake.heard) == 3)
        assert intake.happenings == [Migrated(PLAIN, GENERAL), Migrated(GENERAL, PLAIN)]
    assert [heard.place for heard in intake.heard] == [GENERAL, GENERAL, PLAIN]


async def test_general_is_written_to_without_a_thread(
    api: BotApi, chat: TelegramChat, intake: RememberingIntake
) -> None:
    async with running(chat, intake):
        await api.until(lambda: api.updates.polling)
        await chat.deliver(post("in General", place=GENERAL))
        await chat.deliver(post("in the chat", place=PLAIN))
    assert [sent.text for sent in api.sent(FORUM)] == ["in General", "in the chat"]
