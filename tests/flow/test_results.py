"""What an agent says of its turn: stored with it, and told by the trace, without secrets (DESIGN §8)."""

import json
from typing import Any

from bridge.flow.listener import TRACED
from bridge.ids import TurnId
from bridge.ports.runtime import Prompt, Result, Text, ToolBegun, ToolEnded
from bridge.turn import Failure, FailureKind, Usage
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import Stage, room, session, stage

CAREER = room("career")
USAGE = Usage(10, 3, 0.5, "EUR", "large-2", "house", 2)


async def steps(on: Stage, message: str, kind: str) -> list[dict[str, Any]]:
    return [one.detail for one in await on.store.steps(message) if one.step == kind]


async def test_what_a_turn_has_cost_is_stored_with_it_and_told_by_the_trace() -> None:
    async with stage(session("career")) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> Result:
            return Result("done", "end_turn", usage=USAGE)

        on.agent("career", career)
        said = await on.say("career", "hello")
        await on.chat.seen(CAREER, "done")
        await on.quiet()
        (turn,) = await steps(on, said, "turn")
        assert turn["usage"] == {
            "input_tokens": 10,
            "output_tokens": 3,
            "cost": 0.5,
            "currency": "EUR",
            "model": "large-2",
            "provider": "house",
            "calls": 2,
        }
        stored = await on.store.turn(TurnId(turn["turn"]))
        assert stored is not None
        assert stored.usage == USAGE


async def test_what_cannot_be_believed_is_neither_stored_nor_told() -> None:
    async with stage(session("career")) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> Result:
            usage: Any = Usage(-1, "many", float("nan"), "gold", "x" * 10**6, 7, 10**20)  # type: ignore[arg-type]
            failure = Failure(FailureKind.RATE_LIMIT, "y" * 10**6, retryable=True, resets_at=float("nan"))
            return Result("z" * 10**6, "w" * 10**6, failure, usage=usage)

        on.agent("career", career)
        said = await on.say("career", "hello")
        await on.chat.seen(CAREER, "the turn failed")
        turn, _ = await steps(on, said, "turn")
        assert turn["usage"] == {"model": f"{'x' * 199}…"}
        assert turn["failure_kind"] == "rate_limit"
        assert len(json.dumps(turn)) < 2_000


async def test_the_trace_names_the_tools_and_how_they_ended_and_not_what_they_were_given() -> None:
    async with stage(session("career")) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            assert agent.listener is not None
            await agent.listener.happened(ToolBegun("1", "Bash", False, "Run sk-abcdefghijklmnopqrst", "rm -r build"))
            await agent.listener.happened(ToolEnded("1", False, "Bash", "Run it", "rm -r build", "no such file"))
            return "done"

        on.agent("career", career)
        said = await on.say("career", "hello")
        await on.chat.seen(CAREER, "done")
        assert await steps(on, said, "tool") == [
            {"name": "Bash", "title": "Run [redacted]"},
            {"name": "Bash", "title": "Run it", "ok": False},
        ]


async def test_of_tools_without_end_the_first_are_traced_and_that_one_began_is_known() -> None:
    async with stage(session("career")) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> Result:
            assert agent.listener is not None
            for number in range(TRACED + 50):
                await agent.listener.happened(ToolBegun(f"{number}", "mcp__tieline__peer_receive", reading=True))
                await agent.listener.happened(Text("x" * 10_000))
            await agent.listener.happened(ToolBegun("last", "Bash", reading=False))
            return Result("", "failed", Failure(FailureKind.CRASH, "it ended"))

        on.agent("career", career)
        said = await on.say("career", "hello")
        await on.chat.seen(CAREER, "may have been acted on already")
        assert len(await steps(on, said, "tool")) == TRACED + 1


async def test_the_author_of_a_peers_turn_is_named_to_its_agent_and_a_person_is_not() -> None:
    async with stage(session("career"), session("desk")) as on:
        await on.say("desk", "/ask career hello")
        await on.quiet()
        await on.send("career", "from a program")
        await on.quiet()
        await on.say("career", "hello")
        await on.quiet()
        told = [(prompt.author, " ".join(prompt.parts)) for _, prompt in on.runtime.prompts]
        assert {author for author, text in told if text != "hello"} == {"default/shell"}
        assert {author for author, text in told if text == "hello"} == {None}
        assert not [text for _, text in told if "default/" in text or "desk" in text]
