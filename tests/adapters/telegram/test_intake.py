"""No update is lost, and none is handled twice, whatever happens around it."""

import asyncio

import pytest

from adapters.telegram.chat import TelegramChat
from adapters.telegram.config import TelegramConfig
from adapters.telegram.polling import ALLOWED_UPDATES
from bridge.post import Button
from tests.adapters.telegram.stage import (
    CAREER,
    DESK,
    DESK_PLACE,
    FORUM,
    OPERATOR,
    USER,
    FlyingClock,
    RememberingIntake,
    chat_for,
    connected,
    post,
    public,
    running,
)
from tests.fakes.bot_api import BotApi, Fault


@pytest.fixture(autouse=True, params=["polled", "pushed"])
def pushed(request: pytest.FixtureRequest, api: BotApi) -> bool:
    if request.param == "pushed":
        public(api)
    return bool(api.webhook.fronts)


def say(api: BotApi, text: str) -> int:
    return api.say(text, chat=FORUM, thread=DESK, user=USER)


async def crash(chat: TelegramChat, intake: RememberingIntake) -> None:
    """The bridge dies in the midst of the first thing that it hears."""
    intake.slow[DESK_PLACE] = asyncio.Event()
    async with running(chat, intake):
        await intake.until(lambda: bool(intake.kept))
    del intake.slow[DESK_PLACE]


