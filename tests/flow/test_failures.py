"""Turns that fail: what is tried again, what is not, and who is told (invariants 2, 3 and 5)."""

import pytest

from bridge import briefing
from bridge.limits import Limits
from bridge.message import Intent, Outcome, State
from bridge.ports.chat import Pressed
from bridge.ports.runtime import Prompt, Result, ToolBegun
from bridge.request import Answer
from bridge.turn import Failure, FailureKind
from tests.fakes.runtime import Behaviour, FakeAgent
from tests.flow.stage import OPERATOR, USER, room, session, stage

CRASH = Failure(FailureKind.CRASH, "the agent ended")
BACKOFF_S = 61


def failing(*failures: Failure | None, final: str = "done") -> Behaviour:
    """Fails once with each failure, and then succeeds."""
    left = list(failures)

    async def behaviour(agent: FakeAgent, prompt: Prompt) -> str | Result:
        failure = left.pop(0) if left else None
        return Result("", "failed", failure) if failure else final

    return behaviour


async def test_a_crash_before_any_tool_is_retried_after_a_while_and_says_so_to_the_agent() -> None:
    async with stage(session("career")) as on:
        on.agent("career", failing(CRASH, final="here it is"))
        await on.say("career", "look at this offer")
        await on.chat.seen(room("career"), "the turn failed: the agent ended. Tried again in")
        assert len(on.runtime.prompts) == 1
        await on.clock.advance(BACKOFF_S)
        await on.chat.seen(room("career"), "here it is")
        assert [prompt.notice for _, prompt in on.runtime.prompts] == [None, briefing.CONTINUATION_NOTICE]
        assert [prompt.words for _, prompt in on.runtime.prompts] == ["look at this offer"] * 2


async def test_five_crashes_end_a_request_as_dead_and_its_asker_is_told_once() -> None:
    async with stage(session("career")) as on:
        on.agent("career", failing(*[CRASH] * 9))
        sent = await on.send("career", "look at this")
        for _ in range(8):
            await on.clock.advance(BACKOFF_S)
        assert len(on.runtime.prompts) == 5
        message = await on.message(sent.message_id)
        assert (message.state, message.outcome, message.attempts) == (State.SETTLED, Outcome.DEAD, 5)
        assert (await on.request(sent.message_id)).state is Answer.FAILED
        (told,) = await on.inbox()
        assert told.origin == "system"
        assert "5 attempts failed: the agent ended" in told.text


async def test_the_person_whose_words_could_not_be_acted_on_is_told_at_the_place() -> None:
    async with stage(session("career"), limits=Limits(attempts=2)) as on:
        on.agent("career", failing(*[CRASH] * 9))
        await on.say("career", "look at this offer")
        await on.clock.advance(BACKOFF_S)
        await on.chat.seen(room("career"), "Not done: 2 attempts failed: the agent ended\n“look at this offer”")
        await on.chat.seen(room("career"), "the turn failed: the agent ended. It is given up.")
        told = [text for text in on.chat.texts(room("career")) if "the turn failed" in text]
        assert len(told) == 1


@pytest.mark.parametrize("press", ["Retry", "Discard"])
async def test_a_button_decides_about_the_time_that_it_was_shown_for_and_no_later_one(press: str) -> None:
    async with stage(session("career")) as on:
        runs = []

        async def career(agent: FakeAgent, prompt: Prompt) -> Result:
            runs.append(await on.tools(agent).receive())
            assert agent.listener is not None
            await agent.listener.happened(ToolBegun("1", "Bash", reading=False))
            return Result("", "failed", CRASH)

        on.agent("career", career)
        sent = await on.send("career", "pay the bill")
        first = await on.chat.seen(room("career"), "Run it again?")
        await on.quiet()
        assert not [text for text in on.chat.texts(room("career")) if "the turn failed: " in text], "told once"
        old = next(button.action for button in first.buttons if button.label == press)
        await on.press("career", "Retry")
        await on.quiet()
        assert (len(runs), (await on.message(sent.message_id)).state) == (2, State.PARKED)
        assert (
            await on.exchange.inbound.press(Pressed(room("career"), OPERATOR, old)) == "This has been decided already."
        )
        await on.quiet()
        assert (len(runs), (await on.message(sent.message_id)).state) == (2, State.PARKED)


