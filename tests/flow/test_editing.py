"""An edit replaces what waits, in its place in the line; of what has begun, or of a command, it changes nothing."""

from dataclasses import replace
from typing import Any

import pytest

from bridge import wording
from bridge.flow.editing import REPLACED
from bridge.ids import SessionId
from bridge.message import Attachment, Message, Outcome, Piece, State
from bridge.ports.chat import Heard
from bridge.ports.runtime import Prompt
from bridge.ports.store import Change, Key
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import OPERATOR, Stage, ident, room, session, stage

PHOTO = Attachment("photo.jpg", "image/jpeg", "/files/1/photo.jpg", size=4)
OTHER = Attachment("photo.jpg", "image/jpeg", "/files/2/photo.jpg", size=4)


def heard(text: str, key: str, **more: Any) -> Heard:
    return Heard(room("career"), OPERATOR, text, key, **more)


async def hear(on: Stage, *texts: str) -> None:
    """Each under the key that it is itself."""
    for text in texts:
        await on.exchange.inbound.hear(heard(text, text))


async def edit(on: Stage, key: str, text: str, **more: Any) -> None:
    await on.exchange.inbound.edit(heard(text, key, **more))


async def queued(on: Stage) -> list[Message]:
    return await on.store.queue(ident("career"))


async def busy(on: Stage) -> None:
    """Begins a turn that lasts until the time is moved."""

    async def works(agent: FakeAgent, prompt: Prompt) -> str:
        if prompt.words == "work":
            await on.clock.sleep(100)
        return "done"

    on.agent("career", works)
    await hear(on, "work")
    await on.quiet()


async def words(on: Stage) -> list[str | None]:
    """What the agent is told in the end."""
    await on.clock.advance(101)
    await on.quiet()
    return [prompt.words for _, prompt in on.runtime.prompts]


async def test_an_edit_of_what_waits_replaces_it_in_its_place() -> None:
    async with stage(session("career")) as on:
        await busy(on)
        await hear(on, "one", "tow", "three")
        (_, old, _) = await queued(on)
        await edit(on, "tow", "two")
        assert [one.text for one in await queued(on)] == ["one", "two", "three"]
        earlier = await on.message(old.id)
        assert (earlier.state, earlier.outcome, earlier.reason) == (State.SETTLED, Outcome.CANCELLED, REPLACED)
        assert await words(on) == ["work", "one", "two", "three"]
        assert not any("edit" in text for text in on.chat.texts(room("career")))


async def test_an_edit_keeps_the_time_since_which_it_waits() -> None:
    async with stage(session("career")) as on:
        await busy(on)
        await hear(on, "one")
        await on.clock.advance(5)
        await hear(on, "two")
        before = [one.queued_at for one in await queued(on)]
        await on.clock.advance(5)
        await edit(on, "one", "the first")
        assert [one.queued_at for one in await queued(on)] == before


async def test_the_same_edit_twice_and_one_that_changes_nothing_do_nothing() -> None:
    async with stage(session("career")) as on:
        await busy(on)
        await hear(on, "one")
        await edit(on, "one", "first")
        (waits,) = await queued(on)
        await edit(on, "one", "first")
        assert await queued(on) == [waits]
        await edit(on, "one", "the very first")
        assert await words(on) == ["work", "the very first"]
        await edit(on, "one", "the very first")
        assert wording.EDITED_LATE not in on.chat.texts(room("career"))


async def test_an_edit_back_to_what_it_was_is_an_edit() -> None:
    async with stage(session("career")) as on:
        await busy(on)
        await hear(on, "one")
        await edit(on, "one", "first")
        await edit(on, "one", "one")
        assert await words(on) == ["work", "one"]


async def test_of_what_has_begun_an_edit_is_told_once_with_what_to_do() -> None:
    async with stage(session("career")) as on:
        await busy(on)
        await edit(on, "work", "rest")
        await edit(on, "work", "sleep")
        await on.quiet()
        assert on.chat.texts(room("career")).count(wording.EDITED_LATE) == 1
        assert await words(on) == ["work"]
        await edit(on, "work", "dream")
        await on.quiet()
        assert on.chat.texts(room("career")).count(wording.EDITED_LATE) == 1


