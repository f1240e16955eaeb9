"""In quiet hours peers' handoffs wait; people and answers do not (DESIGN §4)."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from adapters.memory.store import MemoryStore
from bridge.decision import Effect
from bridge.limits import Limits
from bridge.message import Origin, Outcome, State
from bridge.ports.runtime import Prompt, Result
from bridge.turn import Failure, FailureKind
from tests.fakes.clock import ManualClock
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import Stage, ident, room, rule, session, stage

BERLIN = ZoneInfo("Europe/Berlin")
CAREER = session("career", quiet=("22:00-07:00",), timezone="Europe/Berlin")
NIGHT = "2026-10-24T23:00"
"""The night in which the clock is put back there: it is nine hours until seven."""


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN).timestamp()


MORNING = at("2026-10-25T07:00")


def turns(on: Stage, handle: str = "career") -> int:
    return sum(one == ident(handle) for one, _ in on.runtime.prompts)


async def hours_pass(on: Stage, seconds: float) -> None:
    """All but the last minute of them at once."""
    on.clock.jump(seconds - 60)
    await on.clock.advance(60)


async def reads(on: Stage, agent: FakeAgent) -> str:
    await on.tools(agent).receive()
    return "done"


def reading(on: Stage, handle: str = "career") -> None:
    on.agent(handle, lambda agent, prompt: reads(on, agent))


async def test_a_handoff_waits_until_they_are_over_and_everybody_is_told() -> None:
    async with stage(CAREER, session("desk"), clock=ManualClock(at(NIGHT))) as on:
        reading(on)
        sent = await on.send("career", "is it?", wake=True)
        assert (sent.state, sent.position, sent.waits_until) == (State.QUEUED, 1, MORNING)
        assert MORNING - on.clock.now() == 9 * 3600
        await on.chat.seen(room("career"), "queued, 1st in line; quiet hours until 07:00")
        view = await on.exchange.answer(await on.shell(), sent.message_id, 0)
        assert view.reason == "quiet hours until 07:00"
        await hours_pass(on, 9 * 3600 - 1)
        assert turns(on) == 0
        await on.clock.advance(1)
        assert turns(on) == 1
        assert (await on.message(sent.message_id)).outcome is Outcome.ACKED


async def test_what_comes_outside_of_them_does_not_wait() -> None:
    async with stage(CAREER, clock=ManualClock(at("2026-10-24T21:59"))) as on:
        reading(on)
        sent = await on.send("career", "is it?", wake=True)
        assert sent.waits_until is None
        await on.quiet()
        assert turns(on) == 1


async def test_mail_without_wake_is_as_always() -> None:
    async with stage(CAREER, clock=ManualClock(at(NIGHT))) as on:
        assert (await on.send("career", "for later", wake=False)).waits_until is None


async def test_a_persons_word_is_not_held_back_and_lets_nobody_in() -> None:
    async with stage(CAREER, clock=ManualClock(at(NIGHT))) as on:
        reading(on)
        sent = await on.send("career", "is it?", wake=True)
        await on.say("career", "I cannot sleep")
        await on.quiet()
        assert [prompt.words for _, prompt in on.runtime.prompts] == ["I cannot sleep"]
        await on.say("career", "/resume")
        await on.chat.seen(room("career"), "was not stopped")
        await on.quiet()
        assert turns(on) == 1
        assert (await on.message(sent.message_id)).due_at == MORNING


async def test_the_answer_to_a_question_of_the_night_comes_in_the_night_past_what_waits() -> None:
    async with stage(CAREER, session("desk"), clock=ManualClock(at(NIGHT))) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            if prompt.words is not None:
                await on.tools(agent).send("desk", "what do you say?")
                return "I have asked."
            return (await on.tools(agent).receive()).messages[0].text

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            return "yes"

        on.agent("career", career)
        on.agent("desk", desk)
        waiting = await on.send("career", "is it?", wake=True)
        await on.say("career", "ask desk")
        await on.chat.seen(room("career"), "yes")
        await on.quiet()
        assert turns(on) == 2
        assert (await on.message(waiting.message_id)).state is State.QUEUED


async def test_what_is_tried_again_in_the_night_waits_for_the_morning() -> None:
    store = MemoryStore()
    async with stage(CAREER, clock=ManualClock(at("2026-10-24T21:59")), store=store) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> str | Result:
            if on.clock.now() < MORNING:
                busy = Failure(FailureKind.RATE_LIMIT, "busy", retryable=True, resets_at=on.clock.now() + 120)
                return Result("", "error", busy)
            return await reads(on, agent)

        on.agent("career", career)
        sent = await on.send("career", "is it?", wake=True)
        await on.clock.advance(180)
        assert (turns(on), (await on.message(sent.message_id)).due_at) == (1, MORNING)
        await hours_pass(on, 10 * 3600)
        assert (await on.message(sent.message_id)).outcome is Outcome.ACKED


async def test_a_retry_by_a_person_waits_too_and_says_so() -> None:
    async with stage(CAREER, clock=ManualClock(at("2026-10-24T21:59")), limits=Limits(stop_grace_s=0)) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            await on.clock.sleep(3600)
            return ""

        on.agent("career", career)
        sent = await on.send("career", "is it?", wake=True)
        await on.clock.advance(600)
        await on.say("career", "/stop")
        await on.quiet()
        assert (await on.message(sent.message_id)).state is State.PARKED
        assert "when the quiet hours of the session are over" in await on.press("career", "Retry")
        await on.quiet()
        assert (turns(on), (await on.message(sent.message_id)).due_at) == (1, MORNING)


async def test_hours_that_leave_the_file_hold_nothing_back_any_more_and_new_ones_do() -> None:
    store, clock = MemoryStore(), ManualClock(at(NIGHT))
    async with stage(CAREER, store=store, clock=clock) as on:
        first = await on.send("career", "is it?", wake=True)
    longer = session("career", quiet=("22:00-08:00",), timezone="Europe/Berlin")
    async with stage(longer, store=store, clock=clock) as on:
        await on.quiet()
        assert (turns(on), (await on.message(first.message_id)).due_at) == (0, MORNING + 3600)
    async with stage(session("career"), store=store, clock=clock) as on:
        reading(on)
        await on.quiet()
        assert (await on.message(first.message_id)).outcome is Outcome.ACKED


async def test_mail_of_a_session_without_an_agent_waits_to_be_read() -> None:
    build = session("build", agent=None, quiet=("22:00-07:00",), timezone="Europe/Berlin")
    async with stage(build, clock=ManualClock(at(NIGHT))) as on:
        await on.send("build", "look at this", wake=True)
        caller = await on.shell("build")
        assert (await on.exchange.receive(caller, 10)).messages == ()
        await hours_pass(on, 9 * 3600)
        assert [one.text for one in (await on.exchange.receive(caller, 10)).messages] == ["look at this"]


@pytest.mark.parametrize("agent", ["fake", None])
async def test_what_is_approved_in_the_night_waits_for_the_morning(agent: str | None) -> None:
    night = session("career", agent=agent, quiet=("22:00-07:00",), timezone="Europe/Berlin", places=(room("career"),))
    asks = [rule("default/shell", "default/career", effect=Effect.ASK)]
    async with stage(night, rules=asks, clock=ManualClock(at("2026-10-24T21:50"))) as on:
        reading(on)
        sent = await on.send("career", "is it?", wake=True)
        await on.clock.advance(900)
        await on.press_when_seen("career", "Approve once", "needs your approval")
        message = await on.message(sent.message_id)
        assert (message.state, message.due_at) == (State.QUEUED, MORNING)
        reader = await on.shell("career", Origin.USER)
        assert (await on.exchange.receive(reader, 10)).messages == ()
        await hours_pass(on, MORNING - on.clock.now())
        assert turns(on) == (1 if agent else 0)
        assert len((await on.exchange.receive(reader, 10)).messages) == (0 if agent else 1)