async def test_waiting_for_a_retry_rests_the_lane_so_that_nothing_overtakes() -> None:
    async with stage(session("career")) as on:
        seen: list[str] = []
        fails = [True]

        async def career(agent: FakeAgent, prompt: Prompt) -> str | Result:
            (mail,) = (await on.tools(agent).receive()).messages
            if fails and fails.pop():
                return Result("", "failed", CRASH)
            seen.append(mail.text)
            return "done"

        on.agent("career", career)
        await on.send("career", "first")
        await on.send("career", "second")
        await on.quiet()
        assert (seen, len(on.runtime.prompts)) == ([], 1)
        await on.clock.advance(BACKOFF_S)
        assert seen == ["first", "second"]


@pytest.mark.parametrize("press", ["Retry", "Discard"])
async def test_a_failure_after_tools_began_waits_for_an_operators_word_given_once(press: str) -> None:
    async with stage(session("career")) as on:
        runs: list[str] = []

        async def career(agent: FakeAgent, prompt: Prompt) -> str | Result:
            await on.tools(agent).receive()
            runs.append("run")
            if len(runs) > 1:
                return "done"
            assert agent.listener is not None
            await agent.listener.happened(ToolBegun("1", "Bash", reading=False))
            return Result("", "failed", CRASH)

        on.agent("career", career)
        sent = await on.send("career", "pay the bill")
        await on.chat.seen(room("career"), "may have been acted on already. Run it again?")
        await on.clock.advance(BACKOFF_S)
        assert (len(runs), (await on.message(sent.message_id)).state) == (1, State.PARKED)
        (told,) = await on.inbox()
        assert "is parked" in told.text

        stranger = await on.press("career", press, USER)
        assert "only an operator" in stranger
        assert (await on.message(sent.message_id)).state is State.PARKED
        action = next(b.action for p in on.chat.posts.values() for b in p.buttons if b.label == press)
        said = await on.press("career", press)
        again = await on.exchange.inbound.press(Pressed(room("career"), OPERATOR, action))
        assert again == "This has been decided already."
        await on.quiet()
        message = await on.message(sent.message_id)
        if press == "Retry":
            assert said == "It is run again."
            assert (len(runs), message.outcome) == (2, Outcome.ACKED)
            assert (await on.request(sent.message_id)).state is Answer.ANSWERED
        else:
            assert said == "It is discarded."
            assert (len(runs), message.outcome) == (1, Outcome.CANCELLED)
            assert (await on.request(sent.message_id)).state is Answer.CANCELLED
        parked = next(post for post in on.chat.posts.values() if post.key.startswith("parked:"))
        assert parked.buttons == ()


async def test_where_nobody_attends_a_failure_after_tools_fails_at_once() -> None:
    async with stage(session("career")) as on:
        on.chat.open = False

        async def career(agent: FakeAgent, prompt: Prompt) -> Result:
            assert agent.listener is not None
            await agent.listener.happened(ToolBegun("1", "Bash", reading=False))
            return Result("", "failed", CRASH)

        on.agent("career", career)
        sent = await on.send("career", "pay the bill")
        await on.quiet()
        message = await on.message(sent.message_id)
        assert message.outcome is Outcome.FAILED
        assert "nobody attends" in (message.reason or "")
        assert (await on.request(sent.message_id)).state is Answer.FAILED


async def test_a_refusal_of_the_agent_is_final() -> None:
    async with stage(session("career")) as on:
        on.agent("career", failing(*[Failure(FailureKind.REFUSAL, "against its rules")] * 2))
        sent = await on.send("career", "do evil")
        await on.clock.advance(BACKOFF_S)
        assert len(on.runtime.prompts) == 1
        assert (await on.message(sent.message_id)).outcome is Outcome.FAILED
        assert (await on.request(sent.message_id)).reason == "the agent refused: against its rules"


async def test_a_rate_limit_is_waited_out_to_the_second_and_costs_no_attempt() -> None:
    async with stage(session("career")) as on:
        limited = Failure(FailureKind.RATE_LIMIT, "out of credit", retryable=True, resets_at=on.clock.now() + 3_600)
        on.agent("career", failing(limited))
        said = await on.say("career", "hello")
        await on.quiet()
        await on.clock.advance(3_599)
        assert len(on.runtime.prompts) == 1
        await on.clock.advance(1)
        assert len(on.runtime.prompts) == 2
        (requeued,) = [step for step in await on.store.steps(said) if step.detail.get("requeued")]
        assert (requeued.detail["reason"], requeued.detail["due_in_s"]) == ("out of credit", 3_600)
        assert (await on.message(said)).attempts == 0


