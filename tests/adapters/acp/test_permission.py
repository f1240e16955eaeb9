"""Questions of an agent: asked once, answered in its own terms, never left open."""

import asyncio

import pytest

from bridge.ports.runtime import Thought
from bridge.question import Option
from tests.adapters.acp.bench import Bench, Ear, until


async def test_the_choice_reaches_the_agent(bench: Bench) -> None:
    agent = await bench.start()
    ear = Ear(lambda options: options[1].id)
    result = await bench.say(agent, "do: ask-permission rm -rf build", ear)
    assert result.final == "permission: allow_always"
    [question] = ear.questions
    assert question.title == "rm -rf build"
    assert list(question.options) == [
        Option("allow_once", "Allow", allows=True, lasting=False),
        Option("allow_always", "Always allow", allows=True, lasting=True),
        Option("reject_once", "Reject", allows=False, lasting=False),
    ]


@pytest.mark.parametrize(
    ("offer", "told"),
    [
        ("allow_once,reject_always,reject_once", "reject_once"),
        ("allow_once,reject_always", "reject_always"),
        ("allow_once", "cancelled"),
    ],
)
async def test_a_refusal_is_told_in_the_agents_own_words_where_it_has_some(bench: Bench, offer: str, told: str) -> None:
    agent = await bench.start()
    result = await bench.say(agent, f"do: offer {offer} ; ask-permission rm", Ear(lambda _: None))
    assert result.final == f"permission: {told}"


async def test_an_option_that_was_not_offered_refuses(bench: Bench) -> None:
    agent = await bench.start()
    result = await bench.say(
        agent, "do: offer allow_once,reject_once ; ask-permission rm", Ear(lambda _: "allow_always")
    )
    assert result.final == "permission: reject_once"


async def test_a_cancel_withdraws_the_question_at_once(bench: Bench) -> None:
    agent = await bench.start()
    ear = Ear()
    running = asyncio.create_task(bench.say(agent, "do: say hm ; ask-permission rm ; tool rm", ear))
    await ear.is_asked()
    await agent.cancel(grace_s=10)
    result = await running
    assert result.cancelled
    assert ear.withdrawn == 1
    [answer] = bench.received()
    assert answer["result"] == {"outcome": {"outcome": "cancelled"}}
    assert not agent.alive, "agents are known to be wedged by a cancel at a question"


async def test_a_question_after_a_cancel_is_not_asked(bench: Bench) -> None:
    agent = await bench.start()
    ear = Ear()
    go = bench.folder / "go"
    running = asyncio.create_task(
        bench.say(agent, f"do: ignore-cancel ; think so ; wait-for {go} ; ask-permission rm ; crash", ear)
    )
    await ear.hears(Thought)
    cancelling = asyncio.create_task(agent.cancel(grace_s=10))
    await until(lambda: bench.received("session/cancel"))
    go.touch()
    await cancelling
    assert (await running).cancelled
    assert ear.questions == []
    [answer] = bench.received()
    assert answer["result"] == {"outcome": {"outcome": "cancelled"}}


async def test_a_question_that_the_agent_gives_up_is_withdrawn(bench: Bench) -> None:
    agent = await bench.start()
    ear = Ear()
    request = '{"jsonrpc":"2.0","id":"q","method":"session/request_permission","params":{"sessionId":"$session",'
    request += '"toolCall":{"toolCallId":"t","title":"rm"},"options":[]}}'
    running = asyncio.create_task(bench.say(agent, f"do: raw {request} ; wait-for {bench.folder}/go", ear))
    await ear.is_asked()
    (bench.folder / "go").touch()
    assert (await running).failure is None
    assert ear.withdrawn == 1


async def test_a_death_withdraws_the_question(bench: Bench) -> None:
    agent = await bench.start()
    ear = Ear()
    running = asyncio.create_task(bench.say(agent, "do: ask-permission rm", ear))
    await ear.is_asked()
    await agent.close()
    assert (await running).failure
    assert ear.withdrawn == 1
