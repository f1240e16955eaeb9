"""Who is heard, where they speak, and what of it are words."""

import json

import pytest

from adapters.telegram.config import TelegramConfig
from adapters.telegram.incoming import Reader, Said
from bridge.ids import Place
from bridge.ports.chat import Heard, Person
from bridge.post import Button
from tests.adapters.telegram.stage import (
    CAREER,
    DESK,
    DESK_PLACE,
    FORUM,
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

GROUP, SUPERGROUP = -55, -100055
ALLOWED = frozenset({FORUM, GROUP, SUPERGROUP})


async def heard(api: BotApi, clock: FlyingClock, intake: RememberingIntake) -> list[Heard]:
    """What is heard of all that has been said by now."""
    last = max(update["update_id"] for update in api.updates.pending)
    async with running(chat_for(api, clock, chats=ALLOWED), intake):
        await intake.until(lambda: last in intake.finished)
    assert not any(intake.finished.values())
    return intake.heard


async def test_a_topic_is_a_place(api: BotApi, clock: FlyingClock, intake: RememberingIntake) -> None:
    message = api.say("hello", chat=FORUM, thread=DESK, user=USER)
    (said,) = await heard(api, clock, intake)
    assert said == Heard(
        place=DESK_PLACE,
        person=Person("telegram:222", "User 222", operator=False),
        text="hello",
        key=f"telegram:{FORUM}:{message}@{api.bot}",
        title="Front Desk",
        receipt=f"{FORUM}/{message}",
    )


async def test_what_a_person_passes_on_is_told_from_the_persons_own_words(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    api.say("/policy resume", chat=FORUM, thread=DESK, user=OPERATOR, forwarded_from=STRANGER)
    api.say("/policy resume", chat=FORUM, thread=DESK, user=OPERATOR, via_bot=True)
    api.say("/policy resume", chat=FORUM, thread=DESK, user=OPERATOR)
    assert [said.passed_on for said in await heard(api, clock, intake)] == [True, True, False]


async def test_general_is_a_silent_place(api: BotApi, clock: FlyingClock, intake: RememberingIntake) -> None:
    api.say("to all", chat=FORUM, user=USER)
    (said,) = await heard(api, clock, intake)
    assert (said.place, said.silent) == (Place(f"telegram:{FORUM}/general"), True)


async def test_private_chats_and_plain_groups_are_places_as_a_whole(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    api.group(GROUP)
    api.say("alone", user=USER)
    api.say("together", chat=GROUP, user=USER)
    assert [(said.place, said.silent) for said in await heard(api, clock, intake)] == [
        (Place(f"telegram:{USER}"), False),
        (Place(f"telegram:{GROUP}"), False),
    ]


async def test_a_topic_of_a_private_chat_is_a_place(api: BotApi, clock: FlyingClock, intake: RememberingIntake) -> None:
    api.private(USER, topics={7: "Notes"})
    api.say("noted", chat=USER, thread=7, user=USER)
    (said,) = await heard(api, clock, intake)
    assert (said.place, said.title) == (Place(f"telegram:{USER}/7"), "Notes")


async def test_the_thread_of_an_ordinary_reply_is_no_topic(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    api.supergroup(SUPERGROUP)
    first = api.say("question", chat=SUPERGROUP, user=USER)
    api.say("answer", chat=SUPERGROUP, user=OPERATOR, reply_to=first)
    assert "message_thread_id" in api.updates.pending[1]["message"]
    said = await heard(api, clock, intake)
    assert {one.place for one in said} == {Place(f"telegram:{SUPERGROUP}")}
    assert [one.reply_to for one in said] == [None, f"{SUPERGROUP}/{first}"]


async def test_a_reply_in_general_stays_in_general(api: BotApi, clock: FlyingClock, intake: RememberingIntake) -> None:
    first = api.say("question", chat=FORUM, user=USER)
    api.say("answer", chat=FORUM, user=USER, reply_to=first)
    assert {one.place for one in await heard(api, clock, intake)} == {Place(f"telegram:{FORUM}/general")}


async def test_a_reply_names_the_receipt_of_its_post(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    async with running(chat_for(api, clock), intake) as chat:
        await api.until(lambda: api.updates.polling)
        receipt = await chat.deliver(post("which one?"))
        shown = await api.seen(lambda sent: sent.text == "which one?")
        api.say("this one", chat=FORUM, thread=DESK, user=USER, reply_to=shown.message_id)
        await intake.hears("this one")
    assert intake.heard[0].reply_to == receipt


async def test_strangers_get_silence(api: BotApi, clock: FlyingClock, intake: RememberingIntake) -> None:
    api.group(-77)
    api.say("let me in", chat=FORUM, thread=DESK, user=STRANGER)
    api.say("let me in", user=STRANGER)
    api.say("in a group that is not allowed", chat=-77, user=OPERATOR)
    api.say("I am a bot", chat=FORUM, thread=DESK, user=USER, bot=True)
    api.say("I am nobody", chat=FORUM, thread=DESK, user=USER, anonymous=True)
    assert await heard(api, clock, intake) == []
    assert not api.history
    assert not api.calls("sendChatAction")


async def test_an_operator_is_known_as_one(api: BotApi, clock: FlyingClock, intake: RememberingIntake) -> None:
    api.say("hello", chat=FORUM, thread=DESK, user=OPERATOR)
    (said,) = await heard(api, clock, intake)
    assert said.person == Person("telegram:111", "User 111", operator=True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("/ask@tieline_bot career hi", "/ask career hi"),
        ("/stop@Tieline_Bot", "/stop"),
        ("/stop", "/stop"),
        ("mail me@tieline_bot", "mail me@tieline_bot"),
    ],
)
async def test_a_command_to_this_bot_loses_its_name(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake, text: str, words: str
) -> None:
    api.say(text, chat=FORUM, thread=DESK, user=USER)
    assert [said.text for said in await heard(api, clock, intake)] == [words]


async def test_a_command_to_another_bot_is_not_heard(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    api.say("/stop@other_bot", chat=FORUM, thread=DESK, user=USER)
    assert await heard(api, clock, intake) == []


async def test_the_words_of_a_file_are_heard(api: BotApi, clock: FlyingClock, intake: RememberingIntake) -> None:
    api.say(caption="look at this", chat=FORUM, thread=DESK, user=USER)
    assert [said.text for said in await heard(api, clock, intake)] == ["look at this"]


async def test_an_edited_command_does_not_run_again(api: BotApi, clock: FlyingClock, intake: RememberingIntake) -> None:
    async with running(chat_for(api, clock), intake):
        await api.until(lambda: api.updates.polling)
        message = api.say("/ask career hi", chat=FORUM, thread=DESK, user=USER)
        await intake.hears("/ask career hi")
        api.edit(FORUM, message, "/ask career hello")
        await intake.until(lambda: len(intake.finished) == 2)
    assert [said.text for said in intake.heard] == ["/ask career hi"]


async def test_a_press_tells_person_place_and_post(api: BotApi, clock: FlyingClock, intake: RememberingIntake) -> None:
    async with running(chat_for(api, clock), intake) as chat:
        await api.until(lambda: api.updates.polling)
        receipt = await chat.deliver(post("Allow?", buttons=(Button("Yes", "yes:1"),)))
        shown = await api.seen(lambda sent: sent.text == "Allow?")
        api.press(shown, "yes:1", OPERATOR)
        await intake.until(lambda: bool(intake.pressed))
    (pressed,) = intake.pressed
    assert (pressed.place, pressed.action, pressed.receipt) == (DESK_PLACE, "yes:1", receipt)
    assert (pressed.person.id, pressed.person.operator) == ("telegram:111", True)


async def test_a_press_on_an_old_message_is_led_to_the_place_of_its_post(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    async with running(chat_for(api, clock), intake) as chat:
        await api.until(lambda: api.updates.polling)
        receipt = await chat.deliver(post("Allow?", buttons=(Button("Yes", "yes:1"),)))
        intake.places[receipt] = DESK_PLACE
        api.press(await api.seen(lambda sent: sent.text == "Allow?"), "yes:1", OPERATOR, old=True)
        await intake.until(lambda: bool(intake.pressed))
    assert intake.pressed[0].place == DESK_PLACE


async def test_a_press_by_a_stranger_gets_silence(api: BotApi, clock: FlyingClock, intake: RememberingIntake) -> None:
    async with running(chat_for(api, clock), intake) as chat:
        await api.until(lambda: api.updates.polling)
        await chat.deliver(post("Allow?", buttons=(Button("Yes", "yes:1"),)))
        api.press(await api.seen(lambda sent: sent.text == "Allow?"), "yes:1", STRANGER)
        await intake.until(lambda: bool(intake.finished))
    assert not intake.pressed
    assert not api.calls("answerCallbackQuery")


async def test_who_may_talk_and_who_attends_is_known_without_a_connection(api: BotApi, clock: FlyingClock) -> None:
    chat = chat_for(api, clock)
    assert chat.scheme == "telegram"
    assert chat.may_talk("telegram:222", DESK_PLACE)
    assert chat.may_talk("telegram:222", Place("telegram:222"))
    assert not chat.may_talk("telegram:222", Place("telegram:111"))
    assert not chat.may_talk("telegram:222", Place("telegram:-77"))
    assert not chat.may_talk("telegram:999", DESK_PLACE)
    assert not chat.may_talk("web:222", DESK_PLACE)
    assert chat.attended(Place(f"telegram:{FORUM}/{CAREER}"))
    assert chat.attended(Place("telegram:111"))
    assert not chat.attended(Place("telegram:222"))
    assert not chat.attended(Place("telegram:-77"))
    assert chat.reports() == [Place("telegram:111")]


@pytest.mark.parametrize(("chat", "same"), [(USER, False), (-5, False), (-1001234567890, True)])
async def test_what_another_bot_hears_later_is_not_taken_for_what_the_one_before_has_heard(
    api: BotApi, chat: int, *, same: bool
) -> None:
    """Only supergroups number their messages for all."""
    api.private(USER) if chat > 0 else api.forum(chat, topics={})
    api.say("hello", chat=chat, user=USER)
    config = TelegramConfig(api.token, users=frozenset({USER}), chats=frozenset({chat}))
    keys = set()
    for bot in (1, 2):
        said = Reader(lambda: config, "tieline_bot", bot).read(json.dumps(api.updates.pending[-1]))
        assert isinstance(said, Said)
        keys.add(said.heard.key)
    assert len(keys) == (1 if same else 2)
