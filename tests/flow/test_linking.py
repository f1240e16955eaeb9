"""A handoff looks like one thing in both of its topics: each leads to the other, and the answer stands below it."""

import asyncio

from bridge.ids import Place
from bridge.message import Outcome
from bridge.ports.chat import Heard
from bridge.ports.runtime import Prompt
from bridge.post import Post, PostKind
from tests.fakes.chat import FakeChat
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import OPERATOR, Stage, room, session, stage
from tests.flow.test_commands import DESK, answers

CAREER = room("career")


def handoff(on: Stage, place: Place) -> Post:
    return next(post for post in on.chat.posts.values() if post.kind is PostKind.HANDOFF and post.place == place)


def links(post: Post) -> list[tuple[str, str | None]]:
    return [(button.label, button.url) for button in post.buttons]


async def test_each_of_the_two_posts_leads_to_the_other_through_all_that_becomes_of_them() -> None:
    async with stage(session("desk"), session("career")) as on:
        on.chat.linked = True
        gate = asyncio.Event()

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            await gate.wait()
            return "yes"

        on.agent("career", career)
        await on.say("desk", "/handoff career go")
        await on.quiet()
        mine, theirs = handoff(on, DESK), handoff(on, CAREER)
        assert links(mine) == [("Open in Career", f"room://{on.chat.receipts[theirs.key]}")]
        assert links(theirs) == [("Open in Desk", f"room://{on.chat.receipts[mine.key]}")]
        assert [post.text.splitlines()[-1] for post in (mine, theirs)] == ["· working", "· working"]
        gate.set()
        await on.quiet()
        assert [handoff(on, place).text.splitlines()[-1] for place in (DESK, CAREER)] == ["· answered", "· answered"]
        assert links(handoff(on, DESK)) == links(mine)
        assert links(handoff(on, CAREER)) == links(theirs)


async def test_the_state_of_both_changes_in_place() -> None:
    async with stage(session("desk"), session("career")) as on:
        on.chat.linked = True

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            await asyncio.Event().wait()
            return ""

        on.agent("career", career)
        await on.say("career", "work")
        await on.quiet()
        sent = await on.send("career", "wait")
        await on.quiet()
        assert handoff(on, CAREER).text.endswith("· queued, 1st in line")
        await on.exchange.cancel(await on.shell(), sent.message_id)
        await on.quiet()
        assert "cancelled" in handoff(on, CAREER).text
        assert (await on.message(sent.message_id)).outcome is Outcome.CANCELLED


async def test_without_an_address_on_both_sides_there_is_no_link() -> None:
    class OneSided(FakeChat):
        def link(self, receipt: str) -> str | None:
            return f"room://{receipt}" if receipt == "1" else None

    async with stage(session("desk"), session("career"), chat=OneSided()) as on:
        on.agent("career", answers)
        await on.say("desk", "/handoff career go")
        await on.chat.seen(DESK, "career: about go: yes")
        await on.quiet()
        assert not any(post.buttons for post in on.chat.posts.values() if post.kind is PostKind.HANDOFF)


async def test_an_answer_stands_below_its_handoff_and_the_final_below_what_was_received() -> None:
    async with stage(session("desk"), session("career")) as on:
        on.agent("career", answers)
        await on.say("desk", "/handoff career go")
        answer = await on.chat.seen(DESK, "career: about go: yes")
        assert answer.reply_to == on.chat.receipts[handoff(on, DESK).key]
        final = await on.chat.seen(CAREER, "about go: yes")
        assert final.kind is PostKind.FINAL
        assert final.reply_to == on.chat.receipts[handoff(on, CAREER).key]


async def test_what_says_that_there_is_no_answer_stands_there_too() -> None:
    async with stage(session("desk"), session("career")) as on:
        await on.say("desk", "/handoff career go")
        told = await on.chat.seen(DESK, "has read your request and gave no answer")
        assert told.reply_to == on.chat.receipts[handoff(on, DESK).key]


async def test_a_final_points_at_words_that_had_to_wait_and_only_at_those() -> None:
    async with stage(session("desk")) as on:
        gates = [asyncio.Event(), asyncio.Event()]

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            await gates[len(on.runtime.prompts) - 1].wait()
            return f"about {prompt.words}"

        on.agent("desk", desk)
        for number, words in enumerate(("one", "two"), 41):
            heard = Heard(DESK, OPERATOR, words, f"room:desk:{number}", receipt=f"{number}")
            await on.exchange.inbound.hear(heard)
        await on.clock.advance(10)
        gates[0].set()
        assert (await on.chat.seen(DESK, "about one")).reply_to is None
        await on.clock.advance(10)
        gates[1].set()
        assert (await on.chat.seen(DESK, "about two")).reply_to == "42"
