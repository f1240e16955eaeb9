"""A defect or an outage in one part ends neither the other parts nor the message that it concerns."""

import asyncio
from collections.abc import Sequence

import pytest

from adapters.memory.store import MemoryStore
from bridge.errors import Code, Refused
from bridge.ids import SessionId
from bridge.message import Intent, Message, Outcome, State
from bridge.ports.chat import Heard, Pressed
from bridge.ports.runtime import Prompt, Result, ToolBegun
from bridge.post import Part
from bridge.request import Answer
from bridge.turn import Failure, FailureKind
from tests.fakes.chat import FakeChat
from tests.fakes.fragile import FragileStore
from tests.fakes.runtime import Behaviour, FakeAgent
from tests.flow.stage import OPERATOR, Stage, ident, room, session, stage

BACKOFF_S = 61


def reading(on: Stage, final: str = "done") -> Behaviour:
    async def behaviour(agent: FakeAgent, prompt: Prompt) -> str:
        await on.tools(agent).receive()
        return final

    return behaviour


async def test_a_lane_that_ended_by_a_defect_is_begun_again_by_the_due_time_scan() -> None:
    class Broken(MemoryStore):
        broken = False

        async def queue(self, session: SessionId) -> list[Message]:
            if self.broken:
                raise KeyError("a defect")
            return await super().queue(session)

    store = Broken()
    async with stage(session("career"), store=store) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            store.broken = len(on.runtime.prompts) == 1
            return ""

        on.agent("career", career)
        sent = await on.send("career", "hello", intent=Intent.INFORM)
        await on.quiet()
        assert len(on.runtime.prompts) == 1
        store.broken = False
        await on.clock.advance(30)
        assert len(on.runtime.prompts) == 2
        assert (await on.message(sent.message_id)).state is State.SETTLED


async def test_a_turn_whose_end_cannot_be_stored_is_parked_and_its_lane_goes_on() -> None:
    class Choosy(FakeChat):
        def compose(self, text: str, *, rich: bool = False) -> Sequence[Part]:
            if "indigestible" in text:
                raise LookupError(text)
            return super().compose(text, rich=rich)

    async with stage(session("career"), chat=Choosy()) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            return "indigestible" if len(on.runtime.prompts) == 1 else "fine"

        on.agent("career", career)
        first, second = await on.send("career", "one"), await on.send("career", "two")
        await on.quiet()
        message = await on.message(first.message_id)
        assert (message.state, message.reason) == (State.PARKED, "the end of the turn could not be stored")
        assert (await on.request(second.message_id)).state is Answer.ANSWERED


async def test_a_person_is_not_told_that_words_were_heard_while_the_store_is_out_of_reach() -> None:
    store = FragileStore()
    async with stage(session("career"), store=store) as on:
        await on.say("career", "hello")
        await on.quiet()
        store.down = True
        for text in ("hello again", "/status", "/ask career hello"):
            with pytest.raises(Refused) as refused:
                await on.exchange.inbound.hear(Heard(room("career"), OPERATOR, text, text))
            assert refused.value.code is Code.UNAVAILABLE
        with pytest.raises(Refused) as pressed:
            await on.exchange.inbound.press(Pressed(room("career"), OPERATOR, "retry:some"))
        assert pressed.value.code is Code.UNAVAILABLE
        store.down = False
        await on.quiet()
        assert len(on.runtime.prompts) == 1


async def test_buttons_of_what_is_gone_say_so() -> None:
    async with stage(session("career")) as on:
        for action, told in (
            ("retry:gone", "decided already"),
            ("discard:gone", "decided already"),
            ("more:gone", "not known"),
        ):
            assert told in await on.exchange.inbound.press(Pressed(room("career"), OPERATOR, action))


