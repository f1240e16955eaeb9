"""Agents that say too much, too late, or what cannot be: bounded, and none of it ends the bridge (DESIGN §8)."""

import asyncio
import json
from typing import Any

import pytest
from acp import schema

from adapters.acp import run
from adapters.acp.usage import Spending
from bridge.ids import SessionId
from bridge.ports.runtime import Event, Prompt, Text, ToolBegun, ToolEnded
from bridge.redaction import HIDDEN
from bridge.results import DATA_CHARS, NAME_CHARS, TITLE_CHARS, bounded
from bridge.turn import Usage
from tests.adapters.acp.bench import NOW, Bench, Ear, until

WILD = "tests.fakes.wild_agent"
SECRET = "sk-abcdefghijklmnopqrstuvwxyz"


def result(**more: Any) -> str:
    return "result " + json.dumps({"stopReason": "end_turn", **more})


def cost(amount: object, currency: object = "EUR") -> str:
    told = {"amount": amount, "currency": currency}
    return "update " + json.dumps({"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": told})


def call(**more: Any) -> str:
    return "update " + json.dumps({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "rm", **more})


async def used(bench: Bench, *directives: str) -> Usage | None:
    """What is believed of what the agent says that its prompt has cost."""
    agent = await bench.start()
    done = await bench.say(agent, "do: " + " ; ".join(directives))
    assert (done.stop_reason, done.failure) == ("end_turn", None)
    return bounded(done, NOW).usage


async def test_usage_comes_from_the_several_ways_in_which_agents_tell_it(bench: Bench) -> None:
    usage = {"inputTokens": 10, "outputTokens": 3, "totalTokens": 13}
    meta = {"hermes": {"model": "large-2", "provider": "house", "apiCalls": 4}}
    told = await used(bench, cost(0.25), cost(0.5), result(usage=usage, _meta=meta))
    assert told == Usage(10, 3, cost=0.5, currency="EUR", model="large-2", provider="house", calls=4)


async def test_what_a_prompt_costs_is_what_came_to_the_costs_of_its_context(bench: Bench) -> None:
    agent = await bench.start()
    costs = []
    for total in (0.5, 0.75):
        done = await bench.say(agent, f"do: {cost(total)}")
        assert done.usage
        costs.append(done.usage.cost)
    assert costs == [0.5, 0.25]
    await agent.close()
    resumed = await bench.start(alias=agent.alias)
    done = await bench.say(resumed, f"do: {cost(9.0)}")
    assert done.usage
    assert done.usage.cost == 8.25, "its history has told what was spent before"


def test_what_an_older_context_has_cost_by_now_is_not_known_before_it_says_so() -> None:
    for fresh, costs in ((False, [None, 1.0]), (True, [9.0, 1.0])):
        spending = Spending()
        for total, expected in zip((9.0, 10.0), costs, strict=True):
            spending.begin(fresh=fresh)
            spending.told(schema.Cost(amount=total, currency="EUR"))
            assert spending.usage(schema.PromptResponse(stop_reason="end_turn")).cost == expected


@pytest.mark.parametrize(
    "usage",
    [
        {"inputTokens": "many", "outputTokens": 3, "totalTokens": 13},
        {"inputTokens": -1, "outputTokens": 3, "totalTokens": 13},
        {"inputTokens": 1},
        [1, 2],
        "none",
        {"inputTokens": float("nan"), "outputTokens": 1, "totalTokens": 1},
    ],
)
async def test_usage_that_is_none_is_not_believed(bench: Bench, usage: object) -> None:
    assert await used(bench, "say fine", result(usage=usage)) is None


async def test_a_huge_number_is_not_believed_and_the_others_are(bench: Bench) -> None:
    usage = {"inputTokens": 10**30, "outputTokens": 3, "totalTokens": 13}
    assert await used(bench, result(usage=usage)) == Usage(output_tokens=3)


