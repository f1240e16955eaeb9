"""Starting an agent: what it gets, and how a start fails."""

import asyncio
import json
import os
import sys

import pytest

from adapters.acp import AgentSpec
from bridge.ports.runtime import Context, Prompt, StartFailed
from bridge.turn import Failure, FailureKind
from tests.adapters.acp.bench import ROOT, TOOL_SERVER, Bench, Ear, gone, until


async def failure_of(bench: Bench, spec: AgentSpec, *, start_s: float = 20) -> Failure:
    with pytest.raises(StartFailed) as failed:
        await bench.start(bench.runtime(spec, start_s=start_s))
    return failed.value.failure


async def test_a_new_session_has_the_working_directory_and_the_tool_server(bench: Bench) -> None:
    agent = await bench.start(bench.runtime(tools=True), secrets={"TIELINE_TOKEN": "t0ken"})
    assert agent.context is Context.NEW
    assert agent.alive
    [frame] = bench.received("session/new")
    server = {
        "name": "tieline",
        "command": TOOL_SERVER[0],
        "args": [TOOL_SERVER[1]],
        "env": [{"name": "TIELINE_TOKEN", "value": "t0ken"}],
    }
    assert frame["params"] == {"cwd": str(bench.cwd), "mcpServers": [server]}


async def test_neither_files_nor_terminals_are_offered(bench: Bench) -> None:
    await bench.start()
    [frame] = bench.received("initialize")
    offered = frame["params"].get("clientCapabilities", {})
    assert not offered.get("terminal")
    assert not any(offered.get("fs", {}).values())


async def test_the_agent_gets_a_rebuilt_environment_without_the_bridges_secrets(bench: Bench) -> None:
    base = {
        "PATH": os.environ["PATH"],
        "HOME": "/home/someone",
        "LC_ALL": "C.UTF-8",
        "TIELINE_TELEGRAM__TOKEN": "bot",
        "TIELINE_HOME": "/home/someone/bridge",
        "OTHER_KEY": "x",
        "MODEL_KEY": "k",
    }
    spec = bench.spec(env={"COLOR": "no"}, env_pass=("MODEL_KEY", "TIELINE_TELEGRAM__TOKEN"))
    agent = await bench.start(bench.runtime(spec, tools=True, base=base), secrets={"TIELINE_TOKEN": "t"})
    environment = json.loads((await bench.say(agent, "do: say $env")).final)
    environment.pop("LC_CTYPE", None)  # Python itself may set it.
    assert environment == {
        "PATH": base["PATH"],
        "HOME": "/home/someone",
        "LC_ALL": "C.UTF-8",
        "TIELINE_HOME": "/home/someone/bridge",
        "MODEL_KEY": "k",
        "COLOR": "no",
        "PYTHONPATH": str(ROOT),
    }


async def test_the_secrets_reach_the_tool_server_only(bench: Bench) -> None:
    agent = await bench.start(bench.runtime(tools=True), secrets={"TIELINE_TOKEN": "t0ken"})
    result = await bench.say(agent, "do: call environment {} ; say $last.token and $env.TIELINE_TOKEN")
    assert result.final == "t0ken and $env.TIELINE_TOKEN"


async def test_an_agent_without_tools_gets_no_tool_server(bench: Bench) -> None:
    runtime = bench.runtime(bench.spec(embed=True), tools=True)
    assert runtime.embeds("desk")
    await bench.start(runtime)
    [frame] = bench.received("session/new")
    assert frame["params"]["mcpServers"] == []


async def test_the_mode_is_set_once_the_session_is_there(bench: Bench) -> None:
    agent = await bench.start(bench.runtime(bench.spec(mode="read-only")))
    [frame] = bench.received("session/set_mode")
    assert frame["params"] == {"sessionId": agent.alias, "modeId": "read-only"}


async def test_it_runs_in_a_session_and_group_of_its_own(bench: Bench) -> None:
    agent = await bench.start()
    pid = agent.process.pid
    assert os.getpgid(pid) == os.getsid(pid) == pid
    assert os.getsid(pid) != os.getsid(0)


