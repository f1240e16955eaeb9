"""A session hands work to another, and the answer comes back to where the question came from."""

import asyncio

from bridge import briefing
from bridge.decision import Verb
from bridge.errors import Code, Refused
from bridge.limits import Limits
from bridge.message import Intent, Outcome, State
from bridge.ports.runtime import Prompt
from bridge.request import Answer
from bridge.results import FINAL_CHARS
from tests.fakes.runtime import Behaviour, FakeAgent
from tests.flow.stage import ident, room, rule, session, stage


async def test_an_idle_recipient_wakes_reads_and_answers_at_the_askers_place() -> None:
    async with stage(session("front-desk"), session("career")) as on:

        async def front_desk(agent: FakeAgent, prompt: Prompt) -> str:
            if prompt.words:
                await on.tools(agent).send("career", "is this job real?")
                return "I asked Career."
            (mail,) = (await on.tools(agent).receive()).messages
            return f"Career says: {mail.text}"

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            assert prompt == Prompt(notice=briefing.MAIL_NOTICE, author=ident("front-desk"))
            (mail,) = (await on.tools(agent).receive()).messages
            assert (mail.text, mail.origin, mail.sender) == ("is this job real?", "peer", ident("front-desk"))
            return "It is real."

        on.agent("front-desk", front_desk)
        on.agent("career", career)
        await on.say("front-desk", "look at this offer")
        await on.chat.seen(room("front-desk"), "career: It is real.")
        await on.chat.seen(room("front-desk"), "Career says: It is real.")
        await on.chat.seen(room("career"), "front-desk → career: is this job real?\n· answered")
        await on.chat.seen(room("front-desk"), "→ career: is this job real?\n· answered")
        assert {post.place for post in on.chat.posts.values()} == {room("front-desk"), room("career")}


async def test_a_program_with_a_place_sees_its_handoff_and_the_answer_there() -> None:
    async with stage(session("build", agent=None, places=(room("build"),)), session("career")) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            return "yes"

        on.agent("career", career)
        await on.send("career", "may I?", caller=await on.shell("build"))
        await on.chat.seen(room("build"), "→ career: may I?\n· answered")
        await on.chat.seen(room("build"), "career: yes")
        assert [mail.text for mail in await on.inbox("build")] == ["yes"]


async def test_a_handoff_says_woken_only_where_a_turn_can_begin() -> None:
    async with stage(session("desk"), session("tool", agent=None), session("career")) as on:
        await on.say("career", "/stop")

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).send("tool", "build it")
            await on.tools(agent).send("career", "look at it")
            return "done"

        on.agent("desk", desk)
        await on.say("desk", "go")
        await on.quiet()
        shown = on.chat.texts(room("desk"))
        assert "desk → tool: build it\n· in its inbox; it waits to be read" in shown
        assert "desk → career: look at it\n· queued, 1st in line; stopped until its people resume it" in shown


async def test_ten_handoffs_to_a_busy_session_run_one_by_one_in_order() -> None:
    async with stage(session("career")) as on:
        seen: list[str] = []

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            (mail,) = (await on.tools(agent).receive()).messages
            seen.append(mail.text)
            await asyncio.sleep(0)
            return "done"

        on.agent("career", career)
        receipts = [await on.send("career", f"number {number}") for number in range(10)]
        for receipt in receipts:
            view = await on.exchange.answer(await on.shell(), receipt.message_id, 5)
            assert view.answer is Answer.ANSWERED
        assert seen == [f"number {number}" for number in range(10)]
        assert on.runtime.most_at_once == {ident("career"): 1}
        assert len(on.runtime.prompts) == 10