@pytest.mark.parametrize("amount", [float("nan"), float("inf"), -1, 1e300, "much", None, [1]])
async def test_a_cost_that_is_none_is_not_believed(bench: Bench, amount: object) -> None:
    told = await used(bench, cost(amount), result())
    assert told is None or told.cost is None


async def test_updates_of_usage_that_are_none_are_passed_over(bench: Bench) -> None:
    broken: list[Any] = [{}, {"used": -1, "size": 0}, {"used": "x", "size": []}, {"used": 1, "size": 1, "cost": "much"}]
    updates = [f"update {json.dumps({'sessionUpdate': 'usage_update', **one})}" for one in broken]
    assert await used(bench, *updates, cost(1), result()) == Usage(cost=1.0, currency="EUR")


async def test_a_tool_call_is_told_with_what_it_was_given_and_what_it_gave_without_secrets(bench: Bench) -> None:
    agent = await bench.start(secrets={"TIELINE_TOKEN": "open-sesame-42"})
    ear = Ear()
    given = {
        "command": f"curl -H 'Authorization: Bearer {SECRET}'",
        "password": "hunter22",
        "n": 1,
        "of": ["open-sesame-42"],
    }
    gave = "update " + json.dumps(
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "t",
            "status": "failed",
            "content": [{"type": "content", "content": {"type": "text", "text": f"no, open-sesame-42 and {SECRET}"}}],
        }
    )
    await bench.say(
        agent, f"do: {call(rawInput=given, title='Run curl', _meta={'x': {'toolName': 'Bash'}})} ; {gave}", ear
    )
    begun, ended = ear.events
    assert isinstance(begun, ToolBegun)
    assert isinstance(ended, ToolEnded)
    assert (begun.name, begun.title) == (ended.name, ended.title) == ("Bash", "Run curl")
    assert json.loads(begun.arguments) == {
        "command": f"curl -H 'Authorization: Bearer {HIDDEN}'",
        "password": HIDDEN,
        "n": 1,
        "of": [HIDDEN],
    }
    assert (ended.ok, ended.result, ended.arguments) == (False, f"no, {HIDDEN} and {HIDDEN}", begun.arguments)


async def test_what_is_told_of_a_call_late_is_told_with_its_end(bench: Bench) -> None:
    agent = await bench.start()
    ear = Ear()
    update = {"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed", "title": "Remove build"}
    late = "update " + json.dumps({**update, "rawInput": {"path": "build"}, "rawOutput": {"removed": 3}})
    await bench.say(agent, f"do: {call()} ; {late}", ear)
    assert ear.events == [
        ToolBegun("t", "rm", reading=False, title="rm"),
        ToolEnded("t", True, "rm", "Remove build", '{"path": "build"}', '{"removed": 3}'),
    ]


async def test_megabytes_in_a_tool_call_are_a_few_hundred_characters(bench: Bench) -> None:
    agent = await bench.start()
    ear = Ear()
    big = "x" * 1_000_000
    deep: Any = big
    for _ in range(200):
        deep = {"of": [deep]}
    wide = {f"{number}": big[:1000] for number in range(1_000)}
    for given in (big, deep, wide):
        start = call(toolCallId=big + str(type(given)), title=big, rawInput=given)
        end = {"sessionUpdate": "tool_call_update", "toolCallId": big + str(type(given)), "status": "completed"}
        await bench.say(agent, f"do: {start} ; update {json.dumps({**end, 'rawOutput': given})}", ear)
    begun, ended = ear.of(ToolBegun), ear.of(ToolEnded)
    assert len(begun) == len(ended) == 3
    told: list[ToolBegun | ToolEnded] = [*begun, *ended]
    for one in told:
        assert len(one.id) <= NAME_CHARS
        assert len(one.name) <= NAME_CHARS
        assert len(one.title) <= TITLE_CHARS
        assert len(one.arguments) <= DATA_CHARS
    assert all(len(one.result) <= DATA_CHARS for one in ended)
    assert [one.id for one in begun] == [one.id for one in ended]


