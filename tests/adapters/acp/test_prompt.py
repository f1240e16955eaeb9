"""Running a prompt: what is told, what the result is, and what an agent may get wrong."""

import asyncio

import pytest

from adapters.acp import run
from adapters.acp.run import MOST_CHARS
from bridge.ports.runtime import Context, Event, Prompt, Text, Thought, ToolBegun, ToolEnded
from bridge.results import FINAL_CHARS
from bridge.turn import FailureKind, Usage
from tests.adapters.acp.bench import Bench, Ear, gone, until


async def test_the_final_text_is_what_follows_the_last_tool_call(bench: Bench) -> None:
    agent = await bench.start()
    ear = Ear()
    result = await bench.say(agent, "do: think hm ; say I look ; tool bash ; say It is ; say 42", ear)
    assert (result.final, result.stop_reason, result.failure) == ("It is\n42", "end_turn", None)
    assert ear.events == [
        Thought("hm"),
        Text("I look"),
        ToolBegun("1-1", "bash", reading=False, title="bash"),
        ToolEnded("1-1", ok=True, name="bash", title="bash", result="done"),
        Text("It is"),
        Text("\n42"),
    ]


async def test_usage_is_told_in_numbers(bench: Bench) -> None:
    agent = await bench.start()
    result = await bench.say(agent, "one two")
    assert result.usage == Usage(input_tokens=2, output_tokens=3)


async def test_mail_is_read_by_a_tool_that_changes_nothing(bench: Bench) -> None:
    agent = await bench.start(
        bench.runtime(tools=True),
        secrets={"MAIL": '[{"message_id": "m-1", "from": "default/a", "intent": "request", "text": "hi"}]'},
    )
    ear = Ear()
    result = await agent.prompt(Prompt(notice="Read your mail with peer_receive."), ear)
    assert result.final == "done: hi"
    (begun,) = ear.of(ToolBegun)
    assert (begun.name, begun.reading) == ("mcp__tieline__peer_receive", True)


async def test_a_tool_that_is_refused_has_not_gone_well(bench: Bench) -> None:
    agent = await bench.start(bench.runtime(tools=True))
    ear = Ear()
    await bench.say(agent, 'do: call peer_send {"refuse": true} ; say $last.error.code', ear)
    (ended,) = ear.of(ToolEnded)
    assert (ended.ok, ended.arguments) == (False, '{"refuse": true}')
    assert "busy" in ended.result
    assert ear.of(Text) == [Text("busy")]


@pytest.mark.parametrize(
    "update",
    [
        '{"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "in_progress", "title": "rm"}',
        '{"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Remove", "_meta": {"any": {"toolName": "rm"}}}',
    ],
)
async def test_a_tool_counts_as_begun_however_it_is_announced(bench: Bench, update: str) -> None:
    agent = await bench.start()
    ear = Ear()
    frame = f'{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"$session","update":{update}}}}}'
    await bench.say(agent, f"do: raw {frame} ; raw {frame} ; say done", ear)
    begun, said = ear.events
    assert isinstance(begun, ToolBegun)
    assert (begun.id, begun.name, begun.reading, said) == ("t", "rm", False, Text("done"))


async def test_what_comes_after_the_result_is_nobodys(bench: Bench) -> None:
    agent = await bench.start()
    ear = Ear()
    assert (await bench.say(agent, "do: late too late ; exit ; say in time", ear)).final == "in time"
    await until(lambda: not agent.alive)
    assert ear.events == [Text("in time")]


async def test_a_second_prompt_is_never_sent_to_a_busy_agent(bench: Bench) -> None:
    agent = await bench.start()
    ear = Ear()
    first = asyncio.create_task(bench.say(agent, f"do: say busy ; wait-for {bench.folder}/go", ear))
    await ear.hears(Text)
    with pytest.raises(RuntimeError, match="running"):
        await bench.say(agent, "more")
    (bench.folder / "go").touch()
    assert (await first).final == "busy"
    assert len(bench.received("session/prompt")) == 1


