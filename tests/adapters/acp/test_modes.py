"""A prompt that has to run in a mode of the agent, or else not at all."""

import asyncio

from bridge.ports.runtime import Agent, Prompt
from bridge.turn import FailureKind
from tests.adapters.acp.bench import Bench, Ear

TOLD = (
    'raw {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$session",'
    '"update":{"sessionUpdate":"current_mode_update","currentModeId":"read-only"}}}'
)
READ_ONLY = Prompt(notice="Read your mail.", mode="read-only")


def modes(bench: Bench) -> list[str]:
    """Those that agents were set to, and each prompt among them as nothing."""
    frames = [*bench.received("session/set_mode"), *bench.received("session/prompt")]
    return [frame["params"].get("modeId", "") for frame in sorted(frames, key=lambda frame: int(frame["id"]))]


async def run(agent: Agent, prompt: Prompt) -> None:
    result = await agent.prompt(prompt, Ear())
    assert result.failure is None


async def test_the_mode_is_set_before_the_prompt_and_left_after_it(bench: Bench) -> None:
    agent = await bench.start()
    await run(agent, READ_ONLY)
    await run(agent, Prompt(words="hello"))
    assert modes(bench) == ["read-only", "", "default", ""]


async def test_it_goes_back_to_the_mode_that_the_agent_last_told_of(bench: Bench) -> None:
    agent = await bench.start()
    await run(agent, Prompt(words=f"do: {TOLD}"))
    await run(agent, READ_ONLY)
    assert modes(bench) == ["", "read-only", "", "read-only"]


async def test_what_it_tells_of_a_mode_that_it_is_away_in_is_not_its_own(bench: Bench) -> None:
    agent = await bench.start(bench.runtime(bench.spec(rules=[{"on": "notice", "script": TOLD}])))
    await run(agent, READ_ONLY)
    assert modes(bench) == ["read-only", "", "default"]


async def test_a_mode_that_is_not_offered_is_a_matter_of_configuration_and_nothing_is_prompted(bench: Bench) -> None:
    agent = await bench.start()
    result = await agent.prompt(Prompt(notice="Read your mail.", mode="plan"), Ear())
    assert result.failure is not None
    assert (result.failure.kind, result.failure.retryable) == (FailureKind.CONFIG, False)
    assert "the mode 'plan'" in result.failure.detail
    assert "it offers default, read-only" in result.failure.detail
    assert modes(bench) == []
    assert agent.history.prompts == ()
    assert agent.alive
    await run(agent, Prompt(words="hello"))


async def test_a_mode_that_cannot_be_set_is_one_too(bench: Bench) -> None:
    refuses = [{"on": "session/set_mode", "script": "fail not now"}]
    agent = await bench.start(bench.runtime(bench.spec(rules=refuses)))
    result = await agent.prompt(READ_ONLY, Ear())
    assert result.failure is not None
    assert result.failure.kind is FailureKind.CONFIG
    assert modes(bench) == ["read-only"]


async def test_a_stop_while_the_mode_is_being_set_is_a_stop(bench: Bench) -> None:
    slow = [{"on": "session/set_mode", "script": "wait 60"}]
    agent = await bench.start(bench.runtime(bench.spec(rules=slow)))
    prompting = asyncio.create_task(agent.prompt(READ_ONLY, Ear()))
    while not bench.received("session/set_mode"):  # noqa: ASYNC110 - another process tells by its file alone
        await asyncio.sleep(0.01)
    await agent.cancel(0.05)
    result = await prompting
    assert result.cancelled
    assert bench.received("session/prompt") == []
