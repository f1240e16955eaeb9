"""A post is shown as it is formatted, or else plainly; a document is a document."""

import json

import pytest

from adapters.telegram.budget import Rate, Rates
from bridge.ports.chat import NotDelivered
from tests.adapters.telegram.stage import (
    DESK,
    FORUM,
    FlyingClock,
    RememberingIntake,
    chat_for,
    post,
    running,
)
from tests.fakes.bot_api import BotApi

SOURCE = "**bold** `code` [link](https://a.io/x)"


def wrong(*more: dict[str, object]) -> str:
    """What Telegram refuses: an entity that ends after the text."""
    return json.dumps([*more, {"type": "bold", "offset": 0, "length": 999}])


async def test_what_is_rich_is_shown_formatted_and_what_is_not_as_it_is(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    async with running(chat_for(api, clock), intake) as chat:
        await api.until(lambda: api.updates.polling)
        for rich in (True, False):
            (part,) = chat.compose(SOURCE, rich=rich)
            await chat.deliver(post(part.text, markup=part.markup))
    formatted, plain = api.sent(FORUM, DESK)
    assert formatted.text == "bold code link"
    assert [formatted.marked(kind) for kind in ("bold", "code", "text_link")] == [["bold"], ["code"], ["link"]]
    assert (plain.text, plain.entities) == (SOURCE, ())


async def test_a_revision_is_formatted_too(api: BotApi, clock: FlyingClock, intake: RememberingIntake) -> None:
    async with running(chat_for(api, clock), intake) as chat:
        await api.until(lambda: api.updates.polling)
        receipt = await chat.deliver(post("at first"))
        (part,) = chat.compose("**then**", rich=True)
        await chat.deliver(post(part.text, markup=part.markup, receipt=receipt))
    (sent,) = api.sent(FORUM, DESK)
    assert (sent.text, sent.marked("bold")) == ("then", ["then"])


async def test_formatting_that_is_refused_is_left_out_at_once_and_links_are_written_out(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    linked = {"type": "text_link", "offset": 3, "length": 4, "url": "https://a.io"}
    async with running(chat_for(api, clock), intake) as chat:
        await api.until(lambda: api.updates.polling)
        receipt = await chat.deliver(post("😀 link", markup=wrong(linked)))
        await chat.deliver(post("😀 edit", markup=wrong(linked), receipt=receipt))
    (sent,) = api.sent(FORUM, DESK)
    assert (sent.text, sent.entities) == ("😀 edit (https://a.io)", ())
    assert [one.text for one in api.history] == ["😀 link (https://a.io)", "😀 edit (https://a.io)"]


async def test_formatting_that_was_refused_is_not_tried_again_where_the_budget_allows_one_request_only(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    one = Rates(chat=Rate(1, 100), group=Rate(1, 100), bot=Rate(10, 1))
    async with running(chat_for(api, clock, rates=one), intake) as chat:
        await api.until(lambda: api.updates.polling)
        with pytest.raises(NotDelivered) as later:
            await chat.deliver(post("text", markup=wrong()))
        assert later.value.retry_at is not None
        clock.fly(later.value.retry_at - clock.now())
        await chat.deliver(post("text", markup=wrong(), attempts=1))
    assert [sent.text for sent in api.sent(FORUM, DESK)] == ["text"]
    assert len(api.calls("sendMessage")) == 2


async def test_a_document_stands_below_what_it_belongs_to(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    text = "# All of it\n\n" + "Ä😀\ud83d\n" * 3000
    async with running(chat_for(api, clock), intake) as chat:
        await api.until(lambda: api.updates.polling)
        receipt = await chat.deliver(post("the beginning"))
        await chat.deliver(post(text, file="answer.md", reply_to=receipt))
    shown, document = api.sent(FORUM, DESK)
    assert document.file is not None
    assert (document.file.name, document.text, document.reply_to) == ("answer.md", "", shown.message_id)
    assert document.file.data.decode() == text.replace("\ud83d", "?")
