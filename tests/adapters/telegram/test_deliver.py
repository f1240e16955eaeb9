"""A post reaches its own place or none, and what became of it is said for sure."""

import json
from dataclasses import replace

import pytest

from adapters.telegram.budget import Rate, Rates
from bridge.ids import Place
from bridge.ports.chat import Ambiguous, Blocked, Chat, Later, NotDelivered, TooLong
from bridge.post import Button, PostKind
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

GENERAL_PLACE = Place(f"telegram:{FORUM}/general")
PRIVATE_PLACE = Place(f"telegram:{OPERATOR}")
SMALL = Rates(chat=Rate(10, 1000), group=Rate(10, 1000))


async def refused(chat: Chat, **fields: object) -> NotDelivered:
    with pytest.raises(NotDelivered) as caught:
        await chat.deliver(post(**fields))  # type: ignore[arg-type]
    return caught.value


async def test_nothing_is_sent_before_the_connection_is_up(api: BotApi, clock: FlyingClock) -> None:
    chat: Chat = chat_for(api, clock)
    error = await refused(chat)
    assert error.retry_at is not None
    assert error.retry_at > clock.now()


async def test_each_topic_gets_its_own_posts(api: BotApi, clock: FlyingClock, intake: RememberingIntake) -> None:
    async with running(chat_for(api, clock), intake) as chat:
        await api.until(lambda: api.updates.polling)
        await chat.deliver(post("for the desk"))
        await chat.deliver(post("for the career", place=Place(f"telegram:{FORUM}/{CAREER}")))
    assert [sent.text for sent in api.sent(FORUM, DESK)] == ["for the desk"]
    assert [sent.text for sent in api.sent(FORUM, CAREER)] == ["for the career"]
    assert not api.sent(FORUM)


async def test_general_is_reached_without_a_thread(api: BotApi, clock: FlyingClock, intake: RememberingIntake) -> None:
    async with running(chat_for(api, clock), intake) as chat:
        await api.until(lambda: api.updates.polling)
        await chat.deliver(post("to all", place=GENERAL_PLACE))
    assert [sent.text for sent in api.sent(FORUM)] == ["to all"]
    assert "message_thread_id" not in api.calls("sendMessage")[0].fields


async def test_text_is_shown_as_it_is(api: BotApi, clock: FlyingClock, intake: RememberingIntake) -> None:
    text = "List<T> & *stars* _lines_ [link](http://example.org) `code`"
    async with running(chat_for(api, clock), intake) as chat:
        await api.until(lambda: api.updates.polling)
        await chat.deliver(post(text))
    assert api.sent(FORUM, DESK)[0].text == text
    assert "parse_mode" not in api.calls("sendMessage")[0].fields
    assert '"is_disabled": true' in api.calls("sendMessage")[0].fields["link_preview_options"]


@pytest.mark.parametrize("silent", [False, True])
@pytest.mark.parametrize("file", [None, "answer.md"])
async def test_a_silent_post_makes_no_sound(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake, silent: bool, file: str | None
) -> None:
    async with running(chat_for(api, clock), intake) as chat:
        await api.until(lambda: api.updates.polling)
        await chat.deliver(replace(post(), silent=silent, file=file))
    assert api.sent(FORUM, DESK)[0].silent is silent


async def test_a_post_with_a_receipt_is_edited(api: BotApi, clock: FlyingClock, intake: RememberingIntake) -> None:
    async with running(chat_for(api, clock), intake) as chat:
        await api.until(lambda: api.updates.polling)
        receipt = await chat.deliver(post("queued", buttons=(Button("Cancel", "cancel:1"),)))
        assert await chat.deliver(post("done", receipt=receipt)) == receipt
    (sent,) = api.sent(FORUM, DESK)
    assert (sent.text, sent.buttons, sent.edited) == ("done", (), True)


