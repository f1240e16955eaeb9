"""What asks people can be answered by a reply in words, and shows what happened to whoever looks at it late."""

from dataclasses import replace

import pytest

from bridge.decision import Effect, Verb
from bridge.grant import Scope
from bridge.message import Origin, Outcome, State
from bridge.ports.chat import Heard, Overtakes, Pressed
from bridge.post import Post
from bridge.views import Receipt
from tests.flow.stage import OPERATOR, USER, Stage, ident, room, rule, session, stage

CAREER = room("career")
ASKING = [rule("*", "*"), rule("*", "default/career", [Verb.SEND, Verb.ASK, Verb.WAKE], Effect.ASK)]


async def held(on: Stage) -> tuple[Receipt, Post]:
    sent = await on.send("career", "look it up")
    return sent, await on.chat.seen(CAREER, "needs your approval")


@pytest.mark.parametrize(
    ("word", "scopes"),
    [
        ("approve", []),
        ("Once!", []),
        ("Approve once", []),
        ("always", [Scope.PAIR]),
        ("This  conversation", [Scope.CONVERSATION]),
    ],
)
async def test_an_approval_is_given_by_a_word_in_reply(word: str, scopes: list[Scope]) -> None:
    async with stage(session("career"), rules=ASKING) as on:
        sent, post = await held(on)
        await on.say("career", word, to=post)
        await on.quiet()
        assert (await on.message(sent.message_id)).state is not State.HELD
        assert [grant.scope for grant in await on.store.grants()] == scopes
        assert any(text.startswith("Approved") for text in on.chat.texts(CAREER))
        assert on.chat.posts[post.key].buttons == ()
        await on.say("career", word, to=post)
        await on.chat.seen(CAREER, "this has been decided, or is no longer asked")
        assert all(prompt.words is None for _, prompt in on.runtime.prompts)


@pytest.mark.parametrize("word", ["deny", "No.", "DENY"])
async def test_and_denied(word: str) -> None:
    async with stage(session("career"), rules=ASKING) as on:
        sent, post = await held(on)
        await on.say("career", word, to=post)
        await on.quiet()
        assert (await on.message(sent.message_id)).outcome is Outcome.REFUSED
        assert on.chat.posts[post.key].text.count("denied by") == 1
        assert on.chat.posts[post.key].text.count(" by ") == 1


async def test_a_word_of_a_member_who_is_no_operator_decides_nothing() -> None:
    async with stage(session("career"), rules=ASKING) as on:
        sent, post = await held(on)
        await on.say("career", "approve", USER, to=post)
        await on.chat.seen(CAREER, "only an operator may decide this")
        assert (await on.message(sent.message_id)).state is State.HELD


async def test_a_word_that_decides_passes_what_waits_at_its_place() -> None:
    async with stage(session("career"), rules=ASKING) as on:
        _, post = await held(on)
        approves = Heard(CAREER, OPERATOR, "approve", "room:career:9", reply_to=on.chat.receipts[post.key])
        await on.say("career", "/queue")
        notice = on.chat.receipts[(await on.chat.seen(CAREER, "Nothing waits")).key]
        for heard, overtakes in (
            (approves, Overtakes.WHAT_WAITS),
            (replace(approves, person=USER), Overtakes.NOTHING),
            (replace(approves, passed_on=True), Overtakes.NOTHING),
            (replace(approves, reply_to=notice), Overtakes.NOTHING),
            (replace(approves, reply_to=None), Overtakes.NOTHING),
        ):
            assert await on.exchange.inbound.overtakes(heard) is overtakes


async def test_a_forwarded_word_decides_nothing() -> None:
    async with stage(session("career"), rules=ASKING) as on:
        sent, post = await held(on)
        receipt = on.chat.receipts[post.key]
        await on.exchange.inbound.hear(
            Heard(CAREER, OPERATOR, "approve", "room:career:9", reply_to=receipt, passed_on=True)
        )
        await on.quiet()
        assert (await on.message(sent.message_id)).state is State.HELD


async def test_a_reply_that_is_no_answer_says_what_would_be_one_and_is_no_input() -> None:
    async with stage(session("career"), rules=ASKING) as on:
        sent, post = await held(on)
        await on.say("career", "well, perhaps", to=post)
        told = await on.chat.seen(CAREER, "that is none of the answers")
        assert "Approve once, This conversation, Always for this pair, Deny" in told.text
        assert (await on.message(sent.message_id)).state is State.HELD
        assert on.runtime.prompts == []


async def test_other_buttons_are_pressed_by_their_label_and_other_words_are_input() -> None:
    async with stage(session("career"), session("desk")) as on:
        await on.say("career", "/queue")
        notice = await on.chat.seen(CAREER, "Nothing waits")
        await on.say("career", "thank you", to=notice)
        await on.quiet()
        assert [prompt.words for _, prompt in on.runtime.prompts] == ["thank you"]


async def test_whoever_presses_what_was_decided_elsewhere_sees_what_happened() -> None:
    async with stage(session("career"), rules=ASKING) as on:
        sent, post = await held(on)
        receipt = on.chat.receipts[post.key]
        await on.exchange.oversight.deny(await on.shell(origin=Origin.USER), sent.message_id)
        await on.quiet()
        before = len(on.chat.deliveries)
        said = await on.exchange.inbound.press(Pressed(CAREER, OPERATOR, post.buttons[0].action, receipt))
        assert said.startswith("This has been decided already")
        await on.quiet()
        assert [one.key for one in on.chat.deliveries[before:]] == [post.key]
        assert "denied by" in on.chat.posts[post.key].text
        assert (await on.message(sent.message_id)).sender == ident("shell")
