"""Agents that stand in for a session's own while that is at a limit (DESIGN §8)."""

from collections.abc import Awaitable, Callable

import pytest

from bridge.launching import Definition, Options
from bridge.message import Outcome, State
from bridge.ports.runtime import Prompt, Result, ToolBegun
from bridge.session import Session
from bridge.turn import Failure, FailureKind
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import Stage, ident, room, session, stage

Says = Callable[[FakeAgent, Prompt], Awaitable[str | Result]]
CAREER = session("career", agent="first", options=Options(model="opus", mode="plan", fallback=("second", "third")))


def limited(on: Stage, *names: str, kind: FailureKind = FailureKind.RATE_LIMIT, resets_in: float | None = None) -> None:
    """From now on these agents fail so, and others say which one they are."""

    async def answers(agent: FakeAgent, prompt: Prompt) -> str | Result:
        if agent.name in names:
            at = on.clock.now() + resets_in if resets_in is not None else None
            retryable = kind is not FailureKind.BILLING
            return Result("", "error", Failure(kind, f"{agent.name} is at its limit", retryable, at))
        return f"{agent.name} answers"

    on.agent("career", answers)


async def says(on: Stage, words: str, seen: str) -> None:
    await on.say("career", words)
    await on.chat.seen(room("career"), seen)


async def now(on: Stage) -> Session:
    found = await on.store.session(ident("career"))
    assert found is not None
    return found


def prompted(on: Stage) -> list[str]:
    """The agents that were started, in their order."""
    return [launch.agent for launch in on.runtime.launches]


def told(on: Stage, part: str) -> int:
    return sum(part in text for text in on.chat.texts(room("career")))


@pytest.mark.parametrize("kind", [FailureKind.RATE_LIMIT, FailureKind.BILLING, FailureKind.CAPACITY])
async def test_the_next_agent_answers_and_people_are_told_which(kind: FailureKind) -> None:
    async with stage(CAREER) as on:
        limited(on, "first", kind=kind)
        sent = await on.say("career", "hello")
        await on.quiet()
        assert "second answers" in on.chat.texts(room("career"))
        shown = await on.chat.seen(room("career"), "second answers instead")
        assert "first cannot answer now (first is at its limit)" in shown.text
        assert (await now(on)).paused is None
        message = await on.message(sent)
        assert (message.state, message.outcome, message.attempts) == (State.SETTLED, Outcome.ACKED, 0)
        assert told(on, "the turn failed") == 0


async def test_they_are_told_once_a_change_and_not_once_a_turn() -> None:
    async with stage(CAREER) as on:
        limited(on, "first")
        await says(on, "one", "second answers")
        for words in ("two", "three"):
            await on.say("career", words)
            await on.quiet()
        assert told(on, "answers instead") == 1
        assert prompted(on) == ["first", "second"]


async def test_each_agent_has_a_context_of_its_own() -> None:
    async with stage(CAREER) as on:
        limited(on)
        await says(on, "one", "first answers")
        limited(on, "first", resets_in=600)
        await says(on, "two", "second answers")
        first, second = on.runtime.launches
        assert (first.alias, second.alias) == (None, None)
        await on.clock.advance(601)
        limited(on)
        await says(on, "three", "first answers again")
        await on.quiet()
        assert on.runtime.launches[-1].alias == "context-1"
        limited(on, "first")
        await on.say("career", "four")
        await on.quiet()
        assert [one.alias for one in on.runtime.launches][-1] == "context-2"


async def test_the_first_is_tried_again_once_its_limit_is_over() -> None:
    async with stage(CAREER) as on:
        limited(on, "first", resets_in=600)
        await says(on, "one", "second answers")
        limited(on)
        await on.clock.advance(599)
        await on.say("career", "two")
        await on.quiet()
        assert prompted(on) == ["first", "second"]
        await on.clock.advance(1)
        await says(on, "three", "career: first answers again.")
        assert (await now(on)).answering is None


async def test_a_model_and_a_consent_are_the_own_agents_and_a_mode_is_everybodys() -> None:
    async with stage(CAREER) as on:
        limited(on, "first")
        await says(on, "one", "second answers")
        first, second = on.runtime.launches
        assert (first.options.model, second.options.model) == ("opus", None)
        assert first.options.mode == second.options.mode == "plan"
        assert second.definition == Definition("second")


