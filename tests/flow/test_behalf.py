"""Requests made on behalf of another: however the work spreads, the first asker is answered once."""

import asyncio

import pytest

from bridge.limits import Limits
from bridge.message import Intent, Origin, Outcome
from bridge.ports.runtime import Prompt, Result
from bridge.request import Answer
from bridge.turn import Failure, FailureKind
from bridge.views import Mail
from tests.fakes.runtime import Behaviour, FakeAgent
from tests.flow.stage import Stage, room, session, stage


def says(on: Stage, text: str) -> Behaviour:
    async def behaviour(agent: FakeAgent, prompt: Prompt) -> str:
        await on.tools(agent).receive()
        return text

    return behaviour


def passes_on(on: Stage, to: str) -> Behaviour:
    """Asks `to` what it was asked, and answers with what came back."""

    async def behaviour(agent: FakeAgent, prompt: Prompt) -> str:
        (mail,) = (await on.tools(agent).receive()).messages
        if mail.intent == Intent.REQUEST:
            await on.tools(agent).send(to, mail.text)
            return "I asked"
        return f"{mail.origin} said: {mail.text}"

    return behaviour


async def test_a_chain_of_three_brings_the_last_answer_to_the_first_asker_once() -> None:
    async with stage(session("b"), session("c"), session("d")) as on:
        on.agent("b", passes_on(on, "c"))
        on.agent("c", passes_on(on, "d"))
        on.agent("d", says(on, "90k"))
        sent = await on.send("b", "what is the salary?")
        await on.quiet()
        assert [mail.text for mail in await on.inbox()] == ["peer said: peer said: 90k"]
        assert (await on.request(sent.message_id)).state is Answer.ANSWERED
        assert len(on.runtime.prompts) == 5


async def test_ten_answers_gathered_by_one_session_reach_the_first_asker_once() -> None:
    handles = [f"s{number}" for number in range(10)]
    async with stage(session("desk"), *(session(handle) for handle in handles)) as on:
        answers: set[str] = set()

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            for mail in (await on.tools(agent).receive()).messages:
                if mail.intent == Intent.REQUEST:
                    await asyncio.gather(*(on.tools(agent).send(handle, "your part?") for handle in handles))
                else:
                    answers.add(mail.text)
            return f"all {len(answers)}" if len(answers) == 10 else f"only {len(answers)} so far"

        on.agent("desk", desk)
        for handle in handles:
            on.agent(handle, says(on, f"part of {handle}"))
        await on.send("desk", "gather it")
        await on.quiet()
        assert [mail.text for mail in await on.inbox()] == ["all 10"]
        assert len(answers) == 10


async def test_closings_that_are_read_together_need_one_turn_and_not_one_each() -> None:
    async with stage(session("desk"), session("x", agent=None), session("y", agent=None)) as on:
        turns: list[list[str]] = []

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            mails = (await on.tools(agent).receive()).messages
            turns.append([mail.text for mail in mails])
            if mails[0].intent == Intent.REQUEST:
                sent = [await on.tools(agent).send(handle, "your part?") for handle in ("x", "y")]
                for handle, one in zip(("x", "y"), sent, strict=True):
                    await on.exchange.reply(await on.shell(handle), one.message_id, handle)
            return "+".join(turns[-1])

        on.agent("desk", desk)
        await on.send("desk", "gather it")
        await on.quiet()
        assert turns == [["gather it"], ["x", "y"]]
        assert [mail.text for mail in await on.inbox()] == ["x+y"]


async def test_answers_for_two_askers_are_read_in_turns_of_their_own() -> None:
    async with stage(session("desk"), session("career"), session("finance")) as on:
        gates = {"career": asyncio.Event(), "finance": asyncio.Event()}
        busy, free = asyncio.Event(), asyncio.Event()

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            if prompt.words:
                busy.set()
                await free.wait()
                return ""
            mails = (await on.tools(agent).receive()).messages
            if mails[0].intent == Intent.REQUEST:
                await on.tools(agent).send(mails[0].text, "your part?")
                return "I asked"
            return " and ".join(mail.text for mail in mails)

        def part(handle: str) -> Behaviour:
            async def behaviour(agent: FakeAgent, prompt: Prompt) -> str:
                await on.tools(agent).receive()
                await gates[handle].wait()
                return f"of {handle}"

            return behaviour

        on.agent("desk", desk)
        for handle in gates:
            on.agent(handle, part(handle))
            await on.send("desk", handle)
        await on.quiet()
        await on.say("desk", "wait a moment")
        await busy.wait()
        for gate in gates.values():
            gate.set()
        await on.quiet()
        free.set()
        await on.quiet()
        assert sorted(mail.text for mail in await on.inbox()) == ["of career", "of finance"]


async def test_a_person_sees_every_final_text_of_the_work_that_was_begun_for_them() -> None:
    async with stage(session("desk"), session("career")) as on:

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            if prompt.words:
                await on.tools(agent).send("career", "is it real?")
                return "I asked Career."
            (mail,) = (await on.tools(agent).receive()).messages
            return f"Career: {mail.text}"

        on.agent("desk", desk)
        on.agent("career", says(on, "yes"))
        await on.say("desk", "look")
        await on.chat.seen(room("desk"), "Career: yes")
        assert "I asked Career." in on.chat.texts(room("desk"))
        assert "I asked Career." not in on.chat.texts(room("career"))


