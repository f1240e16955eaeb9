"""An agent's question for permission goes to the people of its place, or is denied (DESIGN §4)."""

import asyncio
from collections.abc import Sequence

from bridge.limits import Limits
from bridge.ports.chat import Heard, Pressed
from bridge.ports.runtime import Option, Prompt, Question
from tests.fakes.fragile import FragileStore
from tests.fakes.runtime import Behaviour, FakeAgent
from tests.flow.stage import OPERATOR, USER, Stage, room, session, stage

CAREER = room("career")
OPTIONS = (Option("yes", "Allow", True, False), Option("no", "Reject", False, False))


def asking(
    on: Stage, chosen: list[str | None], *, read: bool = False, options: Sequence[Option] = OPTIONS
) -> Behaviour:
    async def behaviour(agent: FakeAgent, prompt: Prompt) -> str:
        if read:
            await on.tools(agent).receive()
        assert agent.listener is not None
        chosen.append(await agent.listener.asked(Question("rm -r build", options)))
        return "done"

    return behaviour


async def test_an_operator_chooses_once_and_others_may_not() -> None:
    async with stage(session("career")) as on:
        chosen: list[str | None] = []
        on.agent("career", asking(on, chosen))
        await on.say("career", "clean up")
        asked = await on.chat.seen(CAREER, "career asks for permission: rm -r build")
        assert [button.label for button in asked.buttons] == ["Allow", "Reject"]
        assert "only an operator" in await on.press("career", "Allow", USER)
        assert chosen == []
        assert await on.press("career", "Allow") == "Allow"
        assert "decided" in await on.exchange.inbound.press(Pressed(CAREER, OPERATOR, asked.buttons[1].action))
        await on.chat.seen(CAREER, "rm -r build\n· Allow")
        assert chosen == ["yes"]
        assert all(not post.buttons for post in on.chat.posts.values())


async def test_a_forged_choice_decides_nothing() -> None:
    async with stage(session("career")) as on:
        chosen: list[str | None] = []
        on.agent("career", asking(on, chosen))
        await on.say("career", "clean up")
        asked = await on.chat.seen(CAREER, "asks for permission")
        base = asked.buttons[0].action.rpartition(":")[0]
        for action in (f"{base}:9", f"{base}:x", "answer:none:0", "unheard:of", ""):
            await on.exchange.inbound.press(Pressed(CAREER, OPERATOR, action))
        await on.quiet()
        assert chosen == []
        await on.press("career", "Reject")
        await on.quiet()
        assert chosen == ["no"]


async def test_no_answer_in_time_is_a_denial() -> None:
    async with stage(session("career"), limits=Limits(question_timeout_s=300)) as on:
        chosen: list[str | None] = []
        on.agent("career", asking(on, chosen))
        await on.say("career", "clean up")
        await on.clock.advance(299)
        assert chosen == []
        await on.clock.advance(1)
        assert chosen == [None]
        await on.chat.seen(CAREER, "denied: no answer in time")
        assert all(not post.buttons for post in on.chat.posts.values() if "permission" in post.text)


async def test_a_time_of_zero_waits_without_end() -> None:
    async with stage(session("career"), limits=Limits(question_timeout_s=0)) as on:
        chosen: list[str | None] = []
        on.agent("career", asking(on, chosen))
        await on.say("career", "clean up")
        await on.clock.advance(600)
        assert chosen == []
        await on.press("career", "Allow")
        await on.quiet()
        assert chosen == ["yes"]


async def test_where_nobody_attends_it_is_denied_at_once() -> None:
    async with stage(session("career")) as on:
        on.chat.open = False
        chosen: list[str | None] = []
        on.agent("career", asking(on, chosen))
        await on.say("career", "clean up")
        await on.chat.seen(CAREER, "denied: nobody attends who could allow it")
        assert chosen == [None]


async def test_a_stop_withdraws_the_question() -> None:
    async with stage(session("career")) as on:
        chosen: list[str | None] = []
        on.agent("career", asking(on, chosen))
        await on.say("career", "clean up")
        asked = await on.chat.seen(CAREER, "asks for permission")
        await on.say("career", "/stop")
        await on.chat.seen(CAREER, "· withdrawn")
        assert "decided" in await on.exchange.inbound.press(Pressed(CAREER, OPERATOR, asked.buttons[0].action))


async def test_a_persons_turn_that_found_no_mail_still_asks_its_person() -> None:
    async with stage(session("career")) as on:
        chosen: list[str | None] = []
        on.agent("career", asking(on, chosen, read=True))
        await on.say("career", "read your mail")
        await on.chat.seen(CAREER, "asks for permission")
        await on.press("career", "Allow")
        await on.quiet()
        assert chosen == ["yes"]


async def test_a_question_goes_to_the_place_where_the_person_spoke() -> None:
    async with stage(session("career", places=(CAREER, room("second")))) as on:
        chosen: list[str | None] = []
        on.agent("career", asking(on, chosen))
        await on.exchange.inbound.hear(heard_at("second"))
        await on.chat.seen(room("second"), "asks for permission")
        assert on.chat.texts(CAREER) == []


def heard_at(handle: str) -> Heard:
    return Heard(room(handle), OPERATOR, "clean up", f"key:{handle}")


async def test_a_question_that_is_cancelled_waits_for_no_store_that_is_out_of_reach() -> None:
    store = FragileStore()
    async with stage(session("career"), store=store) as on:
        asking_now: list[asyncio.Task[str | None]] = []

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            assert agent.listener is not None
            asking_now.append(asyncio.ensure_future(agent.listener.asked(Question("rm -r build", OPTIONS))))
            await asyncio.wait(asking_now)
            return "done"

        on.agent("career", career)
        await on.say("career", "clean up")
        await on.chat.seen(CAREER, "asks for permission")
        store.down = True
        asking_now[0].cancel()
        await on.quiet()
        assert asking_now[0].cancelled()
        store.down = False
