"""Stopping a prompt, and ending an agent: nothing of it is left, whatever it does."""

import asyncio
import os
import signal

import pytest

from adapters.process import end, survivors
from bridge.ports.runtime import Agent, Text, ToolEnded
from bridge.turn import Process
from tests.adapters.acp.bench import Bench, Ear, gone, until


async def test_a_cancel_ends_the_prompt_and_the_agent_goes_on(bench: Bench) -> None:
    agent = await bench.start()
    ear = Ear()
    running = asyncio.create_task(bench.say(agent, "do: say half a ; hang", ear))
    await ear.hears(Text)
    await agent.cancel(grace_s=10)
    result = await running
    assert (result.final, result.stop_reason, result.cancelled) == ("half a", "cancelled", True)
    assert result.failure is None
    [frame] = bench.received("session/cancel")
    assert frame["params"] == {"sessionId": agent.alias}
    assert agent.alive
    assert (await bench.say(agent, "next")).final == "echo: next"


async def test_a_cancel_without_a_prompt_does_nothing(bench: Bench) -> None:
    agent = await bench.start()
    await agent.cancel(grace_s=0)
    assert (await bench.say(agent, "hello")).final == "echo: hello"
    await agent.cancel(grace_s=0)
    assert agent.alive
    assert bench.received("session/cancel") == []


@pytest.mark.parametrize("script", ["begin bash ; hang", "think ; hang"])
async def test_a_cancel_amid_a_tool_call_or_before_anything_needs_a_new_process(bench: Bench, script: str) -> None:
    agent = await bench.start()
    ear = Ear()
    up = bench.folder / "up"
    running = asyncio.create_task(bench.say(agent, f"do: {script.replace('hang', f'touch {up} ; hang')}", ear))
    await until(up.exists)
    await agent.cancel(grace_s=10)
    assert (await running).cancelled
    assert not agent.alive


async def test_an_internal_error_after_a_cancel_needs_a_new_process(bench: Bench) -> None:
    agent = await bench.start()
    ear = Ear()
    running = asyncio.create_task(bench.say(agent, "do: on-cancel error ; say x ; hang", ear))
    await ear.hears(Text)
    await agent.cancel(grace_s=10)
    result = await running
    assert result.cancelled
    assert result.failure is None
    assert not agent.alive


async def test_a_turn_that_ends_well_after_a_cancel_counts_as_cancelled(bench: Bench) -> None:
    agent = await bench.start()
    ear = Ear()
    running = asyncio.create_task(bench.say(agent, "do: on-cancel end ; say x ; hang", ear))
    await ear.hears(Text)
    await agent.cancel(grace_s=10)
    result = await running
    assert result.cancelled
    assert result.stop_reason == "end_turn"


async def test_a_turn_that_the_agent_itself_gave_up_counts_as_cancelled(bench: Bench) -> None:
    agent = await bench.start()
    result = await bench.say(agent, "do: say never mind ; stop cancelled")
    assert result.cancelled
    assert result.failure is None
    assert agent.alive


async def test_an_agent_that_ignores_a_cancel_is_killed_after_the_grace(bench: Bench) -> None:
    agent = await bench.start()
    ear = Ear()
    running = asyncio.create_task(bench.say(agent, "do: ignore-cancel ; say x ; hang", ear))
    await ear.hears(Text)
    await agent.cancel(grace_s=0.1)
    assert (await running).cancelled
    assert not agent.alive
    await gone(agent.process)


async def test_a_cancel_that_is_itself_cancelled_kills_at_once(bench: Bench) -> None:
    agent = await bench.start()
    ear = Ear()
    running = asyncio.create_task(bench.say(agent, "do: ignore-cancel ; say x ; hang", ear))
    await ear.hears(Text)
    cancelling = asyncio.create_task(agent.cancel(grace_s=60))
    await until(lambda: bench.received("session/cancel"))
    cancelling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelling
    assert (await running).cancelled
    await gone(agent.process)


async def test_a_prompt_whose_caller_is_cancelled_leaves_nothing_once_closed(bench: Bench) -> None:
    agent = await bench.start()
    ear = Ear()
    running = asyncio.create_task(bench.say(agent, "do: say x ; hang", ear))
    await ear.hears(Text)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not agent.alive, "what the agent does is unknown"
    await agent.close()
    await gone(agent.process)


async def test_closing_stdin_is_enough_for_an_agent_that_listens(bench: Bench) -> None:
    agent = await bench.start(bench.runtime(stop_s=60))
    await agent.close()
    assert not survivors(agent.process)
    await agent.close()
    assert not agent.alive


async def test_an_agent_that_ignores_stdin_and_sigterm_is_killed(bench: Bench) -> None:
    agent = await bench.start(bench.runtime(bench.spec("--stubborn", "yes"), stop_s=0.2))
    os.kill(agent.process.pid, signal.SIGTERM)
    assert (await bench.say(agent, "there?")).final == "echo: there?"
    await asyncio.gather(agent.close(), agent.close())
    await gone(agent.process)


async def test_a_close_that_is_cancelled_kills_at_once(bench: Bench) -> None:
    agent = await bench.start(bench.runtime(bench.spec("--stubborn", "yes"), stop_s=60))
    closing = asyncio.create_task(agent.close())
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    await gone(agent.process)


async def test_a_close_ends_a_running_prompt(bench: Bench) -> None:
    agent = await bench.start()
    ear = Ear()
    running = asyncio.create_task(bench.say(agent, "do: ignore-cancel ; say x ; hang", ear))
    await ear.hears(Text)
    await agent.close()
    assert (await running).failure


async def _with_orphan(bench: Bench) -> tuple[Agent, int]:
    agent = await bench.start()
    return agent, int((await bench.say(agent, "do: orphan ; say $last")).final)


async def test_what_an_agent_leaves_behind_goes_with_it(bench: Bench) -> None:
    agent, orphan = await _with_orphan(bench)
    assert orphan in survivors(agent.process)
    await agent.close()
    await gone(agent.process)


async def test_an_orphan_goes_too_when_the_agent_dies_by_itself(bench: Bench) -> None:
    """It holds the agent's pipes open, so that their end tells nothing of the death."""
    agent, orphan = await _with_orphan(bench)
    assert orphan in survivors(agent.process)
    assert (await bench.say(agent, "do: crash")).failure
    await gone(agent.process)


async def test_a_process_of_an_earlier_bridge_is_ended_with_its_group(bench: Bench) -> None:
    agent, orphan = await _with_orphan(bench)
    assert orphan in survivors(agent.process)
    await bench.runtime(stop_s=0.2).end(agent.process)
    assert not survivors(agent.process)


async def test_another_process_with_the_same_pid_is_left_alone(bench: Bench) -> None:
    agent = await bench.start()
    stranger = Process(agent.process.pid, "1")
    assert not survivors(stranger)
    await end(stranger, 0.1)
    assert (await bench.say(agent, "there?")).final == "echo: there?"


async def test_a_cancel_after_a_tool_has_ended_needs_no_new_process(bench: Bench) -> None:
    agent = await bench.start()
    ear = Ear()
    running = asyncio.create_task(bench.say(agent, "do: tool x ; hang", ear))
    await ear.hears(ToolEnded)
    await agent.cancel(grace_s=10)
    assert (await running).cancelled
    assert agent.alive