async def test_a_slow_listener_holds_nobody_up_and_misses_nothing(bench: Bench) -> None:
    agent = await bench.start()
    heard: list[Event] = []
    go = asyncio.Event()

    class Slow(Ear):
        async def happened(self, event: Event, number: int = 0) -> None:
            await go.wait()
            heard.append(event)

    running = asyncio.create_task(
        bench.say(agent, f"do: say one ; tool x ; say two ; touch {bench.folder}/done", Slow())
    )
    await until((bench.folder / "done").exists)
    assert not running.done()
    go.set()
    assert (await running).final == "two"
    assert len(heard) == 4


async def test_a_listener_that_fails_is_not_the_agents_fault(bench: Bench) -> None:
    agent = await bench.start()

    class Broken(Ear):
        async def happened(self, event: Event, number: int = 0) -> None:
            raise LookupError("broken")

    with pytest.raises(LookupError):
        await bench.say(agent, "do: say x ; hang", Broken())
    assert not agent.alive


# What agents print
async def test_lines_that_are_no_frames_are_passed_over(bench: Bench) -> None:
    agent = await bench.start()
    garbage = ["raw Welcome!", "raw 42", "raw null", "raw [1, 2]", 'raw {"id": [1], "result": 1}', 'raw {"method": 7}']
    garbage += ['raw {"id": 2, "error": "no"}', f"raw {'[' * 5000}", "bytes fffe000a", "bytes 0a0a", "raw {}"]
    result = await bench.say(agent, f"do: {' ; '.join(garbage)} ; say still here")
    assert result.final == "still here"
    assert agent.alive


async def test_updates_of_an_unknown_kind_or_session_are_passed_over(bench: Bench) -> None:
    agent = await bench.start()
    chunk = '{"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "not mine"}}'
    frames = [
        '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$session","update":{"sessionUpdate":"new"}}}',
        '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$session","update":{}}}',
        '{"jsonrpc":"2.0","method":"session/update"}',
        f'{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"other","update":{chunk}}}}}',
    ]
    result = await bench.say(agent, "do: " + " ; ".join(f"raw {frame}" for frame in frames) + " ; say mine")
    assert result.final == "mine"


async def test_text_that_is_no_unicode_still_arrives(bench: Bench) -> None:
    agent = await bench.start()
    head = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$session","update":'
    head += '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'
    result = await bench.say(agent, f'do: raw {head}a\\ud83db"}}}}}}}} ; say c')
    assert result.final == "a?bc"
    broken = (head.replace("$session", agent.alias).encode() + b'x\xffy"}}}}\n').hex()
    assert "x\N{REPLACEMENT CHARACTER}y" in (await bench.say(agent, f"do: bytes {broken}")).final


async def test_a_frame_of_megabytes_arrives(bench: Bench) -> None:
    agent = await bench.start()
    result = await bench.say(agent, "do: big 20000000")
    assert len(result.final) == (MOST_CHARS if bench.nursery is None else 2 * FINAL_CHARS)
    assert (await bench.say(agent, "do: say still here")).final == "still here"


async def test_a_prompt_of_megabytes_arrives_whole(bench: Bench) -> None:
    agent = await bench.start()
    result = await bench.say(agent, "x" * 3_000_000 + " ; do: ignored")
    assert result.usage
    assert result.usage.input_tokens == 4
    assert len(result.final) >= 2 * FINAL_CHARS


@pytest.mark.parametrize("bench", ["here"], indirect=True)
async def test_what_an_agent_says_without_end_is_not_kept_without_end(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "MOST_CHARS", 1_000)
    agent = await bench.start()
    ear = Ear()
    result = await bench.say(agent, "do: big 900 ; big 900 ; tool Bash ; big 900", ear)
    assert len(result.final) == 900
    assert sum(len(event.text) for event in ear.of(Text)) > 2_700 - 1
    assert len((await bench.say(agent, "do: big 900 ; big 900")).final) == 1_000


# How it fails
async def test_a_death_in_the_middle_is_a_crash_with_the_last_words(bench: Bench) -> None:
    agent = await bench.start()
    result = await bench.say(agent, "do: say I beg ; stderr out of memory ; crash 9")
    assert result.failure
    assert result.failure.kind is FailureKind.CRASH
    assert "code 9" in result.failure.detail
    assert "out of memory" in result.failure.detail
    assert not agent.alive
    assert result.final == "I beg"