async def test_what_is_said_is_kept_acknowledged_and_heard(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    async with running(chat_for(api, clock), intake):
        say(api, "first")
        say(api, "second")
        await intake.hears("first", "second")
        await api.acknowledged(max(intake.kept))
    assert set(intake.finished) == set(intake.kept)
    assert not any(intake.finished.values())


async def test_what_was_said_while_the_bridge_was_down_is_heard(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    say(api, "early")
    async with running(chat_for(api, clock), intake):
        await intake.hears("early")


async def test_an_update_is_kept_before_it_is_acknowledged(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    async with running(chat_for(api, clock), intake):
        await connected(api)
        intake.away = True
        say(api, "not lost")
        await intake.until(lambda: len(clock.pauses) + api.webhook.refusals > 2)
        assert api.updates.acknowledged < api.updates.pending[0]["update_id"]
        intake.away = False
        await intake.hears("not lost")


async def test_a_crash_between_keeping_and_acknowledging_is_handled_once(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake, pushed: bool
) -> None:
    say(api, "once")
    await crash(chat_for(api, clock), intake)
    assert len(intake.kept) == 1
    assert not intake.finished
    assert pushed or len(api.updates.pending) == 1

    async with running(chat_for(api, clock), intake):
        await intake.hears("once")
        await api.acknowledged(max(intake.kept))
    assert len(intake.kept) == 1


async def test_a_crash_after_acknowledging_is_handled_from_the_store(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    say(api, "kept only here")
    await crash(chat_for(api, clock), intake)
    api.updates.pending.clear()

    async with running(chat_for(api, clock), intake):
        await intake.hears("kept only here")


@pytest.mark.parametrize(
    "unparsable",
    [
        {"message": {"text": "no chat, no date"}},
        {"message": "no object"},
        {"callback_query": {"id": 1}},
        {"a kind of the future": {}},
    ],
)
async def test_an_unparsable_update_holds_up_nothing(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake, unparsable: dict[str, object]
) -> None:
    say(api, "before")
    number = api.raw(unparsable)
    say(api, "after")
    async with running(chat_for(api, clock), intake):
        await intake.hears("before", "after")
        await api.acknowledged(max(intake.kept))
    assert number in intake.finished


async def test_an_update_that_fails_is_set_aside_with_its_error(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    intake.dies = ValueError("a defect")
    say(api, "bad")
    say(api, "good")
    async with running(chat_for(api, clock), intake):
        await intake.hears("good")
    assert intake.finished[min(intake.kept)] == "ValueError: a defect"


async def test_a_store_that_is_away_for_a_while_delays_and_loses_nothing(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    chat = chat_for(api, clock)
    async with running(chat, intake):
        await connected(api)
        intake.away = True
        say(api, "patience")
        await intake.until(lambda: "the disk is full" in str(chat.health()["error"]))
        assert chat.health()["ok"] is False
        intake.away = False
        await intake.hears("patience")
        assert not any(intake.finished.values())


async def test_an_update_that_comes_twice_acts_once(api: BotApi, clock: FlyingClock, intake: RememberingIntake) -> None:
    say(api, "again")
    api.repeat()
    async with running(chat_for(api, clock), intake):
        await intake.hears("again")
        await api.acknowledged(max(intake.kept))
        assert len(intake.kept) == 1


async def test_updates_wait_through_a_restart_of_the_api(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    async with running(chat_for(api, clock), intake):
        await connected(api)
        await api.down()
        say(api, "meanwhile")
        await api.up()
        await intake.hears("meanwhile")


async def test_every_kind_of_update_that_is_wanted_is_named(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    async with running(chat_for(api, clock), intake):
        await connected(api)
    assert api.updates.allowed == list(ALLOWED_UPDATES)


async def test_a_press_is_answered_with_what_it_did(api: BotApi, clock: FlyingClock, intake: RememberingIntake) -> None:
    chat = chat_for(api, clock)
    intake.answer = "Approved. " * 50
    async with running(chat, intake):
        await connected(api)
        await chat.deliver(post("Allow it?", buttons=(Button("Approve", "approve:1"),)))
        callback = api.press(await api.seen(lambda sent: sent.text == "Allow it?"), "approve:1", OPERATOR)
        assert await api.answered(callback) == intake.answer[:200]
    assert [pressed.action for pressed in intake.pressed] == ["approve:1"]


async def test_whoever_presses_a_button_again_and_again_waits_for_nobody_else_and_holds_nobody_up(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    intake.slow[DESK_PLACE] = asyncio.Event()
    async with running(chat_for(api, clock), intake) as chat:
        await connected(api)
        await chat.deliver(post(buttons=(Button("Next", "page:1"),)))
        (shown,) = api.sent(FORUM, DESK)
        presses = [api.press(shown, "page:1", user) for user in (OPERATOR, OPERATOR, OPERATOR, USER)]
        say(api, "after them")
        await intake.until(lambda: bool(intake.held_up) and len(intake.pressed) == 2)
        assert {pressed.person.id for pressed in intake.pressed} == {f"telegram:{OPERATOR}", f"telegram:{USER}"}
        intake.slow[DESK_PLACE].set()
        assert [await api.answered(press) for press in presses] == ["Done"] * 4


async def test_an_answer_that_hangs_holds_up_no_update(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    chat = chat_for(api, clock)
    async with running(chat, intake):
        await connected(api)
        await chat.deliver(post("Allow it?", buttons=(Button("Approve", "approve:1"),)))
        api.fail("answerCallbackQuery", Fault.SILENT_AFTER)
        api.press(await api.seen(lambda sent: sent.text == "Allow it?"), "approve:1", OPERATOR)
        await api.until(lambda: bool(api.answers))
        say(api, "next")
        await intake.hears("next")


async def test_what_takes_long_at_one_place_holds_up_no_other_and_keeps_its_order(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    intake.slow[DESK_PLACE] = over = asyncio.Event()
    async with running(chat_for(api, clock), intake) as chat:
        await connected(api)
        await chat.deliver(post(buttons=(Button("Stop", "stop:1"),)))
        say(api, "/stop")
        say(api, "and now this")
        api.say("elsewhere", chat=FORUM, thread=CAREER, user=USER)
        await intake.hears("elsewhere")
        api.press(api.history[0], "stop:1", OPERATOR)
        await intake.until(lambda: len(intake.pressed) == 1)
        assert chat.health()["ok"] is True
        over.set()
        await intake.hears("elsewhere", "/stop", "and now this")


async def test_who_is_left_out_while_it_runs_is_not_heard_and_nobody_new_is(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    async with running(chat_for(api, clock), intake) as chat:
        say(api, "one")
        await intake.hears("one")
        everybody = frozenset({OPERATOR, 999})
        chat.narrow(TelegramConfig("another", "elsewhere", everybody, frozenset(), frozenset({FORUM, -1})))
        assert not chat.may_talk("telegram:999", DESK_PLACE)
        say(api, "two")
        api.say("three", chat=FORUM, thread=DESK, user=999)
        api.say("four", chat=FORUM, thread=DESK, user=OPERATOR)
        await intake.hears("one", "four")
