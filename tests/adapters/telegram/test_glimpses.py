"""Signs of life: somebody types, and in a private chat the text grows."""

import pytest

from adapters.telegram.budget import Rate, Rates
from bridge.ids import Place
from tests.adapters.telegram.stage import (
    DESK,
    DESK_PLACE,
    FORUM,
    OPERATOR,
    STRANGER,
    FlyingClock,
    RememberingIntake,
    chat_for,
    post,
    running,
)
from tests.fakes.bot_api import BotApi, Fault

PRIVATE = Place(f"telegram:{OPERATOR}")


async def test_a_topic_shows_that_somebody_types_there(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    async with running(chat_for(api, clock), intake) as chat:
        await api.until(lambda: api.updates.polling)
        assert not await chat.glimpse(DESK_PLACE, "turn", "")
        assert not await chat.glimpse(DESK_PLACE, "turn", "The text is in no draft here.")
        assert not await chat.glimpse(Place(f"telegram:{FORUM}/general"), "turn", "")
    calls = api.calls("sendChatAction")
    assert [call.fields["message_thread_id"] for call in calls] == [str(DESK)] * 2
    assert not api.drafts


async def test_a_private_chat_shows_the_text_that_grows_as_one_draft(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    api.private(OPERATOR)
    async with running(chat_for(api, clock), intake) as chat:
        await api.until(lambda: api.updates.polling)
        assert not await chat.glimpse(PRIVATE, "turn", " ")
        assert await chat.glimpse(PRIVATE, "turn", "It")
        assert await chat.glimpse(PRIVATE, "turn", "It grows" + "🙂" * 5_000)
    first, second = api.drafts
    assert first.draft_id == second.draft_id != 0
    assert first.text == "It"


async def test_where_drafts_are_not_taken_there_is_typing_from_then_on(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    """Nobody has written to the bot in that private chat."""
    async with running(chat_for(api, clock), intake) as chat:
        await api.until(lambda: api.updates.polling)
        assert not await chat.glimpse(PRIVATE, "turn", "It")
        assert not await chat.glimpse(PRIVATE, "turn", "It grows")
    assert len(api.calls("sendMessageDraft")) == 1
    assert len(api.calls("sendChatAction")) == 1


@pytest.mark.parametrize("fault", [Fault.ERROR_500, Fault.CUT_BEFORE])
async def test_nothing_is_tried_again_and_nothing_raised(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake, fault: Fault
) -> None:
    api.fail("sendChatAction", fault)
    chat = chat_for(api, clock)
    assert not await chat.glimpse(DESK_PLACE, "turn", "")
    async with running(chat, intake):
        await api.until(lambda: api.updates.polling)
        assert not await chat.glimpse(DESK_PLACE, "turn", "")
        assert not await chat.glimpse(Place(f"telegram:{STRANGER}"), "turn", "")
    assert len(api.calls("sendChatAction")) == 1


async def test_it_leaves_the_budget_to_what_must_be_said(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    rates = Rates(chat=Rate(10, 60), group=Rate(10, 60), bot=Rate(100, 1))
    async with running(chat_for(api, clock, rates=rates), intake) as chat:
        await api.until(lambda: api.updates.polling)
        for _ in range(10):
            await chat.glimpse(DESK_PLACE, "turn", "")
        assert len(api.calls("sendChatAction")) <= 5
        await chat.deliver(post("the answer"))