@pytest.mark.parametrize(
    ("end", "state", "told"),
    [
        ("NO_REPLY", Answer.NO_REPLY, "gave no answer"),
        (Result("", "refusal", Failure(FailureKind.REFUSAL, "I will not")), Answer.FAILED, "I will not"),
        (None, Answer.EXPIRED, "expired"),
    ],
)
async def test_a_closing_without_an_answer_wakes_the_asker_as_an_answer_would(
    end: str | Result | None, state: Answer, told: str
) -> None:
    async with stage(session("desk"), session("c", agent="fake" if end else None)) as on:
        asked: list[str] = []
        closings: list[Mail] = []

        async def c(agent: FakeAgent, prompt: Prompt) -> str | Result:
            await on.tools(agent).receive()
            return end or ""

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            (mail,) = (await on.tools(agent).receive()).messages
            if mail.intent == Intent.REQUEST:
                asked.append((await on.tools(agent).send("c", "well?", ttl_s=60)).message_id)
                return "asked"
            closings.append(mail)
            return "no luck"

        on.agent("desk", desk)
        on.agent("c", c)
        await on.send("desk", "find out")
        await on.clock.advance(61)
        assert (await on.request(asked[0])).state is state
        (closing,) = closings
        assert (closing.origin, closing.in_reply_to) == ("system", asked[0])
        assert told in closing.text
        assert [mail.text for mail in await on.inbox()] == ["no luck"]


async def test_a_closing_that_is_never_read_closes_the_parent_as_failed() -> None:
    async with stage(session("desk"), session("career")) as on:

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            if not asked:
                await on.tools(agent).receive()
                asked.append((await on.tools(agent).send("career", "well?")).message_id)
            return "I do not look"

        asked: list[str] = []
        on.agent("desk", desk)
        on.agent("career", says(on, "yes"))
        sent = await on.send("desk", "find out")
        await on.quiet()
        request = await on.request(sent.message_id)
        assert request.state is Answer.FAILED
        assert "could not be delivered" in (request.reason or "")
        closing = await on.message((await on.request(asked[0])).closing or "")
        assert (closing.outcome, closing.unread) == (Outcome.FAILED, 1)
        (told,) = await on.inbox()
        assert told.in_reply_to == sent.message_id


async def test_a_closing_that_a_person_discards_closes_the_parent_as_failed() -> None:
    async with stage(session("desk"), session("career")) as on:

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            (mail,) = (await on.tools(agent).receive()).messages
            if mail.intent == Intent.REQUEST:
                await on.tools(agent).send("career", "well?")
                return "asked"
            await on.say("desk", "/stop", key="stop")
            return "unreached"

        on.agent("desk", desk)
        on.agent("career", says(on, "yes"))
        sent = await on.send("desk", "find out")
        await on.chat.seen(room("desk"), "Run it again?")
        assert (await on.request(sent.message_id)).open
        assert await on.press("desk", "Discard") == "It is discarded."
        await on.quiet()
        assert (await on.request(sent.message_id)).state is Answer.FAILED


async def test_a_parent_whose_only_question_is_withdrawn_from_outside_is_not_forgotten() -> None:
    async with stage(session("desk"), session("tool", agent=None)) as on:
        asked: list[str] = []

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            asked.append((await on.tools(agent).send("tool", "well?")).message_id)
            return "asked"

        on.agent("desk", desk)
        sent = await on.send("desk", "find out")
        await on.quiet()
        assert (await on.request(sent.message_id)).open
        person = await on.shell("desk", Origin.USER)
        await on.exchange.cancel(person, asked[0])
        assert (await on.request(sent.message_id)).state is Answer.FAILED
        assert len(await on.inbox()) == 1


async def test_a_question_withdrawn_in_its_own_turn_leaves_the_answer_to_the_final_text() -> None:
    async with stage(session("desk"), session("tool", agent=None)) as on:

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            asked = await on.tools(agent).send("tool", "well?")
            await on.tools(agent).cancel(asked.message_id)
            return "I know it myself"

        on.agent("desk", desk)
        await on.send("desk", "find out")
        await on.quiet()
        assert [mail.text for mail in await on.inbox()] == ["I know it myself"]


async def test_an_answer_left_without_wake_answers_its_asker_once_another_turn_has_used_it_up() -> None:
    async with stage(session("desk"), session("tool", agent=None), limits=Limits(stop_grace_s=0.05)) as on:
        asked: list[str] = []

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            mails = (await on.tools(agent).receive()).messages
            if mails and mails[0].intent == Intent.REQUEST:
                asked.append((await on.tools(agent).send("tool", "well?")).message_id)
                return "asked"
            read.extend(mail.text for mail in mails)
            return "seen"

        read: list[str] = []
        on.agent("desk", desk)
        sent = await on.send("desk", "find out")
        await on.quiet()
        await on.say("desk", "/stop")
        await on.exchange.reply(await on.shell("tool"), asked[0], "well")
        await on.say("desk", "/stop all")
        await on.quiet()
        assert read == []
        assert (await on.request(sent.message_id)).open
        await on.say("desk", "go on")
        await on.quiet()
        assert read == ["well"]
        assert (await on.request(sent.message_id)).state is Answer.NO_REPLY
