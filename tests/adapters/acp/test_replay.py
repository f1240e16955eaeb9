"""What an agent's context is known to hold, as the agent itself replays it."""

import pytest

from bridge.history import Called, History, digest
from bridge.ports.runtime import Context, Prompt, Text
from tests.adapters.acp.bench import Bench, Ear

NOTICE = "[bridge] two messages"


def prompts(*texts: str) -> tuple[str, ...]:
    return tuple(digest([text]) for text in texts)


async def test_a_new_context_holds_what_it_was_prompted_with(bench: Bench) -> None:
    agent = await bench.start()
    assert agent.history == History()
    await bench.say(agent, "one")
    await bench.say(agent, "do: tool bash")
    assert agent.history == History(prompts("one", "do: tool bash"))


async def test_a_killed_agent_shows_the_calls_after_its_last_prompt(bench: Bench) -> None:
    before = await bench.start(bench.runtime(tools=True))
    await bench.say(before, "do: tool edit")
    await bench.say(before, "do: say hm ; call peer_receive ; begin bash ; crash 9")
    agent = await bench.start(alias=before.alias)
    assert agent.context is Context.RESUMED
    assert agent.history == History(
        prompts("do: tool edit", "do: say hm ; call peer_receive ; begin bash ; crash 9"),
        (Called("mcp__tieline__peer_receive", reading=True), Called("bash", reading=False)),
    )


async def test_the_parts_of_a_prompt_are_one(bench: Bench) -> None:
    runtime = bench.runtime(bench.spec(embed=True))
    prompt = Prompt(words="what now?", notice=NOTICE, embedded=("first", "second"))
    before = await bench.start(runtime)
    await before.prompt(prompt, Ear())
    agent = await bench.start(runtime, alias=before.alias)
    assert agent.history.prompts == before.history.prompts == (digest(prompt.parts),)


async def test_what_a_context_holds_goes_on_with_the_prompts_after_it_was_resumed(bench: Bench) -> None:
    before = await bench.start()
    await bench.say(before, "do: tool bash")
    agent = await bench.start(alias=before.alias)
    await bench.say(agent, "two")
    assert agent.history == History(prompts("do: tool bash", "two"))


@pytest.mark.parametrize("options", [("--load", "no"), ("--unknown", "empty"), ("--replay", "nothing")])
async def test_a_context_that_is_not_replayed_holds_nothing(bench: Bench, options: tuple[str, ...]) -> None:
    before = await bench.start()
    await bench.say(before, "one")
    alias = before.alias if "--unknown" not in options else "20260801_110135_3a75b0"
    agent = await bench.start(bench.runtime(bench.spec(*options)), alias=alias)
    assert (agent.context, agent.history) == (Context.LOST, History())


async def test_a_prompt_that_the_agent_keeps_only_once_it_has_ended_is_not_shown(bench: Bench) -> None:
    runtime = bench.runtime(bench.spec("--replay", "ended"))
    before = await bench.start(runtime)
    await bench.say(before, "one")
    await bench.say(before, "do: tool bash ; crash 9")
    agent = await bench.start(runtime, alias=before.alias)
    assert agent.history == History(prompts("one"))


async def test_a_replay_after_the_answer_is_history_too_and_told_to_nobody(bench: Bench) -> None:
    before = await bench.start()
    await bench.say(before, "do: say secret ; tool bash")
    agent = await bench.start(bench.runtime(bench.spec("--replay", "late")), alias=before.alias, to_show=True)
    assert agent.history == History(prompts("do: say secret ; tool bash"), (Called("bash", reading=False),))
    ear = Ear()
    await bench.say(agent, "hello", ear)
    assert ear.events == [Text("echo: hello")]


CHUNK = '{"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "%s"}, "messageId": "%s"}'
CALL = '{"sessionUpdate": "tool_call", "toolCallId": "1", "title": "peer_receive", "kind": "other"}'
MORE = '{"sessionUpdate": "tool_call_update", "toolCallId": "1", "title": "%s"}'


@pytest.mark.parametrize(
    ("updates", "history"),
    [
        ([CHUNK % ("on", "a"), CHUNK % ("e", "a")], History(prompts("one"))),
        ([CHUNK % ("one", "a"), CHUNK % ("two", "b")], History(prompts("one", "two"))),
        ([CALL, MORE % "peer_receive"], History((), (Called("peer_receive", reading=True),))),
        ([CALL, MORE % "peer_receive and rm"], History((), (Called("peer_receive and rm", reading=False),))),
    ],
    ids=["chunks of one message", "two messages", "a call and its end", "a call that turns out to be more"],
)
async def test_a_history_is_read_as_other_agents_write_it(bench: Bench, updates: list[str], history: History) -> None:
    before = await bench.start()
    frame = '{"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "%s", "update": %s}}'
    raw = [f"raw {frame % (before.alias, update)}" for update in updates]
    rules = [{"on": "session/load", "script": " ; ".join(raw)}]
    agent = await bench.start(bench.runtime(bench.spec(rules=rules)), alias=before.alias)
    assert agent.history == history