@pytest.mark.parametrize(("said", "edited"), [("/status", "/stop all"), ("/status", "hello"), ("hello", "/stop all")])
async def test_no_command_is_carried_out_for_an_edit(said: str, edited: str) -> None:
    async with stage(session("career")) as on:
        await busy(on)
        await hear(on, said)
        before = await queued(on)
        await edit(on, said, edited)
        await on.quiet()
        assert await queued(on) == before
        assert on.chat.texts(room("career")).count(wording.EDITED_COMMAND) == 1


async def test_what_was_handed_on_is_not_handed_on_again() -> None:
    async with stage(session("career"), session("finance")) as on:
        await hear(on, "@finance count")
        await edit(on, "@finance count", "@finance count again")
        await on.quiet()
        assert wording.EDITED_COMMAND in on.chat.texts(room("career"))
        assert [one.text for one in await on.store.unsettled_of(ident("finance"))] in ([], ["count"])


async def test_an_edit_of_what_was_never_heard_is_nothing() -> None:
    async with stage(session("career")) as on:
        await edit(on, "long ago", "hello")
        await on.exchange.inbound.edit(Heard(room("nowhere"), OPERATOR, "/stop", "k"))
        await on.exchange.inbound.edit(Heard(room("career"), OPERATOR, "/nonsense", "k", silent=True))
        await on.quiet()
        assert on.chat.deliveries == []
        assert on.runtime.prompts == []


async def test_an_edit_of_one_piece_leaves_the_others() -> None:
    async with stage(session("career")) as on:
        await busy(on)
        pieces = (Piece("a", 4), Piece("b", 4), Piece("c", 5))
        await on.exchange.inbound.hear(heard("one\ntow\nthree", "a", pieces=pieces))
        await edit(on, "b", "two or more")
        await edit(on, "c", "four")
        (waits,) = await queued(on)
        assert waits.text == "one\ntwo or more\nfour"
        assert [piece.chars for piece in waits.pieces] == [4, 12, 4]


async def test_the_caption_of_an_album_and_a_file_of_it_may_be_edited() -> None:
    async with stage(session("career")) as on:
        await busy(on)
        pieces = (Piece("a", 4, 1), Piece("b", 0, 1))
        await on.exchange.inbound.hear(heard("trip", "a", pieces=pieces, attachments=(PHOTO, PHOTO)))
        await edit(on, "a", "my trip", attachments=(PHOTO,))
        await edit(on, "b", "", attachments=(OTHER,))
        (waits,) = await queued(on)
        assert (waits.text, waits.attachments) == ("my trip", (PHOTO, OTHER))


async def test_an_edit_after_a_restart_replaces_what_waited_before() -> None:
    async with stage(session("career")) as on:
        career = await on.store.session(ident("career"))
        assert career is not None
        await on.store.commit(Change(puts=[replace(career, paused="for a while")]))
        await hear(on, "one")
        await edit(on, "one", "first")
    async with stage(session("career"), store=on.store, clock=on.clock) as again:
        await edit(again, "one", "the very first")
        assert [one.text for one in await queued(again)] == ["the very first"]
        await again.say("career", "/resume")
        await again.quiet()
        assert [prompt.words for _, prompt in again.runtime.prompts] == ["the very first"]


async def test_the_newest_of_many_versions_is_found_by_few_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    async with stage(session("career")) as on:
        await busy(on)
        await hear(on, "v")
        for number in range(100):
            await edit(on, "v", f"version {number}")
        looked, key = [], on.store.key

        async def counted(sender: SessionId, name: str) -> Key | None:
            looked.append(name)
            return await key(sender, name)

        monkeypatch.setattr(on.store, "key", counted)
        await edit(on, "v", "the last")
        assert len(looked) < 20
        assert await words(on) == ["work", "the last"]
