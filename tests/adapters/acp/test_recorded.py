"""What real agents have said, replayed to the real runtime (`make agents` says how it was recorded)."""

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from adapters.acp import AgentSpec
from bridge import briefing
from bridge.ports.runtime import Agent, Context, Prompt, Result, Text, ToolBegun, ToolEnded
from bridge.turn import FailureKind
from tests.adapters.acp.bench import Bench, Ear, until

RECORDED = Path(__file__).parent / "recorded"
REPLAYING = str(Path(__file__).parent / "replaying.py")
CANARY = "CANARY-4419"
AGENTS = sorted(folder.name for folder in RECORDED.iterdir() if folder.is_dir())


@dataclass(slots=True)
class Played:
    agent: Agent
    context: Context
    results: list[Result] = field(default_factory=list)
    ears: list[Ear] = field(default_factory=list)


class Scene:
    """A recorded scene, whose bridge's part the runtime plays again."""

    def __init__(self, bench: Bench, agent: str) -> None:
        self.bench = bench
        self.name = agent

    async def play(self, scene: str, handle: str, number: int = 1) -> Played:
        path = RECORDED / self.name / f"{scene}.{handle}.{number}.jsonl"
        frames = [json.loads(line) for line in path.read_text().splitlines()]
        record = self.bench.folder / "received.jsonl"
        record.unlink(missing_ok=True)
        command = (sys.executable, "-I", REPLAYING, str(path), str(record))
        spec = AgentSpec("desk", command, preset=self.name)
        opening = [
            one["frame"] for one in frames if one["by"] == "bridge" and one["frame"].get("method") == "session/load"
        ]
        alias = opening[0]["params"]["sessionId"] if opening else None
        agent = await self.bench.start(self.bench.runtime(spec, tools=True), alias=alias)
        played = Played(agent, agent.context)
        for at, one in enumerate(frames):
            if one["by"] == "bridge" and one["frame"].get("method") == "session/prompt":
                await self._prompt(played, one["frame"], frames[at + 1 :])
        return played

    async def _prompt(self, played: Played, frame: dict[str, Any], after: Sequence[dict[str, Any]]) -> None:
        """One prompt, with the bridge's answers and its cancel as they were recorded."""
        texts = [block["text"] for block in frame["params"]["prompt"]]
        words = [text for text in texts if not text.startswith("[Tieline]")]
        notice = next((text for text in texts if text.startswith("[Tieline]")), None)
        during = _during(frame["id"], after)
        chosen = [_chosen(one["frame"]) for one in during if one["by"] == "bridge" and "result" in one["frame"]]
        ear = Ear(lambda _: chosen[0]) if chosen and chosen[0] else Ear()
        played.ears.append(ear)
        prompted = len(self._received("session/prompt"))
        running = asyncio.create_task(played.agent.prompt(Prompt(words="\n".join(words) or None, notice=notice), ear))
        cancel = next((at for at, one in enumerate(during) if one["frame"].get("method") == "session/cancel"), None)
        if cancel is not None:
            told = sum(_is_told(one) for one in during[:cancel])
            asks = any(one["frame"].get("method") == "session/request_permission" for one in during[:cancel])
            await until(lambda: len(self._received("session/prompt")) > prompted)
            await until(lambda: len(ear.events) >= told and (ear.questions or not asks))
            await played.agent.cancel(grace_s=2)
        async with asyncio.timeout(10):
            played.results.append(await running)

    def _received(self, method: str) -> list[dict[str, Any]]:
        return self.bench.received(method)