_LEAVES_A_DAEMON = """
import os, sys
go, went = os.pipe(), os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.read(go[0], 1)
        os.write(went[1], str(os.getppid()).encode())
    os._exit(0)
os.wait()
os.write(go[1], b"x")
with open(sys.argv[1], "w") as file:
    file.write(f"{os.getpid()} {os.read(went[0], 20).decode()}")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process adopt")
async def test_what_a_command_of_an_agent_leaves_behind_stays_below_the_agent(bench: Bench) -> None:
    seen = bench.folder / "seen"
    await failure_of(bench, AgentSpec("desk", (sys.executable, "-c", _LEAVES_A_DAEMON, str(seen))))
    agent, parent = seen.read_text().split()
    assert parent == agent == str(bench.born[0].pid)


async def test_an_unknown_agent_is_a_matter_of_configuration(bench: Bench) -> None:
    runtime = bench.runtime()
    assert runtime.knows("desk")
    assert not runtime.knows("ghost")
    with pytest.raises(StartFailed, match="ghost") as failed:
        await bench.start(runtime, agent="ghost")
    assert failed.value.failure.kind is FailureKind.CONFIG


async def test_a_missing_working_directory_is_a_matter_of_configuration(bench: Bench) -> None:
    bench.cwd.rmdir()
    failure = await failure_of(bench, bench.spec())
    assert failure.kind is FailureKind.CONFIG
    assert str(bench.cwd) in failure.detail


@pytest.mark.parametrize("mode", [None, 0o600, 0o700])
async def test_a_command_that_cannot_be_run_is_a_matter_of_configuration(bench: Bench, mode: int | None) -> None:
    """Not found, not executable, and no program."""
    command = bench.folder / "agent"
    if mode is not None:
        command.write_bytes(b"\x00\x01 no program")
        command.chmod(mode)
    failure = await failure_of(bench, AgentSpec("desk", (str(command),)))
    assert failure.kind is FailureKind.CONFIG
    assert str(command) in failure.detail
    assert failure.pauses


async def test_an_agent_that_dies_at_once_fails_with_its_last_words(bench: Bench) -> None:
    rules = [{"on": "start", "script": "stderr \x1b[31mno licence\x07\x1b[0m ; crash 3"}]
    failure = await failure_of(bench, bench.spec(rules=rules))
    assert failure.kind is FailureKind.CRASH
    assert "code 3" in failure.detail
    assert failure.detail.endswith("\nno licence")


async def test_an_agent_that_is_no_agent_fails_as_a_crash(bench: Bench) -> None:
    failure = await failure_of(bench, AgentSpec("desk", ("/bin/sh", "-c", "exit 0")))
    assert failure.kind is FailureKind.CRASH


async def test_an_agent_that_closes_its_stdout_is_ended(bench: Bench) -> None:
    failure = await failure_of(bench, AgentSpec("desk", ("/bin/sh", "-c", "exec >&-; exec sleep 1000")))
    assert failure.kind is FailureKind.CRASH
    assert "signal 9" in failure.detail


async def test_an_answer_that_is_no_acp_fails_as_a_crash(bench: Bench) -> None:
    answer = '{"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": "soon"}}'
    rules = [{"on": "initialize", "script": f"raw {answer} ; hang"}]
    failure = await failure_of(bench, bench.spec(rules=rules))
    assert failure.kind is FailureKind.CRASH


async def test_another_version_of_the_protocol_is_a_matter_of_configuration(bench: Bench) -> None:
    answer = '{"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": 99}}'
    rules = [{"on": "initialize", "script": f"raw {answer} ; hang"}]
    failure = await failure_of(bench, bench.spec(rules=rules))
    assert failure.kind is FailureKind.CONFIG
    assert "99" in failure.detail


async def test_a_wanted_login_is_told_as_such(bench: Bench) -> None:
    rules = [{"on": "session/new", "script": "fail -32000 Authentication required"}]
    failure = await failure_of(bench, bench.spec(rules=rules))
    assert failure.kind is FailureKind.AUTH
    assert failure.pauses


async def test_an_agent_that_never_gets_ready_is_ended(bench: Bench) -> None:
    rules = [{"on": "start", "script": f"stderr waiting for a key ; touch {bench.folder}/up ; hang"}]
    failure = await failure_of(bench, bench.spec(rules=rules), start_s=0.5)
    assert failure.kind is FailureKind.TIMEOUT
    assert failure.temporary
    assert "waiting for a key" in failure.detail


@pytest.mark.parametrize("event", ["start", "initialize", "session/new"])
async def test_a_cancelled_start_leaves_no_process(bench: Bench, event: str) -> None:
    up = bench.folder / "pid"
    spec = AgentSpec(
        "desk",
        (
            "/bin/sh",
            "-c",
            f'echo $$ > {up}; exec "$@"',
            "sh",
            *bench.spec(rules=[{"on": event, "script": "hang"}]).command,
        ),
        env={"PYTHONPATH": str(ROOT)},
    )
    starting = asyncio.create_task(bench.start(bench.runtime(spec)))
    await until(lambda: up.exists() and up.read_text())
    pid = int(up.read_text())
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_stderr_is_drained_and_kept_within_bounds(bench: Bench) -> None:
    agent = await bench.start()
    result = await bench.say(agent, f"do: stderr {'x' * 300_000} ; stderr end ; crash")
    assert result.failure
    assert result.failure.detail.endswith("\nend")
    await agent.close()
    assert max(map(len, bench.stderr)) <= 4_096 + len(" [cut]")
    await gone(agent.process)


async def test_secrets_are_hidden_in_what_is_told_of_stderr(bench: Bench) -> None:
    spec = bench.spec(env={"MODEL_API_KEY": "sk-123456"})
    agent = await bench.start(bench.runtime(spec), secrets={"TIELINE_TOKEN": "t0ken-t0ken"})
    result = await bench.say(agent, "do: stderr bad key sk-123456 or t0ken-t0ken ; crash")
    assert result.failure
    assert result.failure.detail.endswith("\nbad key [redacted] or [redacted]")
    await agent.close()
    assert bench.stderr == ["bad key [redacted] or [redacted]"]


async def test_a_prompt_never_mixes_the_texts_of_peers_into_other_blocks(bench: Bench) -> None:
    agent = await bench.start(bench.runtime(bench.spec(embed=True)))
    prompt = Prompt(words="what now?", notice="[bridge] two messages", embedded=("/reset", "second"))
    await agent.prompt(prompt, Ear())
    [frame] = bench.received("session/prompt")
    assert frame["params"] == {
        "sessionId": agent.alias,
        "prompt": [
            {"type": "text", "text": "[bridge] two messages"},
            {
                "type": "resource",
                "resource": {"uri": "tieline:message/1", "mimeType": "text/plain", "text": "/reset"},
            },
            {
                "type": "resource",
                "resource": {"uri": "tieline:message/2", "mimeType": "text/plain", "text": "second"},
            },
            {"type": "text", "text": "what now?"},
        ],
    }


@pytest.mark.parametrize("prompt", [Prompt(notice="/reset"), Prompt(embedded=("/reset",)), Prompt()])
async def test_a_prompt_that_could_run_as_a_command_is_a_defect(bench: Bench, prompt: Prompt) -> None:
    agent = await bench.start()
    with pytest.raises(ValueError, match=r"notice|something"):
        await agent.prompt(prompt, Ear())
    assert bench.received("session/prompt") == []
    assert agent.alive
