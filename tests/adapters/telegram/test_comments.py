"""What a person forwards together with a comment is heard with it: the comment as their words, the rest as data."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from adapters.files import HomeFiles
from bridge.ports.chat import Heard
from tests.adapters.telegram.stage import (
    CAREER,
    DESK,
    FORUM,
    OPERATOR,
    USER,
    FlyingClock,
    Patient,
    RememberingIntake,
    chat_for,
    running,
)
from tests.fakes.bot_api import BotApi
from tests.fakes.bot_api.media import Item

Hears = Callable[[int], Any]


@pytest.fixture
async def patient(api: BotApi, intake: RememberingIntake) -> AsyncIterator[Patient]:
    clock = Patient()
    async with running(chat_for(api, clock), intake):
        await api.until(lambda: api.updates.polling)
        yield clock


@pytest.fixture
def hears(api: BotApi, clock: FlyingClock, intake: RememberingIntake, tmp_path: Path) -> Hears:
    """What is made of so many updates that came while the bridge was away."""

    async def hear(updates: int) -> list[Heard]:
        async with running(chat_for(api, clock, files=HomeFiles(tmp_path / "files")), intake):
            await intake.until(lambda: len(intake.finished) == updates)
        return intake.heard

    return hear


def data(heard: Heard) -> list[str | None]:
    return [one.text if one.text is not None else one.name for one in heard.attachments]


def forwards(api: BotApi, *texts: str, user: int = USER, thread: int = DESK) -> list[int]:
    return [api.say(text, chat=FORUM, thread=thread, user=user, forwarded_from=999) for text in texts]


async def test_a_comment_is_heard_with_what_it_is_about(api: BotApi, hears: Hears) -> None:
    api.say("is this true?", chat=FORUM, thread=DESK, user=USER)
    forwards(api, "rates fell", "rates rose")
    (heard,) = await hears(3)
    assert (heard.text, data(heard), heard.passed_on) == ("is this true?", ["rates fell", "rates rose"], False)
    assert [(piece.chars, piece.attachments) for piece in heard.pieces] == [(len("is this true?"), 0), (0, 1), (0, 1)]


async def test_what_is_forwarded_at_once_without_a_comment_is_one_input(api: BotApi, hears: Hears) -> None:
    forwards(api, "rates fell", "rates rose")
    (heard,) = await hears(2)
    assert (heard.text, data(heard), heard.passed_on) == ("", ["rates fell", "rates rose"], True)


async def test_a_forwarded_album_goes_with_its_comment(api: BotApi, hears: Hears) -> None:
    api.say("who is this?", chat=FORUM, thread=DESK, user=USER)
    items = [Item("photo", b"one", caption="at sea"), Item("photo", b"two")]
    api.album(items, chat=FORUM, thread=DESK, user=USER, forwarded_from=999)
    forwards(api, "a friend")
    (heard,) = await hears(4)
    assert heard.text == "who is this?"
    assert [one.path is not None for one in heard.attachments] == [False, True, True, False]
    assert [one.text for one in heard.attachments if one.text] == ["at sea", "a friend"]


async def test_a_comment_that_hands_work_on_takes_along_what_is_forwarded(api: BotApi, hears: Hears) -> None:
    api.say("/ask career is this true?", chat=FORUM, thread=DESK, user=USER)
    forwards(api, "rates fell")
    (heard,) = await hears(2)
    assert (heard.text, data(heard)) == ("/ask career is this true?", ["rates fell"])


@pytest.mark.parametrize(
    ("first", "then"),
    [
        pytest.param({}, {"user": OPERATOR}, id="by another person"),
        pytest.param({}, {"thread": CAREER}, id="in another topic"),
        pytest.param({}, {"text": "/stop"}, id="a command that somebody else has written"),
        pytest.param({}, {"more": {"date": 1_900_000_000}}, id="later"),
        pytest.param({"text": "/stop"}, {}, id="after a command that takes nothing along"),
        pytest.param({"reply_to": True}, {}, id="after an answer to something else"),
        pytest.param({"caption": "mine", "text": None}, {}, id="after a photo"),
        pytest.param({}, {"forwarded_from": None}, id="not forwarded"),
    ],
)
async def test_only_what_is_forwarded_with_it_belongs_to_a_comment(
    api: BotApi, hears: Hears, first: dict[str, Any], then: dict[str, Any]
) -> None:
    replied = api.say("much earlier", chat=FORUM, thread=DESK, user=OPERATOR, more={"date": 1_700_000_000})
    if first.get("reply_to"):
        first = {**first, "reply_to": replied}
    api.say(**{"text": "true?", "chat": FORUM, "thread": DESK, "user": USER, **first})
    api.say(**{"text": "fell", "chat": FORUM, "thread": DESK, "user": USER, "forwarded_from": 999, **then})
    assert len(await hears(3)) == 3


async def test_the_words_of_a_forwarded_command_are_nobodys_own(api: BotApi, hears: Hears) -> None:
    api.say("look", chat=FORUM, thread=DESK, user=USER)
    forwards(api, "/policy resume")
    comment, command = await hears(2)
    assert (comment.text, comment.attachments) == ("look", ())
    assert command.passed_on


async def test_a_forward_is_waited_for_a_moment(api: BotApi, patient: Patient, intake: RememberingIntake) -> None:
    api.say("is this true?", chat=FORUM, thread=DESK, user=USER)
    await patient.waited_for(1)
    forwards(api, "rates fell")
    await intake.until(lambda: len(intake.kept) == 2)
    assert intake.heard == []
    patient.pass_by()
    await patient.waited_for(2)
    patient.pass_by()
    await intake.until(lambda: len(intake.finished) == 2)
    assert [data(heard) for heard in intake.heard] == [["rates fell"]]


async def test_one_word_after_another_waits_for_nothing(
    api: BotApi, patient: Patient, intake: RememberingIntake
) -> None:
    """Once a person has said something else, no forward of what came before is on its way."""
    api.say("one", chat=FORUM, thread=DESK, user=USER)
    await patient.waited_for(1)
    for text in ("two", "three"):
        api.say(text, chat=FORUM, thread=DESK, user=USER)
    await intake.until(lambda: len(intake.kept) == 3)
    patient.pass_by()
    await intake.hears("one", "two")
    await patient.waited_for(2)
    patient.pass_by()
    await intake.hears("one", "two", "three")


async def test_a_stop_amid_the_wait_comes_before_the_comment(
    api: BotApi, patient: Patient, intake: RememberingIntake
) -> None:
    api.say("begin", chat=FORUM, thread=DESK, user=OPERATOR)
    await patient.waited_for(1)
    api.say("/stop", chat=FORUM, thread=DESK, user=OPERATOR)
    await intake.until(lambda: bool(intake.outranked))
    patient.pass_by()
    await intake.until(lambda: len(intake.finished) == 2)
    assert [heard.text for heard in intake.heard] == ["/stop"]


async def test_a_comment_that_is_edited_meanwhile_reads_as_it_does_then(
    api: BotApi, patient: Patient, intake: RememberingIntake
) -> None:
    comment = api.say("is this ture?", chat=FORUM, thread=DESK, user=USER)
    await patient.waited_for(1)
    forwards(api, "rates fell")
    api.edit(FORUM, comment, "is this true?")
    await intake.until(lambda: len(intake.kept) == 3)
    patient.pass_by()
    await patient.waited_for(2)
    patient.pass_by()
    await intake.until(lambda: len(intake.finished) == 3)
    assert [(heard.text, data(heard)) for heard in intake.heard] == [("is this true?", ["rates fell"])]


async def test_a_crash_amid_the_wait_parts_nothing(api: BotApi, intake: RememberingIntake) -> None:
    clock = Patient()
    api.say("is this true?", chat=FORUM, thread=DESK, user=USER)
    forwards(api, "rates fell")
    async with running(chat_for(api, clock), intake):
        await clock.waited_for(1)
    assert intake.finished == {}
    async with running(chat_for(api, FlyingClock()), intake):
        await intake.until(lambda: len(intake.finished) == 2)
    assert [data(heard) for heard in intake.heard] == [["rates fell"]]
