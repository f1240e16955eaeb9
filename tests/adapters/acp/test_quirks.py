"""Where agents differ from each other: what their presets say of it is what the runtime does."""

import asyncio
import json

import pytest

from adapters.acp import AgentSpec
from adapters.acp.presets import PRESETS, Quirks, quirks_of
from bridge.launching import Definition, Options
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


async def test_an_agent_that_takes_any_context_for_its_own_has_it_only_if_it_replays_something(bench: Bench) -> None:
    for preset, context in (("codex", Context.LOST), ("claude-code", Context.RESUMED)):
        runtime = bench.runtime(bench.spec(preset=preset))
        empty = await bench.start(runtime)
        await empty.close()
        assert (await bench.start(runtime, alias=empty.alias)).context is context
        used = await bench.start(runtime)
        await bench.say(used, "hello")
        await used.close()
        assert (await bench.start(runtime, alias=used.alias)).context is Context.RESUMED


async def test_hermes_gets_its_tools_back_after_its_model_is_set(bench: Bench) -> None:
    for preset, loads in (("hermes", 1), ("scripted", 0)):
        runtime = bench.runtime(bench.spec("--models", "a,b", "--choice", "models", preset=preset), tools=True)
        first = await bench.start(runtime, options=Options(model="a"))
        await bench.say(first, "hello")
        await first.close()
        before = len(bench.received("session/load"))
        again = await bench.start(runtime, alias=first.alias, options=Options(model="b"))
        loaded = bench.received("session/load")[before:]
        assert len(loaded) == 1 + loads
        assert [one["params"]["mcpServers"][0]["name"] for one in loaded] == ["tieline"] * len(loaded)
        assert (again.context, len(again.history.prompts)) == (Context.RESUMED, 1)


async def test_claude_code_is_let_use_the_tools_of_the_bridge_without_asking_a_person(bench: Bench) -> None:
    for tools, meta in ((True, {"claudeCode": {"options": {"allowedTools": ["mcp__tieline"]}}}), (False, None)):
        runtime = bench.runtime(bench.spec(preset="claude-code"), tools=tools)
        first = await bench.start(runtime)
        await first.close()
        await bench.start(runtime, alias=first.alias)
        for method in ("session/new", "session/load"):
            assert bench.received(method)[-1]["params"].get("_meta") == meta


async def test_a_notice_of_claude_code_is_no_part_of_an_answer(bench: Bench) -> None:
    agent = await bench.start(bench.runtime(bench.spec(preset="claude-code")))
    notice = chunk("**Warning:** your requests go through a gateway")
    assert (await bench.say(agent, f"do: {notice} ; say 42")).final == "42"


async def test_a_turn_of_codex_that_broke_is_no_answer_however_it_ends(bench: Bench) -> None:
    agent = await bench.start(bench.runtime(bench.spec(preset="codex")))

    def state(kind: str) -> str:
        told = {"sessionUpdate": "session_info_update", "_meta": {"codex": {"threadStatus": {"type": kind}}}}
        return f"update {json.dumps(told)}"

    error = chunk("exceeded retry limit, last status: 429 Too Many Requests\n\n")
    begun = chunk("I have begun", messageId="m-1")
    result = await bench.say(agent, f"do: {state('active')} ; {begun} ; {state('systemError')} ; {error}")
    assert result.failure is not None
    assert (result.failure.kind, result.failure.detail) == (
        FailureKind.RATE_LIMIT,
        "exceeded retry limit, last status: 429 Too Many Requests",
    )
    result = await bench.say(agent, f"do: {state('systemError')}")
    assert result.failure is not None
    assert result.failure.kind is FailureKind.CRASH
    result = await bench.say(agent, f"do: {state('systemError')} ; {state('active')} ; {state('idle')} ; say 42")
    assert (result.failure, result.final) == (None, "42")


async def test_codex_tells_of_the_bridges_tools_as_of_commands_that_are_run(bench: Bench) -> None:
    agent = await bench.start(bench.runtime(bench.spec(preset="codex")))
    for tool, server, reading in (
        ("peer_receive", "tieline", True),
        ("peer_send", "tieline", False),
        ("peer_receive", "other", False),
    ):
        call = {
            "sessionUpdate": "tool_call",
            "toolCallId": f"{server}-{tool}",
            "kind": "execute",
            "title": f"mcp.{server}.{tool}",
            "status": "in_progress",
            "rawInput": {"server": server, "tool": tool, "arguments": {}},
            "_meta": {"is_mcp_tool_call": True},
        }
        ear = Ear()
        await bench.say(agent, f"do: update {json.dumps(call)} ; say done", ear)
        [begun] = ear.of(ToolBegun)
        assert (begun.name, begun.reading) == (f"{server}.{tool}", reading)


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