async def test_an_edit_that_changes_nothing_is_success(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    async with running(chat_for(api, clock), intake) as chat:
        await api.until(lambda: api.updates.polling)
        receipt = await chat.deliver(post("same"))
        assert await chat.deliver(post("same", receipt=receipt)) == receipt


async def test_an_edit_of_a_deleted_message_is_never_sent_anew(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    async with running(chat_for(api, clock), intake) as chat:
        await api.until(lambda: api.updates.polling)
        error = await refused(chat, receipt=f"{FORUM}/77")
    assert "Message to edit not found" in error.reason
    assert error.retry_at is None
    assert not api.calls("sendMessage")


async def test_a_receipt_of_another_chat_edits_nothing(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    async with running(chat_for(api, clock), intake) as chat:
        await api.until(lambda: api.updates.polling)
        assert (await refused(chat, receipt="-999/77")).retry_at is None
    assert not api.calls("editMessageText")


async def test_a_deleted_topic_is_reported_and_nothing_goes_elsewhere(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    api.delete_topic(FORUM, DESK)
    async with running(chat_for(api, clock), intake) as chat:
        await api.until(lambda: api.updates.polling)
        error = await refused(chat)
    assert "the topic was deleted" in error.reason
    assert error.retry_at is None
    assert not api.history


async def test_what_telegram_put_outside_its_topic_is_taken_back(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    api.private(OPERATOR, topics={7: "Notes"})
    api.delete_topic(OPERATOR, 7)
    async with running(chat_for(api, clock), intake) as chat:
        await api.until(lambda: api.updates.polling)
        error = await refused(chat, place=Place(f"telegram:{OPERATOR}/7"))
    assert "outside its topic" in error.reason
    assert error.retry_at is None
    assert not api.sent(OPERATOR)


async def test_a_chat_that_is_not_allowed_is_shown_nothing(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    api.group(-55)
    async with running(chat_for(api, clock), intake) as chat:
        await api.until(lambda: api.updates.polling)
        assert (await refused(chat, place=Place("telegram:-55"))).retry_at is None
        assert (await refused(chat, place=Place("web:front-desk"))).retry_at is None
    assert not api.calls("sendMessage")


async def test_a_removed_bot_is_reported(api: BotApi, clock: FlyingClock, intake: RememberingIntake) -> None:
    api.remove_bot(FORUM)
    async with running(chat_for(api, clock), intake) as chat:
        await api.until(lambda: api.updates.polling)
        error = await refused(chat)
    assert "kicked" in error.reason
    assert isinstance(error, Blocked)


async def test_an_unknown_chat_is_reported(api: BotApi, clock: FlyingClock, intake: RememberingIntake) -> None:
    async with running(chat_for(api, clock, chats=frozenset({-77})), intake) as chat:
        await api.until(lambda: api.updates.polling)
        error = await refused(chat, place=Place("telegram:-77"))
    assert "check the chat's id" in error.reason


@pytest.mark.filterwarnings("ignore::telegram.warnings.PTBDeprecationWarning")
async def test_flood_control_halts_that_chat_alone(api: BotApi, clock: FlyingClock, intake: RememberingIntake) -> None:
    api.private(OPERATOR)
    api.flood(FORUM, retry_after=40)
    async with running(chat_for(api, clock), intake) as chat:
        await api.until(lambda: api.updates.polling)
        first = await refused(chat)
        assert first.retry_at == pytest.approx(clock.now() + 40, abs=5)
        asked = len(api.calls("sendMessage"))
        assert (await refused(chat)).retry_at == pytest.approx(first.retry_at, abs=5)
        assert len(api.calls("sendMessage")) == asked
        await chat.deliver(post("elsewhere", place=PRIVATE_PLACE))
        clock.fly(41)
        await chat.deliver(post("at last"))
    assert [sent.text for sent in api.sent(FORUM, DESK)] == ["at last"]


@pytest.mark.parametrize("fault", [Fault.SILENT_AFTER, Fault.CUT_AFTER, Fault.CUT_BEFORE, Fault.ERROR_500])
async def test_a_sending_without_an_answer_is_ambiguous(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake, fault: Fault
) -> None:
    async with running(chat_for(api, clock, patience=IMPATIENT), intake) as chat:
        await api.until(lambda: api.updates.polling)
        api.fail("sendMessage", fault)
        with pytest.raises(Ambiguous):
            await chat.deliver(post())
    assert len(api.calls("sendMessage")) == 1


@pytest.mark.parametrize("fault", [Fault.SILENT_AFTER, Fault.CUT_BEFORE, Fault.ERROR_500])
async def test_an_edit_without_an_answer_is_tried_again(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake, fault: Fault
) -> None:
    async with running(chat_for(api, clock, patience=IMPATIENT), intake) as chat:
        await api.until(lambda: api.updates.polling)
        receipt = await chat.deliver(post("one"))
        api.fail("editMessageText", fault)
        error = await refused(chat, text="two", receipt=receipt)
        assert error.retry_at is not None
        assert await chat.deliver(post("two", receipt=receipt)) == receipt
    assert api.sent(FORUM, DESK)[0].text == "two"


async def test_a_connection_that_was_never_made_is_tried_again_later_and_later(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    async with running(chat_for(api, clock), intake) as chat:
        await api.until(lambda: api.updates.polling)
        await api.down()
        first = await refused(chat)
        later = await refused(chat, attempts=4)
        assert first.retry_at is not None
        assert later.retry_at is not None
        assert later.retry_at - first.retry_at > 10
        await api.up()


async def test_what_is_too_long_or_empty_is_refused_for_good(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    async with running(chat_for(api, clock), intake) as chat:
        await api.until(lambda: api.updates.polling)
        api.fail("sendMessage", Fault.TOO_LARGE)
        for text, told in (("413", TooLong), ("x" * 4097, TooLong), ("😀" * 2049, TooLong), ("  ", NotDelivered)):
            error = await refused(chat, text=text)
            assert (type(error), error.retry_at) == (told, None)
        for part in chat.compose("😀" * 5000):
            await chat.deliver(post(part.text))
    assert "".join(sent.text for sent in api.sent(FORUM, DESK)) == "😀" * 5000


async def test_what_answers_a_message_that_is_gone_is_sent_all_the_same(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    async with running(chat_for(api, clock), intake) as chat:
        await api.until(lambda: api.updates.polling)
        await chat.deliver(post("answer", reply_to=f"{FORUM}/9999"))
    (sent,) = api.sent(FORUM, DESK)
    assert (sent.text, sent.reply_to) == ("answer", None)


async def test_of_a_document_the_buttons_change(api: BotApi, clock: FlyingClock, intake: RememberingIntake) -> None:
    async with running(chat_for(api, clock), intake) as chat:
        await api.until(lambda: api.updates.polling)
        document = post("whole", file="answer.md", buttons=(Button("As a file", "file:1"),))
        receipt = await chat.deliver(document)
        for _ in range(2):
            assert await chat.deliver(replace(document, receipt=receipt, buttons=())) == receipt
    (sent,) = api.sent(FORUM, DESK)
    assert sent.buttons == ()
    assert sent.file is not None


async def test_what_would_disguise_itself_is_made_visible(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    async with running(chat_for(api, clock), intake) as chat:
        await api.until(lambda: api.updates.polling)
        await chat.deliver(post("\x1b[31mred\x1b[0m \u202eesrever\u202c \ud83d"))
    assert api.sent(FORUM, DESK)[0].text == "␛[31mred␛[0m \ufffdesrever\ufffd \ufffd"


async def test_buttons_carry_their_actions(api: BotApi, clock: FlyingClock, intake: RememberingIntake) -> None:
    buttons = (Button("Approve once", "a:1"), Button("Always for this pair", "p:1"), Button("Deny", "d:1"))
    async with running(chat_for(api, clock), intake) as chat:
        await api.until(lambda: api.updates.polling)
        await chat.deliver(post(buttons=buttons))
    assert api.sent(FORUM, DESK)[0].buttons == tuple((button.label, button.action) for button in buttons)


async def test_what_becomes_of_a_handoff_gives_way_once_it_is_shown(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    async with running(chat_for(api, clock, rates=SMALL), intake) as chat:
        await api.until(lambda: api.updates.polling)
        sent = [await chat.deliver(post(kind=PostKind.HANDOFF)) for _ in range(7)]
        assert (await refused(chat, kind=PostKind.HANDOFF, receipt=sent[0], text="answered")).retry_at is not None
        await chat.deliver(post("one more", kind=PostKind.HANDOFF))
    assert len(api.calls("sendMessage")) == 8


async def test_progress_gives_way_before_the_budget_is_spent_and_all_but_replies_do_in_the_end(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    async with running(chat_for(api, clock, rates=SMALL), intake) as chat:
        await api.until(lambda: api.updates.polling)
        for _ in range(6):
            await chat.deliver(post(kind=PostKind.PROGRESS))
        assert (await refused(chat, kind=PostKind.PROGRESS)).retry_at is not None
        await chat.deliver(post("final"))
        await chat.deliver(post("final"))
        assert isinstance(await refused(chat, text="final"), Later)
        for _ in range(2):
            await chat.deliver(post("a status", kind=PostKind.REPLY))
        assert isinstance(await refused(chat, kind=PostKind.REPLY), Later)
        clock.fly(1001)
        await chat.deliver(post("final"))
    assert len(api.calls("sendMessage")) == 11


async def test_a_link_is_a_button_that_leads_there_and_an_answer_stands_below_what_it_answers(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    async with running(chat_for(api, clock), intake) as chat:
        await api.until(lambda: api.updates.polling)
        asked = await chat.deliver(post("→ career: go"))
        url = chat.link(asked)
        assert url == f"https://t.me/c/1234/{asked.partition('/')[2]}"
        await chat.deliver(replace(post("career: gone", buttons=(Button("Open in Desk", url=url),)), reply_to=asked))
        await chat.deliver(replace(post("career: too late"), reply_to=f"{FORUM}/999999"))
    calls = api.calls("sendMessage")
    assert json.loads(calls[1].fields["reply_markup"])["inline_keyboard"] == [[{"text": "Open in Desk", "url": url}]]
    assert json.loads(calls[1].fields["reply_parameters"])["message_id"] == int(asked.partition("/")[2])
    assert [sent.text for sent in api.sent(FORUM, DESK)][-1] == "career: too late"


@pytest.mark.parametrize("receipt", ["111/5", "-4321/5", "nonsense", "-100/", "-1001234/x"])
async def test_messages_outside_of_supergroups_have_no_address(api: BotApi, clock: FlyingClock, receipt: str) -> None:
    assert chat_for(api, clock).link(receipt) is None
