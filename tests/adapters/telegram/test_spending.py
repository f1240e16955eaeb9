"""What was sent lately, and the pauses that Telegram has asked for, hold over any number of restarts."""

import asyncio
from collections import Counter

import pytest

from adapters.telegram.budget import Rate, Rates
from adapters.telegram.chat import TelegramChat
from bridge.ids import Place
from bridge.ports.chat import Later, NotDelivered
from bridge.post import PostKind
from tests.adapters.telegram.stage import (
    CAREER,
    DESK,
    FORUM,
    IMPATIENT,
    OPERATOR,
    FlyingClock,
    RememberingIntake,
    chat_for,
    post,
    running,
)
from tests.fakes.bot_api import BotApi, Fault

PLACES = [Place(f"telegram:{FORUM}/{thread}") for thread in (DESK, CAREER)]
GROUP = Rates(chat=Rate(1000, 1), group=Rate(20, 60))


async def ready(api: BotApi) -> None:
    await api.until(lambda: api.updates.polling)


async def later(chat: TelegramChat, **fields: object) -> float:
    with pytest.raises(Later) as refused:
        await chat.deliver(post(**fields))  # type: ignore[arg-type]
    return refused.value.until


async def test_the_budget_is_one_for_all_topics_and_over_restarts(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    sent = 0
    began = clock.now()
    for life in range(6):
        async with running(chat_for(api, clock, rates=GROUP), intake) as chat:
            await ready(api)
            for number in range(4):
                try:
                    await chat.deliver(post(f"{life}/{number}", place=PLACES[number % 2]))
                    sent += 1
                except Later as refused:
                    assert refused.until > began + 59  # noqa: PT017 - the others are not refused
    assert sent == 17
    async with running(chat_for(api, clock, rates=GROUP), intake) as chat:
        await ready(api)
        until = await later(chat)
        clock.fly(until - clock.now())
        await chat.deliver(post("at last"))
    assert len(api.calls("sendMessage")) == 18


async def test_nothing_leaves_before_it_is_stored_that_it_did(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    async with running(chat_for(api, clock), intake) as chat:
        await ready(api)
        intake.away = True
        with pytest.raises(NotDelivered) as refused:
            await chat.deliver(post())
        assert refused.value.retry_at is not None
        assert not api.calls("sendMessage")
        intake.away = False
        await chat.deliver(post())


async def test_what_was_on_its_way_as_the_bridge_died_counts(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    rates = Rates(chat=Rate(1000, 1), group=Rate(1, 60))
    async with running(chat_for(api, clock, rates=rates), intake) as chat:
        await ready(api)
        api.fail("sendMessage", Fault.SILENT_AFTER)
        sending = asyncio.create_task(chat.deliver(post()))
        await api.until(lambda: len(api.calls("sendMessage")) == 1)
    clock.fly(30)
    async with running(chat_for(api, clock, rates=rates), intake) as chat:
        await ready(api)
        assert await later(chat) > clock.now() + 30
    sending.cancel()
    await asyncio.wait([sending])


@pytest.mark.filterwarnings("ignore::telegram.warnings.PTBDeprecationWarning")
async def test_a_pause_holds_to_the_second_after_a_restart_and_for_its_chat_alone(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    api.private(OPERATOR)
    api.flood(FORUM, retry_after=40)
    async with running(chat_for(api, clock), intake) as chat:
        await ready(api)
        with pytest.raises(NotDelivered) as refused:
            await chat.deliver(post())
    until = refused.value.retry_at
    assert until is not None
    async with running(chat_for(api, clock), intake) as chat:
        await ready(api)
        for kind in (PostKind.FINAL, PostKind.REPLY, PostKind.PROGRESS):
            for place in PLACES:
                assert await later(chat, kind=kind, place=place) == pytest.approx(until, abs=0.1)
        await chat.deliver(post("elsewhere", place=Place(f"telegram:{OPERATOR}")))
        clock.fly(until - clock.now())
        await chat.deliver(post("at last"))
    assert Counter(call.fields["chat_id"] for call in api.calls("sendMessage")) == {str(FORUM): 2, str(OPERATOR): 1}


@pytest.mark.filterwarnings("ignore::telegram.warnings.PTBDeprecationWarning")
async def test_an_earlier_pause_is_not_cut_short_and_a_clock_that_is_set_back_does_not_prolong_it(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    async with running(chat_for(api, clock), intake) as chat:
        await ready(api)
        api.flood(FORUM, retry_after=40)
        api.flood(FORUM, retry_after=5)
        results = await asyncio.gather(*(chat.deliver(post()) for _ in range(2)), return_exceptions=True)
        assert all(isinstance(one, NotDelivered) for one in results)
        assert await later(chat) == pytest.approx(clock.now() + 40, abs=5)
        clock.fly(-86_400)
        assert await later(chat) <= clock.now() + 41


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"spent": 7}', '{"halted": [1]}', '{"spent": ["x"]}', "nonsense", "7"]
)
async def test_a_note_that_cannot_be_read_holds_nothing_up(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake, text: str
) -> None:
    intake.notes |= {f"budget:{FORUM}": text, "budget:": text, "budget:what": text, "other": text}
    async with running(chat_for(api, clock, patience=IMPATIENT), intake) as chat:
        await ready(api)
        await chat.deliver(post())


async def test_nothing_is_sent_while_it_is_not_known_what_was(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    intake.away = True
    async with running(chat_for(api, clock), intake) as chat:
        await clock.paused(2)
        assert "cannot be read" in str(chat.health()["error"])
        with pytest.raises(NotDelivered):
            await chat.deliver(post())
        intake.away = False
        await ready(api)
        await chat.deliver(post())
    assert len(api.calls("sendMessage")) == 1


async def test_many_at_once_are_stored_together(api: BotApi, clock: FlyingClock, intake: RememberingIntake) -> None:
    kept = 0
    remember = intake.remember

    async def slowly(source: str, key: str, text: str) -> None:
        nonlocal kept
        kept += not key.startswith("menu:")
        await asyncio.sleep(0)
        await remember(source, key, text)

    intake.remember = slowly  # type: ignore[method-assign]
    async with running(chat_for(api, clock), intake) as chat:
        await ready(api)
        await asyncio.gather(*(chat.deliver(post()) for _ in range(8)))
    assert len(api.calls("sendMessage")) == 8
    assert kept <= 2
