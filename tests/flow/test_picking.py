"""A command without its name shows the sessions that may be meant."""

import pytest

from bridge.flow.choices import PAGE
from bridge.ports.chat import Heard, Person, Pressed
from bridge.post import Post
from bridge.session import Declared
from tests.flow.stage import OPERATOR, USER, Stage, ident, room, session, stage
from tests.flow.test_commands import answers

DESK = room("desk")
OTHER = Person("room:3", "Otto", operator=True)


def shown(on: Stage, place: str = DESK) -> Post:
    return [post for post in on.chat.posts.values() if post.place == place][-1]


def labels(post: Post) -> list[str]:
    return [button.label for button in post.buttons]


async def picked(on: Stage, label: str, person: Person = OPERATOR) -> str:
    said = await on.press("desk", label, person)
    await on.quiet()
    return said


def many() -> list[Declared]:
    return [session(f"w-{number:02}") for number in range(2 * PAGE + 3)]


async def test_the_list_has_the_others_by_title_and_what_is_picked_is_carried_out_in_its_place() -> None:
    async with stage(session("desk"), session("finance"), session("career")) as on:
        await on.say("side", "/bind")
        await on.quiet()
        assert labels(shown(on, room("side"))) == ["Career", "Desk", "Finance"]
        assert await on.press("side", "Career") == "Career"
        await on.quiet()
        post = shown(on, room("side"))
        assert (post.text, post.buttons) == ("This place is bound to Career (default/career).", ())
        binding = await on.store.binding(room("side"))
        assert binding is not None
        assert binding.session == ident("career")


@pytest.mark.parametrize("command", ["/allow", "/deny"])
async def test_what_agents_may_do_is_picked_too(command: str) -> None:
    async with stage(session("desk"), session("career")) as on:
        await on.say("desk", command)
        await on.quiet()
        assert labels(shown(on)) == ["Career"]
        await picked(on, "Career")
        assert shown(on).text.startswith("From now on: default/career may")
        assert len(await on.store.grants()) == 1


@pytest.mark.parametrize("command", ["/ask", "/handoff"])
async def test_after_the_pick_the_reply_is_the_text(command: str) -> None:
    async with stage(session("desk"), session("career")) as on:
        on.agent("career", answers)
        await on.say("desk", command)
        await on.quiet()
        await picked(on, "Career")
        asks = shown(on)
        assert asks.text == "Reply to this message with the text for Career."
        for _ in range(2):
            await on.say("desk", "is it real?", key="update:9", to=asks)
            await on.chat.seen(DESK, "career: about is it real?: yes")
        await on.quiet()
        assert [(who, prompt.words) for who, prompt in on.runtime.prompts] == [(ident("career"), "is it real?")]
        assert on.chat.posts[asks.key].buttons == ()


async def test_who_thinks_better_of_it_hands_nothing_on() -> None:
    async with stage(session("desk"), session("career")) as on:
        await on.say("desk", "/ask")
        await on.quiet()
        await picked(on, "Career")
        asks = shown(on)
        await picked(on, "Never mind")
        assert shown(on).text == "Nothing was handed on."
        on.agent("desk", answers)
        await on.say("desk", "hello", to=asks)
        await on.quiet()
        assert [who for who, _ in on.runtime.prompts] == [ident("desk")]


async def test_who_has_not_asked_may_neither_pick_nor_write_the_text() -> None:
    async with stage(session("desk"), session("career")) as on:
        await on.say("desk", "/ask")
        await on.quiet()
        for person in (OTHER, USER):
            assert "somebody else has asked for this" in await picked(on, "Career", person)
        await picked(on, "Career")
        asks = shown(on)
        await on.say("desk", "mine", OTHER, to=asks)
        await on.chat.seen(DESK, "somebody else was asked for that text")
        assert on.runtime.prompts == []


async def test_a_user_cannot_pick_what_is_for_operators() -> None:
    async with stage(session("desk"), session("career")) as on:
        await on.say("desk", "/bind", USER)
        await on.chat.seen(DESK, "/bind is for operators")
        assert shown(on).buttons == ()


async def test_a_long_list_has_pages() -> None:
    async with stage(session("desk"), *many()) as on:
        await on.say("desk", "/ask")
        await on.quiet()
        first = labels(shown(on))
        assert first == [*(f"W-{number:02}" for number in range(PAGE)), "More ›"]
        await picked(on, "More ›")
        assert labels(shown(on))[0] == f"W-{PAGE:02}"
        assert labels(shown(on))[-2:] == ["‹ Back", "More ›"]
        await picked(on, "More ›")
        assert labels(shown(on))[-1] == "‹ Back"
        await picked(on, "‹ Back")
        await picked(on, "‹ Back")
        assert labels(shown(on)) == first


async def test_every_action_fits_into_the_bytes_that_a_button_has() -> None:
    longest = "x" * 63
    async with stage(session("desk"), session(longest), *many()) as on:
        for command in ("/handoff", "/bind", "/deny"):
            await on.say("desk", command)
            await on.quiet()
            assert all(len(button.action.encode()) <= 64 for button in shown(on).buttons)


async def test_a_list_works_after_a_restart_and_an_old_one_says_so() -> None:
    async with stage(session("desk"), session("career"), session("finance")) as on:
        await on.say("desk", "/ask")
        await on.quiet()
        old = shown(on).buttons
    async with stage(session("desk"), session("career"), store=on.store, chat=on.chat, clock=on.clock) as on:
        receipt = on.chat.receipts[shown(on).key]
        assert await on.exchange.inbound.press(Pressed(DESK, OPERATOR, old[1].action, receipt)) == (
            "This is over. Type the command again."
        )
        await on.quiet()
        assert shown(on).text == "That session is not there any more."
        assert "is over" in await on.exchange.inbound.press(Pressed(DESK, OPERATOR, old[0].action, receipt))
        await on.say("desk", "/ask")
        await on.quiet()
        assert await picked(on, "Career") == "Career"


async def test_sessions_of_one_title_are_told_apart_and_with_none_there_is_no_list() -> None:
    twins = [Declared(ident(handle), "Twin", session(handle).kind, agent="fake") for handle in ("one", "two")]
    async with stage(session("desk"), *twins) as on:
        await on.say("desk", "/ask")
        await on.quiet()
        assert labels(shown(on)) == ["Twin (one)", "Twin (two)"]
    async with stage(session("desk")) as on:
        await on.say("desk", "/ask")
        await on.chat.seen(DESK, "it takes a session, and there is no other one")


async def test_a_list_at_an_unbound_place_says_that_nobody_is_there() -> None:
    async with stage(session("career")) as on:
        await on.say("desk", "/ask")
        await on.chat.seen(DESK, "no session is bound to this place")


async def test_a_reply_to_ones_own_words_hands_those_on() -> None:
    async with stage(session("desk"), session("career")) as on:
        on.agent("career", answers)
        await on.exchange.inbound.hear(
            Heard(DESK, OPERATOR, "/ask career", "room:desk:1", reply_to="7", replied="is it real?")
        )
        await on.chat.seen(DESK, "career: about is it real?: yes")
        await on.exchange.inbound.hear(Heard(DESK, OPERATOR, "/ask career", "room:desk:2", reply_to="8"))
        await on.chat.seen(DESK, "it takes a text for default/career too")
