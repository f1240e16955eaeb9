"""What agents write is shown, whatever it is: Telegram takes it, and nothing of it is missing."""

import json

import pytest

from adapters.telegram.parts import MAX_ENTITIES
from adapters.telegram.text import MAX_UNITS, units
from tests.adapters.telegram.nasty import NASTY
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


def squeezed(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize("name", NASTY)
async def test_a_nasty_text_is_shown_whole(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake, name: str
) -> None:
    source, seen = NASTY[name]
    async with running(chat_for(api, clock), intake) as chat:
        await api.until(lambda: api.updates.polling)
        parts = chat.compose(source, rich=True)
        for part in parts:
            await chat.deliver(post(part.text, markup=part.markup))
    sent = api.sent(FORUM, DESK)
    assert [one.text for one in sent] == [part.text for part in parts]
    assert api.losses == []
    assert squeezed("".join(one.text for one in sent)) == squeezed(source if seen is None else seen)
    assert all(one.text.strip() and units(one.text) <= MAX_UNITS for one in sent)
    assert all(len(json.loads(part.markup or "[]")) <= MAX_ENTITIES for part in parts)
