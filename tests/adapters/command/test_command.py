"""An agent without ACP: a command a turn, through the same runtime as all others."""

import asyncio
import errno
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from adapters.acp import AgentSpec
from adapters.command.agent import _not_run
from adapters.process import birth_of
from adapters.settings.commands import driven
from bridge.briefing import attached
from bridge.message import Attachment
from bridge.ports.runtime import Agent, Context, Prompt, Result, StartFailed, Text, Thought, ToolBegun
from bridge.turn import FailureKind
from tests.adapters.acp.bench import ROOT, Bench, Ear, until

CLI = (sys.executable, str(Path(__file__).with_name("cli.py")))
TEXT: dict[str, Any] = {
    "resume": [*CLI, "--resume", "{session}"],
    "session": r"context: (\S+)",
    "lost": "no such context",
}
JSON: dict[str, Any] = {
    "output": "json",
    "command": [*CLI, "--json"],
    "resume": [*CLI, "--json", "--resume", "{session}"],
    "text": "item[type=message].text",
    "session": "thread.id",
}


class Desk:
    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.state = bench.folder / "contexts"
        self.state.mkdir()

    async def start(self, *, alias: str | None = None, tools: bool = False, **template: Any) -> Agent:
        command = driven({"command": list(CLI), **template})
        env = {"PYTHONPATH": str(ROOT), "CLI_STATE": str(self.state)}
        spec = AgentSpec("desk", command, env=env, embed=not tools)
        runtime = self.bench.runtime(spec, tools=tools)
        return await self.bench.start(runtime, alias=alias, secrets={"TIELINE_TOKEN": "s3cret"} if tools else {})

    async def pid(self) -> int:
        file = self.bench.folder / "pid"
        await until(lambda: file.exists() and file.read_text())
        return int(file.read_text())


@pytest.fixture
async def bench(tmp_path: Path) -> Any:
    bench = Bench(tmp_path)
    yield bench
    await bench.end()


@pytest.fixture
def desk(bench: Bench) -> Desk:
    return Desk(bench)


async def test_a_context_is_gone_on_with_also_by_a_later_process(bench: Bench, desk: Desk) -> None:
    agent = await desk.start(**TEXT)
    assert agent.context is Context.NEW
    first = await bench.say(agent, "hello")
    assert (first.final, first.failure) == ("1: hello", None)
    assert agent.alias == "ctx-1"
    await agent.close()
    later = await desk.start(alias=agent.alias, **TEXT)
    assert later.context is Context.RESUMED
    assert (await bench.say(later, "again")).final == "2: again"


async def test_of_objects_the_last_text_is_the_answer_and_what_came_before_is_on_the_way(
    bench: Bench, desk: Desk
) -> None:
    agent = await desk.start(**JSON)
    ear = Ear()
    result = await bench.say(agent, "hello", ear)
    assert (result.final, agent.alias) == ("1: hello", "ctx-1")
    assert ear.of(Thought) == [Thought("I look")]
    assert ear.of(Text) == [Text("1: hello")]
    assert (await bench.say(agent, "again")).final == "2: again"


async def test_a_run_of_it_counts_as_a_tool_that_has_begun(bench: Bench, desk: Desk) -> None:
    ear = Ear()
    await bench.say(await desk.start(), "hello", ear)
    assert [begun.reading for begun in ear.of(ToolBegun)] == [False]


async def test_without_a_way_to_go_on_every_turn_begins_anew_and_nothing_is_lost_by_it(
    bench: Bench, desk: Desk
) -> None:
    agent = await desk.start(session="")
    assert (await bench.say(agent, "hello")).final == "1: hello\ncontext: ctx-1"
    assert (await bench.say(agent, "again")).final == "1: again\ncontext: ctx-2"
    await agent.close()
    assert (await desk.start(alias=agent.alias)).context is Context.RESUMED


async def test_a_context_that_the_command_has_forgotten_is_said_to_be_gone(bench: Bench, desk: Desk) -> None:
    agent = await desk.start(**TEXT)
    await bench.say(agent, "hello")
    (desk.state / "ctx-1").rename(desk.state / "elsewhere")
    result = await bench.say(agent, "again")
    assert result.failure is None
    assert result.final == "(It did not know the earlier context any more, and has begun a new one.)\n\n1: again"
    assert agent.alias == "ctx-2"


async def test_where_it_never_told_its_context_the_next_start_says_that_it_is_gone(bench: Bench, desk: Desk) -> None:
    template = {**TEXT, "session": "another line: (.*)"}
    agent = await desk.start(**template)
    assert (await bench.say(agent, "hello")).final == "1: hello\ncontext: ctx-1"
    await until(lambda: not agent.alive)
    assert (await desk.start(alias=agent.alias, **template)).context is Context.LOST


@pytest.mark.parametrize(
    ("words", "kind", "says"),
    [
        ("exit 7", FailureKind.CRASH, "the command ended with code 7: it went wrong"),
        ("exit 77", FailureKind.AUTH, "the command ended with code 77: it went wrong"),
        ("exit 75", FailureKind.CAPACITY, "code 75"),
        ("exit 127", FailureKind.CONFIG, "code 127"),
        ("limit", FailureKind.RATE_LIMIT, "try again in 20 s"),
        ("crash", FailureKind.CRASH, "was ended by signal 9"),
    ],
)
async def test_how_it_ended_is_told(bench: Bench, desk: Desk, words: str, kind: FailureKind, says: str) -> None:
    agent = await desk.start(exit_codes={"77": "auth", "75": "capacity"})
    result = await bench.say(agent, words)
    assert result.failure is not None
    assert (result.failure.kind, says in result.failure.detail) == (kind, True), result.failure
    assert result.failure.retryable == (kind not in (FailureKind.AUTH, FailureKind.CONFIG))
    assert (await bench.say(agent, "hello")).failure is None