@pytest.mark.parametrize("end", ["stop", "refusal", "crash", "tools"])
async def test_what_was_read_aside_in_a_turn_that_came_to_nothing_is_mail_again(end: str) -> None:
    async with stage(session("career")) as on:
        read = asyncio.Event()

        async def career(agent: FakeAgent, prompt: Prompt) -> str | Result:
            await on.tools(agent).receive()
            read.set()
            match end:
                case "stop":
                    await asyncio.Event().wait()
                case "tools":
                    assert agent.listener is not None
                    await agent.listener.happened(ToolBegun("1", "Bash", reading=False))
            kind = FailureKind.REFUSAL if end == "refusal" else FailureKind.CRASH
            return Result("", "failed", Failure(kind, "no"))

        on.agent("career", career)
        aside = await on.send("career", "by the way", wake=False)
        await on.say("career", "work")
        await read.wait()
        if end == "stop":
            await on.say("career", "/stop")
        await on.quiet()
        message = await on.message(aside.message_id)
        assert (message.state, message.attempts) == (State.QUEUED, 0 if end == "stop" else 1)
        assert (await on.request(aside.message_id)).state is Answer.OPEN


async def test_an_answer_that_cannot_be_acted_on_fails_what_waits_for_it() -> None:
    async with stage(session("desk"), session("career")) as on:

        async def desk(agent: FakeAgent, prompt: Prompt) -> str | Result:
            (mail,) = (await on.tools(agent).receive()).messages
            if mail.intent == "reply":
                return Result("", "failed", Failure(FailureKind.REFUSAL, "I will not"))
            await on.tools(agent).send("career", "a question")
            return "asked"

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            return "the answer"

        on.agent("desk", desk)
        on.agent("career", career)
        sent = await on.send("desk", "find out")
        await on.quiet()
        request = await on.request(sent.message_id)
        assert request.state is Answer.FAILED
        assert "could not be delivered: the agent refused: I will not" in (request.reason or "")
        assert (await on.message(sent.message_id)).outcome is Outcome.ACKED


async def test_a_runtime_that_breaks_its_contract_wedges_neither_its_lane_nor_another() -> None:
    async with stage(session("career"), session("finance")) as on:
        on.runtime.defects[ident("career")] = KeyError("a defect")
        on.agent("career", reading(on))
        on.agent("finance", reading(on))
        sent, other = await on.send("career", "look"), await on.send("finance", "look")
        await on.quiet()
        assert (await on.request(other.message_id)).state is Answer.ANSWERED
        on.runtime.defects.clear()
        await on.clock.advance(BACKOFF_S)
        assert (await on.request(sent.message_id)).state is Answer.ANSWERED


async def test_a_prompt_that_raises_costs_an_attempt_and_the_agent() -> None:
    async with stage(session("career")) as on:
        raised: list[FakeAgent] = []

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            if not raised:
                raised.append(agent)
                raise KeyError("a defect")
            await on.tools(agent).receive()
            return "done"

        on.agent("career", career)
        sent = await on.send("career", "look")
        await on.clock.advance(BACKOFF_S)
        assert (await on.request(sent.message_id)).state is Answer.ANSWERED
        assert raised[0].closed
        assert (await on.message(sent.message_id)).attempts == 1


async def test_a_store_that_is_out_of_reach_at_the_end_of_a_turn_loses_nothing() -> None:
    store = FragileStore()
    async with stage(session("career"), store=store) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            store.down = True
            return "the answer"

        on.agent("career", career)
        sent = await on.send("career", "look")
        await on.clock.advance(30)
        assert store.refused > 1
        store.down = False
        await on.clock.advance(10)
        assert (await on.request(sent.message_id)).state is Answer.ANSWERED
        assert len(on.runtime.prompts) == 1
        await on.chat.seen(room("career"), "the answer")


async def test_a_store_that_is_out_of_reach_before_the_prompt_costs_no_attempt() -> None:
    store = FragileStore()
    async with stage(session("career"), store=store) as on:
        on.agent("career", reading(on))
        on.runtime.held[ident("career")] = gate = asyncio.Event()
        sent = await on.send("career", "look")
        await on.quiet()
        store.down = True
        gate.set()
        await on.clock.advance(20)
        store.down = False
        await on.clock.advance(10)
        assert (await on.request(sent.message_id)).state is Answer.ANSWERED
        assert (await on.message(sent.message_id)).attempts == 0
        assert len(on.runtime.agents) == 1
