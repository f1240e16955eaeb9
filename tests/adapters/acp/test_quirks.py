"""Where agents differ from each other: what their presets say of it is what the runtime does."""

import asyncio
import json

import pytest

from adapters.acp import AgentSpec
from adapters.acp.presets import PRESETS, Quirks, quirks_of
from bridge.launching import Definition
from bridge.ports.runtime import Context, Text, Thought, ToolBegun
from bridge.turn import FailureKind
from tests.adapters.acp.bench import Bench, Ear


def chunk(text: str, **more: str) -> str:
    """A step of a script that sends it as it is."""
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}, **more}
    params = {"sessionId": "$session", "update": update}
    return f"raw {json.dumps({'jsonrpc': '2.0', 'method': 'session/update', 'params': params})}"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Billing or credits exhausted: HTTP 402", FailureKind.BILLING),
        ("Invalid API response after 3 retries: no choices", FailureKind.CAPACITY),
        ("Context length exceeded (200,000 tokens). Cannot compress further.", FailureKind.CONFIG),
    ],
)
async def test_what_hermes_says_of_a_failed_turn_is_no_answer(bench: Bench, text: str, kind: FailureKind) -> None:
    agent = await bench.start(bench.runtime(bench.spec(preset="hermes")))
    result = await bench.say(agent, f"do: fail-as-text {text}")
    assert result.failure is not None
    assert (result.failure.kind, result.failure.detail) == (kind, text)
    assert (await bench.say(agent, f"do: say {text}")).failure is None, "with usage it is an answer"


async def test_hermes_tells_of_billing_in_several_paragraphs(bench: Bench) -> None:
    agent = await bench.start(bench.runtime(bench.spec(preset="hermes")))
    first = "Billing or credits exhausted: HTTP 402\n\n"
    result = await bench.say(agent, f"do: {chunk(first)} ; fail-as-text Top up.")
    assert result.failure is not None
    assert result.failure.kind is FailureKind.BILLING


async def test_an_agent_that_only_puts_a_prompt_aside_is_wedged_and_started_again(bench: Bench) -> None:
    agent = await bench.start(bench.runtime(bench.spec(preset="hermes")))
    result = await bench.say(agent, "do: fail-as-text Queued for the next turn. (1 queued)")
    assert result.failure is not None
    assert result.failure.temporary
    assert not agent.alive


async def test_banners_are_no_part_of_an_answer(bench: Bench) -> None:
    agent = await bench.start(bench.runtime(bench.spec(preset="codex")))
    warning = "Warning: slow disk\n\n"
    ear = Ear()
    result = await bench.say(agent, f"do: {chunk(warning)} ; say 42", ear)
    assert result.final == "42"
    assert ear.events == [Thought(warning), Text("42")]
    result = await bench.say(agent, f"do: {chunk(warning, messageId='m-1')} ; say 42")
    assert result.final == "Warning: slow disk\n\n42", "what belongs to a message is its agent's own word"


async def test_an_agent_that_tells_of_lost_contexts_is_believed_when_it_does_not(bench: Bench) -> None:
    for preset, context in (("opencode", Context.RESUMED), ("hermes", Context.LOST), (None, Context.LOST)):
        spec = bench.spec("--unknown", "empty", preset=preset)
        agent = await bench.start(bench.runtime(spec), alias="20260801_110135_3a75b0")
        assert agent.context is context


@pytest.mark.parametrize("preset", ["scripted", "opencode"])
async def test_whether_a_cancel_amid_a_tool_call_spoils_a_process_is_told_by_its_preset(
    bench: Bench, preset: str
) -> None:
    agent = await bench.start(bench.runtime(bench.spec(preset=preset)))
    ear = Ear()
    running = asyncio.create_task(bench.say(agent, "do: begin bash ; hang", ear))
    await ear.hears(ToolBegun)
    await agent.cancel(grace_s=10)
    assert (await running).cancelled
    assert agent.alive == (preset == "opencode")


def test_a_session_that_is_held_to_another_command_has_none_of_the_quirks_of_a_preset() -> None:
    spec = AgentSpec("desk", PRESETS["hermes"].command, preset="hermes")
    assert spec.held_to(spec.definition).preset == "hermes"
    assert spec.held_to(Definition("desk", ("codex-acp",))).preset is None
    assert quirks_of(None) == Quirks()