async def test_of_a_thousand_questions_at_once_some_are_asked_and_the_others_answered(bench: Bench) -> None:
    agent = await bench.start(bench.runtime(bench.spec(module=WILD)))
    go, asked = asyncio.Event(), asyncio.Event()

    class Patient(Ear):
        async def asked(self, question: Any) -> Any:
            asked.set()
            await go.wait()
            return await super().asked(question)

    ear = Patient(lambda options: options[0].id)
    running = asyncio.create_task(bench.say(agent, "do: ask-many 1000", ear))
    await asked.wait()
    await until(lambda: len(bench.received()) == 1000 - run.MOST_ASKED)
    go.set()
    said = json.loads((await running).final)
    assert said == {"allow_once": run.MOST_ASKED, "reject_once": 1000 - run.MOST_ASKED}
    assert len(ear.questions) == run.MOST_ASKED


async def test_a_thousand_questions_end_with_the_turn(bench: Bench) -> None:
    agent = await bench.start(bench.runtime(bench.spec(module=WILD)))
    ear = Ear()
    running = asyncio.create_task(bench.say(agent, "do: ask-many 1000", ear))
    await ear.is_asked()
    await agent.cancel(grace_s=10)
    assert (await running).cancelled
    assert len(ear.questions) == ear.withdrawn == 1


async def test_who_asks_after_the_result_is_told_that_it_is_over(bench: Bench) -> None:
    agent = await bench.start(bench.runtime(bench.spec(module=WILD)))
    ear = Ear()
    assert (await bench.say(agent, "do: ask-late rm ; say done", ear)).final == "done"
    await until(bench.received)
    (answer,) = bench.received()
    assert answer["result"] == {"outcome": {"outcome": "cancelled"}}
    assert ear.questions == []
    assert (await bench.say(agent, "again")).final == "echo: again"


@pytest.mark.parametrize("bench", ["here"], indirect=True)
async def test_who_floods_a_listener_that_waits_is_not_kept_without_end(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "MOST_UNTOLD", 10_000)
    agent = await bench.start(bench.runtime(bench.spec(module=WILD)))
    go = asyncio.Event()
    heard: list[Event] = []

    class Slow(Ear):
        async def happened(self, event: Event, number: int = 0) -> None:
            await go.wait()
            heard.append(event)

    running = asyncio.create_task(
        bench.say(agent, f"do: chunks 5000 100 ; touch {bench.folder}/done ; tool Bash ; say end", Slow())
    )
    await until((bench.folder / "done").exists)
    go.set()
    assert (await running).final == "end"
    assert sum(len(event.text) for event in heard if isinstance(event, Text)) < 5000 * 100
    assert [type(event) for event in heard if not isinstance(event, Text)] == [ToolBegun, ToolEnded]


@pytest.mark.parametrize("bench", ["here"], indirect=True)
async def test_calls_without_end_are_told_up_to_a_number(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "MOST_CALLS", 10)
    agent = await bench.start(bench.runtime(bench.spec(module=WILD)))
    ear = Ear()
    assert (await bench.say(agent, "do: calls 500 ; say done", ear)).final == "done"
    assert (len(ear.of(ToolBegun)), len(ear.of(ToolEnded))) == (10, 10)


# Who is behind a prompt
async def test_the_author_of_a_peers_turn_is_told_beside_its_text_and_never_in_it(bench: Bench) -> None:
    agent = await bench.start()
    author = SessionId("default/front-desk")
    await agent.prompt(Prompt(notice="[Tieline] Mail.", author=author), Ear())
    await agent.prompt(Prompt(words="hello"), Ear())
    by_peer, by_person = (frame["params"] for frame in bench.received("session/prompt"))
    assert by_peer["_meta"] == {"tieline": {"author": "default/front-desk", "origin": "peer"}}
    assert "front-desk" not in json.dumps(by_peer["prompt"])
    assert "_meta" not in by_person
