"""Of a long answer the beginning is shown, and the rest when somebody asks for it: nothing of it is lost."""

import pytest

from adapters.memory.store import MemoryStore
from bridge.limits import Limits
from bridge.ports.chat import NotDelivered, Person, Pressed
from bridge.ports.runtime import Prompt
from bridge.post import Post, PostKind, PostState
from tests.fakes.chat import FakeChat
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import USER, Stage, room, session, stage

CAREER = room("career")
STRANGER = Person("room:9", "Nobody", operator=False)
LONG = "".join(f"{number:>99}\n" for number in range(230)).strip()  # six parts of this chat


async def answered(on: Stage, text: str = LONG) -> None:
    async def career(agent: FakeAgent, prompt: Prompt) -> str:
        return text

    on.agent("career", career)
    await on.say("career", "write it all down")
    await on.quiet()


def finals(on: Stage) -> list[Post]:
    return [post for post in on.chat.posts.values() if post.kind is PostKind.FINAL and post.file is None]


def files(on: Stage) -> list[Post]:
    return [post for post in on.chat.posts.values() if post.file is not None]


async def test_the_rest_of_a_long_answer_is_shown_to_whoever_asks_for_it() -> None:
    async with stage(session("career")) as on:
        on.chat.guests = {USER.id}
        await answered(on)
        assert [len(post.buttons) for post in finals(on)] == [0, 0, 2]
        assert await on.press("career", "Rest (3)", USER) == "Here is the rest."
        await on.quiet()
        assert "".join(post.text for post in finals(on)) == LONG
        assert [[button.label for button in post.buttons] for post in finals(on)] == [[]] * 5 + [["As a file"]]
        assert all(post.markup is not None for post in finals(on))


async def test_what_was_asked_for_twice_is_shown_once() -> None:
    async with stage(session("career")) as on:
        await answered(on)
        rest = finals(on)[2].buttons
        for button in (*rest, *rest):
            await on.exchange.inbound.press(Pressed(CAREER, Person("room:1", "Olga", operator=True), button.action))
        await on.quiet()
        assert len(finals(on)) == 6
        assert len([post for post in on.chat.deliveries if post.file is not None]) == 1
        assert await on.press("career", "As a file") == "It is there already, or on its way."


async def test_a_long_answer_comes_as_a_file_below_it() -> None:
    async with stage(session("career")) as on:
        await answered(on)
        assert await on.press("career", "As a file") == "It comes as a file."
        await on.quiet()
        (file,) = files(on)
        assert (file.file, file.text, file.place) == ("answer.md", LONG, CAREER)
        shown = await on.store.post(finals(on)[2].key)
        assert shown is not None
        assert file.reply_to == shown.receipt


async def test_a_file_that_could_not_be_sent_can_be_asked_for_again() -> None:
    async with stage(session("career")) as on:
        await answered(on)
        on.chat.fault = lambda post: NotDelivered("no documents here") if post.file is not None else None
        await on.press("career", "As a file")
        await on.quiet()
        kept = await on.store.post(f"{finals(on)[0].key}#file")
        assert kept is not None
        assert kept.state is PostState.FAILED
        on.chat.fault = lambda post: None
        assert await on.press("career", "As a file") == "It comes as a file."
        await on.quiet()
        assert len(files(on)) == 1


async def test_it_can_be_asked_for_after_a_restart() -> None:
    store, chat = MemoryStore(), FakeChat()
    async with stage(session("career"), store=store, chat=chat) as on:
        await answered(on)
    async with stage(session("career"), store=store, chat=chat) as on:
        await on.press("career", "Rest (3)")
        await on.press("career", "As a file")
        await on.quiet()
        assert "".join(post.text for post in finals(on)) == LONG
        assert files(on)[0].text == LONG


@pytest.mark.parametrize("label", ["Rest (3)", "As a file"])
async def test_who_may_not_talk_there_does_not_read_it(label: str) -> None:
    async with stage(session("career")) as on:
        await answered(on)
        assert "only who may talk there" in await on.press("career", label, STRANGER)
        await on.quiet()
        assert len(finals(on)) == 3
        assert not files(on)


@pytest.mark.parametrize("label", ["Rest (3)", "As a file"])
async def test_after_the_retention_it_is_said_that_it_is_gone(label: str) -> None:
    async with stage(session("career"), limits=Limits(message_life_s=60, retention_s=60, stop_grace_s=0.05)) as on:
        await answered(on)
        await on.clock.advance(8_000)
        assert "no longer kept" in await on.press("career", label)


async def test_of_all_parts_and_the_file_the_first_alone_makes_a_sound() -> None:
    async with stage(session("career")) as on:
        await answered(on)
        for label in ("Rest (3)", "As a file"):
            await on.press("career", label)
        await on.quiet()
        assert [post.silent for post in finals(on)] == [False, True, True, True, True, True]
        assert [post.silent for post in files(on)] == [True]


async def test_an_answer_of_three_parts_is_shown_whole() -> None:
    async with stage(session("career")) as on:
        await answered(on, "x" * 12_000)
        assert [len(post.text) for post in finals(on)] == [4_000] * 3
        assert not any(post.buttons for post in finals(on))