async def test_a_dead_agent_answers_a_prompt_with_a_failure(bench: Bench) -> None:
    agent = await bench.start()
    assert (await bench.say(agent, "do: say bye ; exit")).final == "bye"
    await gone(agent.process)
    result = await bench.say(agent, "again")
    assert result.failure
    assert result.failure.kind is FailureKind.CRASH


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        ("refuse", FailureKind.REFUSAL),
        ("fail Internal error", FailureKind.CRASH),
        ("fail -32000 Authentication required", FailureKind.AUTH),
        ("fail Rate limit reached, try again in 20s", FailureKind.RATE_LIMIT),
        ("fail-as-text HTTP 401: invalid key", FailureKind.AUTH),
        ("fail-as-text API call failed after 3 retries: Connection error.", FailureKind.CAPACITY),
    ],
)
async def test_a_turn_that_is_over_has_not_always_succeeded(bench: Bench, script: str, kind: FailureKind) -> None:
    agent = await bench.start()
    result = await bench.say(agent, f"do: {script}")
    assert result.failure
    assert result.failure.kind is kind
    assert agent.alive


async def test_a_limit_tells_when_it_is_over(bench: Bench) -> None:
    agent = await bench.start()
    result = await bench.say(agent, "do: fail-as-text HTTP 429: Too Many Requests, retry after 1m 30s")
    assert result.failure
    assert result.failure.resets_at == pytest.approx(bench.now + 90, abs=30)


async def test_an_error_is_only_quoted_in_an_answer_with_usage(bench: Bench) -> None:
    agent = await bench.start()
    result = await bench.say(agent, "do: say HTTP 401: this is what the server said")
    assert result.failure is None


@pytest.mark.parametrize("reason", ["max_tokens", "max_turn_requests"])
async def test_a_turn_that_got_too_long_keeps_its_text_and_its_reason(bench: Bench, reason: str) -> None:
    agent = await bench.start()
    result = await bench.say(agent, f"do: say as far as ; stop {reason}")
    assert (result.final, result.stop_reason, result.failure) == ("as far as", reason, None)


async def test_a_stop_reason_that_nobody_knows_is_a_failure(bench: Bench) -> None:
    agent = await bench.start()
    result = await bench.say(agent, "do: stop bored")
    assert result.failure
    assert result.failure.kind is FailureKind.CRASH


# Contexts
async def test_a_context_is_resumed_and_its_history_told_to_nobody(bench: Bench) -> None:
    before = await bench.start()
    await bench.say(before, "do: say secret ; tool bash")
    await before.close()
    agent = await bench.start(alias=before.alias)
    assert (agent.context, agent.alias) == (Context.RESUMED, before.alias)
    ear = Ear()
    assert (await bench.say(agent, "hello", ear)).final == "echo: hello"
    assert ear.events == [Text("echo: hello")]


@pytest.mark.parametrize("options", [(), ("--unknown", "empty"), ("--load", "no")])
async def test_a_context_that_is_gone_is_told_and_never_pretended(bench: Bench, options: tuple[str, ...]) -> None:
    """Unknown with an error, unknown with an empty answer, and an agent that cannot load."""
    agent = await bench.start(bench.runtime(bench.spec(*options)), alias="20260801_110135_3a75b0")
    assert agent.context is Context.LOST
    assert agent.alias != "20260801_110135_3a75b0"
    assert (await bench.say(agent, "hello")).final == "echo: hello"


async def test_a_login_that_is_missing_does_not_lose_the_context(bench: Bench) -> None:
    rules = [{"on": "session/load", "script": "fail -32000 Authentication required"}]
    with pytest.raises(Exception, match="Authentication"):
        await bench.start(bench.runtime(bench.spec(rules=rules)), alias="some-id")
    assert bench.received("session/new") == []


async def test_a_tool_server_gets_the_secrets_of_the_newest_start(bench: Bench) -> None:
    before = await bench.start(bench.runtime(tools=True), secrets={"TIELINE_TOKEN": "old"})
    await bench.say(before, "hello")
    await before.close()
    agent = await bench.start(bench.runtime(tools=True), alias=before.alias, secrets={"TIELINE_TOKEN": "new"})
    assert (await bench.say(agent, "do: call environment {} ; say $last.token")).final == "new"