async def test_ten_sessions_work_side_by_side() -> None:
    handles = [f"worker-{number}" for number in range(10)]
    async with stage(*(session(handle) for handle in handles)) as on:
        gathered = asyncio.Barrier(10)

        async def worker(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            await gathered.wait()
            return "done"

        for handle in handles:
            on.agent(handle, worker)
        receipts = [await on.send(handle, "go") for handle in handles]
        for receipt in receipts:
            view = await on.exchange.answer(await on.shell(), receipt.message_id, 5)
            assert view.answer is Answer.ANSWERED
        assert on.runtime.most_in_all == 10


async def test_mail_left_unread_is_announced_twice_and_then_fails() -> None:
    async with stage(session("career")) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            return "I did not look"

        on.agent("career", career)
        receipt = await on.send("career", "hello")
        view = await on.exchange.answer(await on.shell(), receipt.message_id, 5)
        assert view.answer is Answer.FAILED
        assert [prompt.notice for _, prompt in on.runtime.prompts] == [
            briefing.MAIL_NOTICE,
            briefing.MAIL_NOTICE_AGAIN,
        ]
        (told,) = await on.inbox()
        assert told.origin == "system"
        assert "not read" in told.text


async def test_a_request_made_for_another_keeps_it_open_until_its_answer_is_used() -> None:
    async with stage(session("a"), session("b"), session("c")) as on:

        async def b(agent: FakeAgent, prompt: Prompt) -> str:
            (mail,) = (await on.tools(agent).receive()).messages
            if mail.intent == "request":
                await on.tools(agent).send("c", "what is the salary?")
                return "I asked c, wait"
            return f"c says {mail.text}"

        async def c(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            return "90k"

        on.agent("b", b)
        on.agent("c", c)
        receipt = await on.send("b", "is it a good job?")
        view = await on.exchange.answer(await on.shell(), receipt.message_id, 5)
        assert view.reply is not None
        assert view.reply.text == "c says 90k"
        assert len(await on.inbox()) == 1


async def test_a_handoff_without_wake_waits_for_the_next_turn() -> None:
    async with stage(session("career")) as on:
        read: list[str] = []

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            read.extend(mail.text for mail in (await on.tools(agent).receive()).messages)
            return "ok"

        on.agent("career", career)
        quiet = await on.send("career", "for later", wake=False)
        await on.quiet()
        assert on.runtime.prompts == []
        assert (await on.message(quiet.message_id)).state is State.QUEUED
        loud = await on.send("career", "now")
        await on.exchange.answer(await on.shell(), loud.message_id, 5)
        await on.quiet()
        assert read == ["now", "for later"]
        assert (await on.message(quiet.message_id)).outcome is Outcome.ACKED
        assert (await on.request(quiet.message_id)).state is Answer.NO_REPLY


async def test_a_visible_session_that_may_not_be_asked_and_an_invisible_one() -> None:
    rules = [rule("default/shell", "default/career", [Verb.SEND])]
    async with stage(session("career"), session("finance"), rules=rules) as on:
        denied = await on.refused("career", wake=False)
        assert denied.code is Code.NOT_PERMITTED
        assert denied.rule == "no-rule"
        invisible, unknown = await on.refused("finance"), await on.refused("nobody")
        assert invisible.code is Code.UNKNOWN_SESSION
        assert invisible.as_json() == unknown.as_json()


async def test_agents_that_forward_in_a_circle_stop_and_their_people_are_told_once() -> None:
    async with stage(session("a"), session("b"), session("c")) as on:
        refusals: list[Code] = []

        def forward(to: str) -> Behaviour:
            async def behaviour(agent: FakeAgent, prompt: Prompt) -> str:
                await on.tools(agent).receive()
                try:
                    await on.tools(agent).send(to, "your turn", intent=Intent.INFORM)
                except Refused as refused:
                    refusals.append(refused.code)
                return ""

            return behaviour

        for one, other in (("a", "b"), ("b", "c"), ("c", "a")):
            on.agent(one, forward(other))
        await on.say("a", "go round")
        await on.quiet()
        assert refusals == [Code.DEPTH_LIMIT]
        await on.chat.seen(room("a"), "Stopped: a → b was refused")
        told = [post for post in on.chat.deliveries if "Stopped" in post.text]
        assert len(told) == 1


async def test_ten_attempts_at_one_pair_rest_after_twenty_messages() -> None:
    async with stage(session("career", agent=None), limits=Limits(pair_messages=3)) as on:
        for number in range(3):
            await on.send("career", f"{number}", wake=False)
        assert (await on.refused("career", wake=False)).code is Code.RATE_LIMITED
        await on.clock.advance(59)
        assert (await on.refused("career", wake=False)).code is Code.RATE_LIMITED
        await on.clock.advance(2)
        await on.send("career", "again", wake=False)


async def test_what_an_agent_says_without_end_does_not_flood_its_place() -> None:
    async with stage(session("career")) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            return "x" * 1_000_000

        on.agent("career", career)
        await on.say("career", "say much")
        await on.quiet()
        assert len(on.chat.texts(room("career"))) == 3
        await on.press("career", f"Rest ({FINAL_CHARS // on.chat.limit - 3})")
        await on.chat.seen(room("career"), "[cut by the bridge: the agent said more than this]")
        assert sum(map(len, on.chat.texts(room("career")))) == FINAL_CHARS
