"""Marks are reactions to people's own messages, and cost nothing that matters more."""

import pytest

from adapters.telegram.budget import Rate, Rates
from bridge.ports.chat import NotDelivered
from bridge.post import Mark, PostKind
from tests.adapters.telegram.stage import DESK, FORUM, USER, FlyingClock, RememberingIntake, chat_for, post, running
from tests.fakes.bot_api import BotApi, Fault


@pytest.mark.parametrize(("mark", "emoji"), [(Mark.ACCEPTED, "👀"), (Mark.DONE, "👌"), (Mark.REFUSED, "👎")])
async def test_a_mark_is_a_reaction(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake, mark: Mark, emoji: str
) -> None:
    message = api.say("do it", chat=FORUM, thread=DESK, user=USER)
    async with running(chat_for(api, clock), intake) as chat:
        await intake.hears("do it")
        receipt = intake.heard[0].receipt
        assert await chat.deliver(post(mark.value, kind=PostKind.MARK, receipt=receipt)) == receipt
    assert api.reactions(FORUM, message) == (emoji,)
    assert api.history == []


async def test_a_chat_without_reactions_is_asked_once(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    message = api.say("do it", chat=FORUM, thread=DESK, user=USER)
    mark = post(Mark.DONE.value, kind=PostKind.MARK, receipt=f"{FORUM}/{message}")
    async with running(chat_for(api, clock), intake) as chat:
        await intake.hears("do it")
        api.allow_reactions(FORUM, {"❤"})
        for _ in range(2):
            with pytest.raises(NotDelivered) as refused:
                await chat.deliver(mark)
            assert refused.value.retry_at is None
    assert len(api.calls("setMessageReaction")) == 1


async def test_a_message_that_is_gone_costs_the_others_no_marks(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    message = api.say("do it", chat=FORUM, thread=DESK, user=USER)
    async with running(chat_for(api, clock), intake) as chat:
        await intake.hears("do it")
        with pytest.raises(NotDelivered):
            await chat.deliver(post(Mark.DONE.value, kind=PostKind.MARK, receipt=f"{FORUM}/999999"))
        await chat.deliver(post(Mark.DONE.value, kind=PostKind.MARK, receipt=f"{FORUM}/{message}"))
    assert api.reactions(FORUM, message) == ("👌",)


async def test_marks_yield_to_all_else_in_the_budget(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    message = api.say("do it", chat=FORUM, thread=DESK, user=USER)
    rates = Rates(chat=Rate(10, 60), group=Rate(10, 60), bot=Rate(100, 1))
    async with running(chat_for(api, clock, rates=rates), intake) as chat:
        await intake.hears("do it")
        for number in range(5):
            await chat.deliver(post(f"answer {number}"))
        with pytest.raises(NotDelivered) as put_off:
            await chat.deliver(post(Mark.DONE.value, kind=PostKind.MARK, receipt=f"{FORUM}/{message}"))
        assert put_off.value.retry_at is not None
        await chat.deliver(post("the last answer"))
    assert api.calls("setMessageReaction") == []


async def test_a_mark_that_was_not_confirmed_may_be_made_again(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    message = api.say("do it", chat=FORUM, thread=DESK, user=USER)
    mark = post(Mark.DONE.value, kind=PostKind.MARK, receipt=f"{FORUM}/{message}")
    async with running(chat_for(api, clock), intake) as chat:
        await intake.hears("do it")
        api.fail("setMessageReaction", Fault.CUT_AFTER)
        with pytest.raises(NotDelivered) as unclear:
            await chat.deliver(mark)
        assert unclear.value.retry_at is not None
        await chat.deliver(mark)
    assert api.reactions(FORUM, message) == ("👌",)