async def test_the_failure_is_shown_where_all_fail_and_it_is_tried_again_when_the_first_has_rested() -> None:
    async with stage(CAREER) as on:
        limited(on, "first", "second", "third", resets_in=300)
        sent = await on.say("career", "hello")
        shown = await on.chat.seen(room("career"), "the turn failed")
        assert "third is at its limit; and no other agent of the session can answer now" in shown.text
        assert "Tried again in 300 s" in shown.text
        assert prompted(on) == ["first", "second", "third"]
        await on.quiet()
        assert prompted(on) == ["first", "second", "third"], "no agent is tried twice over it"
        message = await on.message(sent)
        assert (message.state, message.attempts) == (State.QUEUED, 0)
        limited(on)
        await on.clock.advance(300)
        await on.chat.seen(room("career"), "first answers")


async def test_a_limit_that_is_over_at_once_makes_no_circle() -> None:
    async with stage(CAREER) as on:
        limited(on, "first", "second", "third", resets_in=0)
        await says(on, "hello", "the turn failed")
        await on.quiet()
        assert prompted(on) == ["first", "second", "third"]
        await on.clock.advance(59)
        assert len(on.runtime.prompts) == 3


async def test_a_person_lets_the_first_try_again_at_once() -> None:
    async with stage(CAREER) as on:
        limited(on, "first", "second", "third", kind=FailureKind.BILLING)
        await says(on, "hello", "the turn failed")
        limited(on)
        await says(on, "/resume", "first answers")


async def test_what_has_begun_to_use_tools_is_not_run_again() -> None:
    async with stage(CAREER) as on:

        async def acts(agent: FakeAgent, prompt: Prompt) -> Result:
            assert agent.listener is not None
            await agent.listener.happened(ToolBegun("1", "write", reading=False))
            return Result("", "error", Failure(FailureKind.RATE_LIMIT, "at its limit", True))

        on.agent("career", acts)
        sent = await on.say("career", "hello")
        await on.chat.seen(room("career"), "Run it again?")
        assert (await on.message(sent)).state is State.PARKED
        assert prompted(on) == ["first"]


@pytest.mark.parametrize("kind", [FailureKind.AUTH, FailureKind.CONFIG, FailureKind.CRASH, FailureKind.REFUSAL])
async def test_for_other_failures_of_its_own_agent_nobody_stands_in(kind: FailureKind) -> None:
    async with stage(CAREER) as on:
        limited(on, "first", kind=kind)
        await says(on, "hello", "the turn failed")
        assert (await now(on)).answering is None
        assert "second" not in prompted(on)


async def test_one_that_cannot_stand_in_is_passed_over() -> None:
    unfit = session("career", agent="first", options=Options(fallback=("missing", "third")))
    async with stage(unfit) as on:
        limited(on, "first")
        await says(on, "hello", "third answers")
        assert (await now(on)).paused is None
        assert told(on, "missing cannot answer now (no agent named 'missing'") == 1


async def test_a_session_without_others_fails_as_before() -> None:
    async with stage(session("career", agent="first")) as on:
        limited(on, "first", resets_in=300)
        await says(on, "hello", "first is at its limit. Tried again in 300 s")
        assert (await now(on)).standbys == ()


async def test_a_fresh_context_begins_with_its_own_agent_and_forgets_those_of_the_others() -> None:
    async with stage(CAREER) as on:
        limited(on, "first")
        await says(on, "hello", "second answers")
        await says(on, "/new", "starts afresh")
        limited(on)
        await says(on, "hello", "first answers")
        assert ((await now(on)).standbys, on.runtime.launches[-1].alias) == ((), None)


async def test_an_agent_that_stands_in_no_more_by_the_file_answers_no_more() -> None:
    async with stage(CAREER) as on:
        limited(on, "first", resets_in=600)
        await says(on, "hello", "second answers")
        await on.exchange.redeclare([session("career", agent="first", options=Options(fallback=("third",)))])
        await says(on, "and now?", "third answers")
        await says(on, "/status", "third answers for first.")


async def test_mail_of_a_peer_is_answered_by_the_one_that_stands_in() -> None:
    async with stage(CAREER, session("desk", agent=None)) as on:

        async def reads(agent: FakeAgent, prompt: Prompt) -> str | Result:
            await on.tools(agent).receive()
            if agent.name == "first":
                return Result("", "error", Failure(FailureKind.CAPACITY, "overloaded", True))
            return f"{agent.name} has read it"

        on.agent("career", reads)
        sent = await on.send("career", "is it?", caller=await on.shell("desk"))
        await on.quiet()
        request = await on.request(sent.message_id)
        assert request.state == "answered"
        assert (await on.message(request.closing or "")).text == "second has read it"