def _during(ident: Any, after: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """What was said until the prompt was answered, or the process was gone."""
    for at, one in enumerate(after):
        if one["by"] == "agent" and "method" not in one["frame"] and one["frame"].get("id") == ident:
            return after[:at]
    return after


def _chosen(answer: dict[str, Any]) -> str | None:
    return str(answer["result"]["outcome"].get("optionId") or "") or None


def _is_told(one: dict[str, Any]) -> bool:
    """Whether the runtime tells an event of it."""
    update = one["frame"].get("params", {}).get("update", {})
    kind = update.get("sessionUpdate")
    if kind in ("agent_message_chunk", "agent_thought_chunk"):
        return bool(update["content"].get("text"))
    return kind == "tool_call" or (kind == "tool_call_update" and update.get("status") in ("completed", "failed"))


@pytest.fixture(params=AGENTS)
def scene(bench: Bench, request: pytest.FixtureRequest) -> Scene:
    return Scene(bench, request.param)


def said(ear: Ear) -> str:
    return "".join(event.text for event in ear.of(Text)).strip()


async def test_a_handoff_is_sent_read_and_answered_by_the_bridges_tools(scene: Scene) -> None:
    desk = await scene.play("handoff", "desk")
    assert [result.final for result in desk.results] == ["handed on", "I was told: it is sound"]
    sent, read = [ear.of(ToolBegun)[0] for ear in desk.ears]
    assert (sent.name.endswith("peer_send"), sent.reading) == (True, False)
    assert (read.name.endswith("peer_receive"), read.reading) == (True, True)
    career = await scene.play("handoff", "career")
    (result,) = career.results
    assert (result.final, result.failure, career.context) == ("the offer is sound", None, Context.NEW)
    (ended,) = career.ears[0].of(ToolEnded)
    assert ended.ok
    assert "read" not in said(career.ears[0])


async def test_each_of_several_inputs_has_a_turn_of_its_own(scene: Scene) -> None:
    career = await scene.play("busy", "career")
    assert [result.final for result in career.results] == ["one is done", "here I am", "two is done"]


async def test_the_tokens_of_a_turn_are_its_own(scene: Scene) -> None:
    """Two requests to the model in each, of 20 and 10 tokens. OpenCode tells only those of the last."""
    desk = await scene.play("handoff", "desk")
    used = [(result.usage.input_tokens, result.usage.output_tokens) for result in desk.results if result.usage]
    assert used == 2 * [(20, 10) if scene.name == "opencode" else (40, 20)]


async def test_a_context_that_is_loaded_tells_its_history_to_nobody(scene: Scene) -> None:
    before = await scene.play("resumed", "desk")
    agent = await scene.play("resumed", "desk", 2)
    assert agent.context is Context.RESUMED
    assert agent.agent.history.prompts[: len(before.agent.history.prompts)] == before.agent.history.prompts
    assert said(agent.ears[0]) == agent.results[0].final == "you said blue"


async def test_a_context_that_is_gone_is_never_pretended(scene: Scene) -> None:
    agent = await scene.play("lost", "desk", 2)
    assert agent.context is Context.LOST
    assert agent.results[0].final == "I do not know"


@pytest.mark.parametrize("when", ["in_a_tool_call", "before_anything", "in_an_answer"])
async def test_after_a_cancel_the_next_prompt_works(scene: Scene, when: str) -> None:
    agent = await scene.play(f"cancel_{when}", "desk")
    assert agent.results[0].cancelled
    assert agent.results[0].failure is None
    if not agent.agent.alive:
        agent = await scene.play(f"cancel_{when}", "desk", 2)
        assert agent.context is Context.RESUMED
    assert agent.results[-1].final == "here again"


async def test_a_login_that_is_refused_is_no_answer(scene: Scene) -> None:
    agent = await scene.play("no_login", "career")
    failed, *_, last = agent.results
    assert failed.failure is not None
    assert failed.failure.kind is FailureKind.AUTH
    assert (last.failure, last.final) == (None, "the offer is sound")


async def test_a_limit_of_a_provider_is_no_answer(scene: Scene) -> None:
    """OpenCode itself waits until it is over."""
    *failed, last = (await scene.play("rate_limit", "career")).results
    kinds = [result.failure.kind for result in failed if result.failure is not None]
    assert kinds == ([] if scene.name == "opencode" else [FailureKind.RATE_LIMIT])
    assert (last.failure, last.final) == (None, "the offer is sound")


async def test_a_model_that_hangs_is_no_answer(scene: Scene) -> None:
    agent = await scene.play("hung", "career")
    assert agent.results[0].failure is not None
    assert agent.results[0].failure.kind is FailureKind.TIMEOUT
    assert agent.results[-1].final == "the offer is sound"


async def test_a_question_that_a_cancel_leaves_open_is_answered(scene: Scene) -> None:
    agent = await scene.play("cancel_at_a_question", "desk")
    assert agent.results[0].cancelled
    assert {"outcome": {"outcome": "cancelled"}} in [one["result"] for one in scene.bench.received()]
    assert agent.agent.alive == (scene.name != "hermes")


async def test_a_permission_is_given_by_the_options_of_the_agent(scene: Scene) -> None:
    agent = await scene.play("allowed", "desk")
    (question,) = agent.ears[0].questions
    assert any(option.allows and not option.lasting for option in question.options)
    assert agent.results[0].final == "it is empty"


async def test_mail_that_is_not_read_reaches_nobody(scene: Scene) -> None:
    agent = await scene.play("unread", "career")
    assert [result.failure for result in agent.results] == [None, None]
    assert CANARY not in "".join(said(ear) for ear in agent.ears)


@pytest.mark.parametrize("path", sorted(RECORDED.rglob("*.jsonl")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_no_prompt_of_any_recording_holds_what_a_peer_has_written(path: Path) -> None:
    frames = [json.loads(line)["frame"] for line in path.read_text().splitlines()]
    prompts = [frame["params"]["prompt"] for frame in frames if frame.get("method") == "session/prompt"]
    assert CANARY not in json.dumps(prompts)
    notices = {briefing.MAIL_NOTICE, briefing.MAIL_NOTICE_SEVERAL, briefing.MAIL_NOTICE_AGAIN}
    for block in (block for prompt in prompts for block in prompt):
        assert not block["text"].startswith("/")
        assert block["text"] in notices or "[Tieline]" not in block["text"]