async def test_a_reset_that_is_over_already_does_not_make_the_lane_spin() -> None:
    async with stage(session("career")) as on:
        limited = Failure(FailureKind.RATE_LIMIT, "out of credit", retryable=True, resets_at=on.clock.now() - 60)
        on.agent("career", failing(*[limited] * 5))
        await on.say("career", "hello")
        await on.quiet()
        assert len(on.runtime.prompts) == 1


async def test_temporary_failures_are_tried_at_growing_distance() -> None:
    async with stage(session("career")) as on:
        busy = Failure(FailureKind.CAPACITY, "overloaded", retryable=True)
        on.agent("career", failing(*[busy] * 1_000))
        said = await on.say("career", "hello")
        await on.clock.advance(600)
        assert 10 < len(on.runtime.prompts) < 60
        assert (await on.message(said)).state is State.QUEUED


async def test_of_an_agent_that_is_never_available_people_are_told_once_and_how_to_override() -> None:
    async with stage(session("career")) as on:
        rests_s = 3_000
        away = Failure(FailureKind.CAPACITY, "HTTP 503", retryable=True, resets_at=on.clock.now() + rests_s)
        on.agent("career", failing(*[away] * 1_000))
        said = await on.say("career", "hello")
        await on.send("career", "behind it")
        await on.clock.advance(rests_s - 1)
        assert len(on.runtime.prompts) == 1
        await on.say("career", "/resume")
        await on.clock.advance(600)
        assert len(on.runtime.prompts) > 2
        told = [post for post in on.chat.posts.values() if post.key.startswith("failure:")]
        assert ["or at once after /resume" in post.text for post in told] == [True]
        assert {prompt.words for _, prompt in on.runtime.prompts} == {"hello"}
        assert (await on.message(said)).attempts == 0


async def test_the_persons_next_message_overrides_the_wait_and_keeps_the_order() -> None:
    async with stage(session("career")) as on:
        limited = Failure(FailureKind.RATE_LIMIT, "out of credit", retryable=True, resets_at=on.clock.now() + 3_600)
        on.agent("career", failing(limited))
        await on.say("career", "first")
        await on.quiet()
        await on.say("career", "I have paid")
        await on.quiet()
        assert [prompt.words for _, prompt in on.runtime.prompts] == ["first", "first", "I have paid"]


async def test_what_was_read_in_a_failed_turn_must_be_read_again_to_count() -> None:
    async with stage(session("career")) as on:
        turns: list[bool] = []

        async def career(agent: FakeAgent, prompt: Prompt) -> str | Result:
            turns.append(True)
            if len(turns) == 1:
                await on.tools(agent).receive()
                return Result("", "failed", CRASH)
            if len(turns) == 3:
                (mail,) = (await on.tools(agent).receive()).messages
                assert mail.redelivered
                return "read"
            return "not read"

        on.agent("career", career)
        sent = await on.send("career", "look")
        await on.clock.advance(BACKOFF_S)
        assert len(turns) == 3
        view = await on.exchange.answer(await on.shell(), sent.message_id, 5)
        assert view.reply is not None
        assert view.reply.text == "read"


@pytest.mark.parametrize("kind", [FailureKind.REFUSAL, FailureKind.CRASH])
@pytest.mark.parametrize("tools", [True, False])
async def test_one_text_that_the_agent_cannot_bear_does_not_spoil_every_turn(kind: FailureKind, tools: bool) -> None:
    async with stage(session("career"), limits=Limits(attempts=2)) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> str | Result:
            assert agent.listener is not None
            read = (await on.tools(agent).receive()).messages
            if tools:
                await agent.listener.happened(ToolBegun("1", "Bash", reading=False))
            if any(one.text == "poison" for one in read):
                return Result("", "failed", Failure(kind, "cannot bear it"))
            return f"done: {prompt.words}"

        on.agent("career", career)
        poison = await on.send("career", "poison", intent=Intent.INFORM, wake=False)
        for words in ("one", "two", "three"):
            await on.say("career", words)
            await on.clock.advance(BACKOFF_S)
        await on.chat.seen(room("career"), "done: three")
        assert (await on.message(poison.message_id)).outcome is Outcome.DEAD
        (told,) = await on.inbox()
        assert "2 attempts failed" in told.text
