"""What people say at once is heard at once: albums, and long texts that their apps have cut."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.files import HomeFiles
from adapters.telegram.chat import TelegramChat
from bridge.message import Attachment, Piece
from tests.adapters.telegram.stage import (
    DESK,
    DESK_PLACE,
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

LONG = "lorem ipsum " * 800


@pytest.fixture
def files(tmp_path: Path) -> HomeFiles:
    return HomeFiles(tmp_path / "files")


@pytest.fixture
async def patient(api: BotApi, intake: RememberingIntake, files: HomeFiles) -> AsyncIterator[Patient]:
    clock = Patient()
    async with running(chat_for(api, clock, files=files), intake):
        await api.until(lambda: api.updates.polling)
        yield clock


def content(one: Attachment) -> bytes:
    return Path(one.path or "").read_bytes()


def photos(*captions: str | None) -> list[Item]:
    return [Item("photo", f"photo {number}".encode(), caption=caption) for number, caption in enumerate(captions)]


async def crash(chat: TelegramChat, intake: RememberingIntake) -> None:
    """The bridge dies in the midst of the first thing that it hears."""
    intake.slow[DESK_PLACE] = asyncio.Event()
    async with running(chat, intake):
        await intake.until(lambda: bool(intake.held_up))
    del intake.slow[DESK_PLACE]


async def test_an_album_is_one_input_with_its_caption_once(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake, files: HomeFiles
) -> None:
    ids = api.album(photos("my trip", None, None), chat=FORUM, thread=DESK, user=USER)
    async with running(chat_for(api, clock, files=files), intake):
        await intake.hears("my trip")
        await intake.until(lambda: len(intake.finished) == 3)
    (heard,) = intake.heard
    assert [content(one) for one in heard.attachments] == [b"photo 0", b"photo 1", b"photo 2"]
    chars = [len("my trip"), 0, 0]
    assert heard.pieces == tuple(
        Piece(f"telegram:{FORUM}:{one}@{api.bot}", size, 1) for one, size in zip(ids, chars, strict=True)
    )
    assert heard.key == heard.pieces[0].key


async def test_parts_that_come_one_after_the_other_are_waited_for(
    api: BotApi, patient: Patient, intake: RememberingIntake
) -> None:
    first, second = photos("my trip", None)
    group = {"more": {"media_group_id": "g"}}
    api.send_file(first, chat=FORUM, thread=DESK, user=USER, **group)  # type: ignore[arg-type]
    await patient.waited_for(1)
    api.send_file(second, chat=FORUM, thread=DESK, user=USER, **group)  # type: ignore[arg-type]
    await intake.until(lambda: len(intake.kept) == 2)
    assert intake.heard == []
    assert intake.finished == {}
    patient.pass_by()
    await patient.waited_for(2)
    assert intake.heard == []
    patient.pass_by()
    await intake.until(lambda: len(intake.finished) == 2)
    assert [len(heard.attachments) for heard in intake.heard] == [2]


async def test_two_albums_at_once_are_two_inputs(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake, files: HomeFiles
) -> None:
    one, other = photos("one", None), photos("other", None)
    for first, second in zip(one, other, strict=True):
        for name, item, user in (("a", first, USER), ("b", second, OPERATOR)):
            api.send_file(item, chat=FORUM, thread=DESK, user=user, more={"media_group_id": name})
    async with running(chat_for(api, clock, files=files), intake):
        await intake.hears("one", "other")
        await intake.until(lambda: len(intake.finished) == 4)
    assert [len(heard.attachments) for heard in intake.heard] == [2, 2]


async def test_a_long_text_is_whole_again(api: BotApi, clock: FlyingClock, intake: RememberingIntake) -> None:
    ids = api.paste(LONG, chat=FORUM, thread=DESK, user=USER)
    assert len(ids) == 3
    async with running(chat_for(api, clock), intake):
        await intake.until(lambda: len(intake.finished) == 3)
    (heard,) = intake.heard
    assert heard.text.split() == LONG.split()
    assert sum(piece.chars for piece in heard.pieces) == len(heard.text)


async def test_a_text_that_was_cut_amid_a_word_has_no_space_there(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    api.paste("x" * 10_000, chat=FORUM, thread=DESK, user=USER)
    async with running(chat_for(api, clock), intake):
        await intake.hears("x" * 10_000)


async def test_a_long_command_keeps_its_rest(api: BotApi, clock: FlyingClock, intake: RememberingIntake) -> None:
    api.paste(f"/ask career {LONG}", chat=FORUM, thread=DESK, user=USER)
    async with running(chat_for(api, clock), intake):
        await intake.until(lambda: len(intake.finished) == 3)
    assert [heard.text.split() for heard in intake.heard] == [["/ask", "career", *LONG.split()]]


@pytest.mark.parametrize(
    "then",
    [
        pytest.param({"user": OPERATOR}, id="by another person"),
        pytest.param({"thread": 43}, id="in another topic"),
        pytest.param({"text": "/stop"}, id="a command"),
        pytest.param({"more": {"date": 1_900_000_000}}, id="much later"),
    ],
)
async def test_only_what_follows_closely_is_the_rest_of_a_text(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake, then: dict[str, object]
) -> None:
    api.say("x" * 4096, chat=FORUM, thread=DESK, user=USER)
    api.say(**{"text": "and then", "chat": FORUM, "thread": DESK, "user": USER, **then})  # type: ignore[arg-type]
    async with running(chat_for(api, clock), intake):
        await intake.until(lambda: len(intake.finished) == 2)
    assert len(intake.heard) == 2
    assert "x" * 4096 in [heard.text for heard in intake.heard]


async def test_a_crash_amid_the_wait_loses_nothing_and_doubles_nothing(
    api: BotApi, intake: RememberingIntake, files: HomeFiles
) -> None:
    clock = Patient()
    api.album(photos("my trip", None), chat=FORUM, thread=DESK, user=USER)
    api.paste(LONG, chat=FORUM, thread=DESK, user=USER)
    async with running(chat_for(api, clock, files=files), intake):
        await clock.waited_for(1)
    assert intake.finished == {}
    async with running(chat_for(api, FlyingClock(), files=files), intake):
        await intake.until(lambda: len(intake.finished) == 5)
    assert [len(heard.pieces) for heard in intake.heard] == [2, 3]


async def test_a_crash_amid_the_hearing_gives_the_same_again(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake, files: HomeFiles
) -> None:
    api.album(photos("my trip", None), chat=FORUM, thread=DESK, user=USER)
    await crash(chat_for(api, clock, files=files), intake)
    assert intake.finished == {}
    async with running(chat_for(api, clock, files=files), intake):
        await intake.until(lambda: len(intake.finished) == 2)
    assert [len(heard.attachments) for heard in intake.heard] == [2]


async def test_an_edit_of_what_waits_still_is_heard_instead(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    message = api.say("helo", chat=FORUM, thread=DESK, user=USER)
    api.say("next", chat=FORUM, thread=DESK, user=USER)
    api.edit(FORUM, message, "hello")
    async with running(chat_for(api, clock), intake):
        await intake.hears("hello", "next")
        await intake.until(lambda: len(intake.finished) == 3)
    assert intake.edited == []


@pytest.mark.parametrize(("before", "after"), [("hello", "/stop"), ("/stop", "hello"), ("/stop", "/stop all")])
async def test_no_command_is_made_or_unmade_by_an_edit(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake, before: str, after: str
) -> None:
    message = api.say(before, chat=FORUM, thread=DESK, user=USER)
    api.edit(FORUM, message, after)
    async with running(chat_for(api, clock), intake):
        await intake.hears(before)
        await intake.until(lambda: len(intake.finished) == 2)
    assert [heard.text for heard in intake.edited] == [after]


async def test_an_edit_is_told_under_the_key_of_what_was_said(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    async with running(chat_for(api, clock), intake):
        message = api.say("helo", chat=FORUM, thread=DESK, user=USER)
        await intake.hears("helo")
        api.edit(FORUM, message, "hello")
        await intake.until(lambda: bool(intake.edited))
    assert [(heard.key, heard.text) for heard in intake.edited] == [(intake.heard[0].key, "hello")]


async def test_edits_by_strangers_are_nothing(api: BotApi, clock: FlyingClock, intake: RememberingIntake) -> None:
    message = api.say("mine", chat=FORUM, thread=DESK, user=999)
    async with running(chat_for(api, clock), intake):
        api.edit(FORUM, message, "yours")
        await intake.until(lambda: len(intake.finished) == 2)
    assert (intake.heard, intake.edited) == ([], [])
