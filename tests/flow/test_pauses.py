"""Failures that people must set right pause the session, and everybody is told (DESIGN §5)."""

import pytest

from bridge.errors import Code
from bridge.message import State
from bridge.ports.runtime import Prompt, Result, ToolBegun
from bridge.request import Answer
from bridge.turn import Failure, FailureKind
from tests.fakes.runtime import Behaviour, FakeAgent
from tests.flow.stage import Stage, ident, room, session, stage

BACKOFF_S = 61


def reading(on: Stage, final: str = "done") -> Behaviour:
    async def behaviour(agent: FakeAgent, prompt: Prompt) -> str:
        await on.tools(agent).receive()
        return final

    return behaviour


@pytest.mark.parametrize("kind", [FailureKind.AUTH, FailureKind.CONFIG, FailureKind.BILLING])
@pytest.mark.parametrize("at_start", [True, False])
async def test_what_people_must_set_right_pauses_the_session_and_tells_everybody(
    kind: FailureKind, at_start: bool
) -> None:
    async with stage(session("career"), session("desk")) as on:
        failure = Failure(kind, "no login")
        if at_start:
            on.runtime.failing[ident("career")] = failure
            on.agent("career", reading(on))
        else:
            broken = [True]

            async def career(agent: FakeAgent, prompt: Prompt) -> str | Result:
                if broken:
                    return Result("", "failed", failure)
                await on.tools(agent).receive()
                return "done"

            on.agent("career", career)
        sent = await on.send("career", "look")
        await on.chat.seen(room("career"), "no login. The session is paused and its mail waits")
        (told,) = await on.inbox()
        assert "is paused until its people set it right" in told.text
        refused = await on.refused("career", "another")
        assert (refused.code, refused.reason) == (Code.PAUSED, "default/career is paused: no login")
        await on.say("career", "hello?")
        await on.chat.seen(room("career"), "Career is paused: no login. Your message waits")
        await on.clock.advance(BACKOFF_S)
        assert (await on.message(sent.message_id)).attempts == 0
        assert (await on.message(sent.message_id)).state is State.QUEUED

        on.runtime.failing.clear()
        if not at_start:
            broken.clear()
        await on.say("career", "/resume")
        await on.chat.seen(room("career"), "Career takes work again.")
        view = await on.exchange.answer(await on.shell(), sent.message_id, 5)
        assert view.answer is Answer.ANSWERED


async def test_a_login_lost_in_the_middle_pauses_and_parks() -> None:
    async with stage(session("career")) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> Result:
            assert agent.listener is not None
            await agent.listener.happened(ToolBegun("1", "Bash", reading=False))
            return Result("", "failed", Failure(FailureKind.AUTH, "no login"))

        on.agent("career", career)
        sent = await on.send("career", "look")
        await on.quiet()
        assert (await on.message(sent.message_id)).state is State.PARKED
        assert (await on.refused("career")).code is Code.PAUSED
        said = await on.press("career", "Retry")
        assert "after /resume" in said


@pytest.mark.parametrize("retryable", [True, False])
async def test_an_agent_that_cannot_start_is_tried_again(retryable: bool) -> None:
    async with stage(session("career")) as on:
        on.runtime.failing[ident("career")] = Failure(FailureKind.TIMEOUT, "no answer", retryable=retryable)
        on.agent("career", reading(on))
        sent = await on.send("career", "look")
        await on.quiet()
        assert (await on.message(sent.message_id)).attempts == (0 if retryable else 1)
        on.runtime.failing.clear()
        await on.clock.advance(BACKOFF_S)
        view = await on.exchange.answer(await on.shell(), sent.message_id, 5)
        assert view.answer is Answer.ANSWERED


async def test_the_log_says_which_session_failed_and_why(caplog: pytest.LogCaptureFixture) -> None:
    async with stage(session("career")) as on:
        on.runtime.failing[ident("career")] = Failure(FailureKind.CONFIG, "no such command")
        await on.say("career", "go")
        await on.quiet()
    assert "default/career: its turn failed (config): no such command" in caplog.messages