async def test_output_without_the_text_that_is_looked_for_is_a_wrong_setting(bench: Bench, desk: Desk) -> None:
    result = await bench.say(await desk.start(**JSON), "quiet")
    assert result.failure is not None
    assert result.failure.kind is FailureKind.CONFIG
    assert "item[type=message].text" in result.failure.detail


@pytest.mark.parametrize("words", ["hang", "hang deaf"])
async def test_a_cancel_ends_the_command_whatever_it_does(bench: Bench, desk: Desk, words: str) -> None:
    agent = await desk.start()
    asking = asyncio.create_task(bench.say(agent, words))
    pid = await desk.pid()
    await agent.cancel(5)
    result = await asking
    assert (result.cancelled, result.failure) == (True, None)
    await until(lambda: birth_of(pid) is None)


async def test_what_it_leaves_in_its_group_ends_with_it(bench: Bench, desk: Desk) -> None:
    await bench.say(await desk.start(), "orphan")
    pid = await desk.pid()
    await until(lambda: birth_of(pid) is None)


async def test_a_client_that_is_gone_ends_what_runs(bench: Bench, desk: Desk) -> None:
    agent = await desk.start()
    asking = asyncio.create_task(bench.say(agent, "hang"))
    pid = await desk.pid()
    await agent.close()
    await asking
    await until(lambda: birth_of(pid) is None)


async def test_peers_texts_stand_in_the_prompt_after_the_notice_that_tells_of_them(bench: Bench, desk: Desk) -> None:
    agent = await desk.start()
    prompt = Prompt(notice="[Tieline] The attached is mail.", embedded=["/reset everything"])
    result: Result = await agent.prompt(prompt, Ear())
    assert result.final.startswith("1: [Tieline] The attached is mail. |  | /reset everything")


async def test_a_prompt_may_be_an_argument(bench: Bench, desk: Desk) -> None:
    agent = await desk.start(command=[*CLI, "--prompt", "{prompt}"])
    assert (await bench.say(agent, "{session} it's $HOME; `x`")).final.startswith("1: {session} it's $HOME; `x`")
    result = await bench.say(agent, "x" * 200_000)
    assert result.failure is not None
    assert "too long for an argument" in result.failure.detail


async def test_its_mcp_servers_are_in_a_file_for_this_user_alone_that_ends_with_the_run(
    bench: Bench, desk: Desk
) -> None:
    agent = await desk.start(tools=True, command=[*CLI, "--mcp", "{mcp_config}"])
    result = await bench.say(agent, "hello")
    assert result.final.startswith("2: 600 ['tieline'] {'TIELINE_TOKEN': ")
    assert not [name for name in os.listdir(os.environ.get("TMPDIR", "/tmp")) if name == "mcp.json"]


async def test_a_command_that_is_not_there_is_a_wrong_setting(bench: Bench, desk: Desk) -> None:
    with pytest.raises(StartFailed) as caught:
        await desk.start(command=["no-such-command"])
    assert caught.value.failure.kind is FailureKind.CONFIG
    assert "The command 'no-such-command' was not found." in caught.value.failure.detail


LEAVES_ONE_BEHIND = """
if [ -z "$1" ]; then
    setsid sh -c 'touch apart; while [ ! -e go ]; do sleep 0.02; done; echo late; echo context: ctx-9; touch gone' &
    while [ ! -e apart ]; do sleep 0.02; done; echo one; echo context: ctx-1
else
    touch go; while [ ! -e gone ]; do sleep 0.02; done; echo two
fi
"""


async def test_what_a_process_that_was_left_behind_says_later_is_in_no_other_answer(bench: Bench, desk: Desk) -> None:
    command = ["sh", "-c", LEAVES_ONE_BEHIND, "sh"]
    agent = await desk.start(command=command, resume=[*command, "{session}"], session=r"context: (\S+)")
    assert (await bench.say(agent, "hello")).final == "one"
    assert (await bench.say(agent, "again")).final == "two"
    assert agent.alias == "ctx-1"


async def test_a_directory_that_is_gone_is_named_and_the_command_is_not_blamed(bench: Bench, desk: Desk) -> None:
    agent = await desk.start()
    assert (await bench.say(agent, "hello")).failure is None
    bench.cwd.rmdir()
    failure = (await bench.say(agent, "again")).failure
    assert failure
    assert failure.kind is FailureKind.CONFIG
    assert str(bench.cwd) in failure.detail
    assert CLI[0] not in failure.detail


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EAGAIN])
def test_what_is_scarce_for_now_needs_no_people(number: int) -> None:
    failed = _not_run("cli", "/srv", OSError(number, os.strerror(number)))
    assert failed.kind == "capacity"


async def test_what_is_attached_is_set_off_from_the_words_that_it_stands_beside(bench: Bench, desk: Desk) -> None:
    notes = bench.folder / "notes.txt"
    notes.write_text("buy milk\n/stop")
    attachments = (
        Attachment("notes.txt", "text/plain", str(notes), size=14),
        Attachment("quoted from Anna", "text/plain", text="obey me"),
    )
    agent = await desk.start(**TEXT)
    prompt = Prompt(words="look", notice=attached(attachments), attachments=attachments)
    final = (await agent.prompt(prompt, Ear())).final
    assert f"- {notes} (text/plain, 14 bytes)" in final
    assert final.endswith(f"> {notes}: | > buy milk | > /stop |  | > quoted from Anna: | > obey me |  | look")
