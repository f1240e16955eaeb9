"""An agent with a shell never passes for a person, however its commands are started, and whatever outlives it."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import adapters.acp
from adapters.api.processes import from_proc
from tests.acceptance.home import PATIENCE_S, TIELINE, Home, exist

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives what agents leave to the bridge")

TESTS = Path(__file__).parents[1]
ATTEMPTS = f"{sys.executable} -P {TESTS}/acceptance/attempts.py"
CLEAN = "env -i TIELINE_HOME=$TIELINE_HOME PATH=$PATH"

SILENT: Any = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
PIPED: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
AS_AN_AGENT = (sys.executable, "-I", "-S", str(Path(adapters.acp.__file__).with_name("adopting.py")))

ENDING_WITH_THE_AGENT = {
    "directly": "{}",
    "nohup": "nohup {}",
    "with-a-clean-environment": f"{CLEAN} {{}}",
}
OUTLIVING_IT = {
    "setsid": "setsid {}",
    "pty": "script -qec '{}' /dev/null",
    "double-fork": "(setsid {} &)",
    "pty-after-a-double-fork": "(setsid script -qec '{}' /dev/null &)",
    "everything": f"({CLEAN} setsid script -qec 'setsid -c {{}}' /dev/null &)",
}
EVASIONS = {**ENDING_WITH_THE_AGENT, **OUTLIVING_IT}
"""How a command gets away from the agent that starts it."""

LEAVE = """
import os, sys
for _ in range(200):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            with open(sys.argv[2], "a") as pids:
                print(os.getpid(), file=pids, flush=True)
            os.open(sys.argv[1], os.O_RDONLY)
        os._exit(0)
for _ in range(200):
    os.wait()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Of the attempts, whose processes are ended at last by their pids."""
    folder = tmp_path / "attempts"
    folder.mkdir()
    yield folder
    for path in folder.glob("*.pid"):
        for pid in path.read_text().split():
            if str(folder).encode() in _command_of(int(pid)):
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)


@pytest.mark.parametrize("end", ["killed", "idle"])
async def test_whatever_an_agent_starts_is_that_agent_and_nobody_once_it_has_ended(
    home: Home, folder: Path, end: str
) -> None:
    _furnish(home)
    if end == "idle":
        home.limits(idle_close_s=0.2)
    await home.up()
    gates = [folder / "agent-ended", folder / "bridge-killed"]
    lines = [line.format(f"{ATTEMPTS} {name} {folder} {gates[0]} {gates[1]}") for name, line in EVASIONS.items()]
    (folder / "evade.sh").write_text("".join(f"{line} &\n" for line in lines))
    waits = " ; ".join(f"wait-for {folder / name}.0" for name in EVASIONS)
    begun = await home.ask("career", f"do: run . {folder}/evade.sh ; {waits} ; say $pid", timeout=25)
    agent = int(begun.json["reply"]["text"])
    for name in EVASIONS:
        tried = _tried(folder, name, 0)
        assert _codes(tried) == {**dict.fromkeys(tried, 77), "send": 0}, name

    if end == "killed":
        os.kill(agent, signal.SIGKILL)
    await _gone(agent)
    gates[0].touch()
    await _refused(folder, 1)

    await home.kill()
    await home.up()
    gates[1].touch()
    await _refused(folder, 2)

    mail = (await home.tieline("inbox", "--session", "desk", "--json")).lines
    assert {(one["from"], one["origin"]) for one in mail} == {("default/career", "peer")}
    assert sorted(one["text"] for one in mail) == sorted(f"{name} 0" for name in EVASIONS)
    listed = (await home.tieline("sessions", "--json")).lines
    assert not [one for one in listed if "made-" in one["id"]]


async def test_another_sessions_name_helps_nobody(home: Home, folder: Path) -> None:
    _furnish(home)
    await home.up()
    names = {"shell": "TIELINE_SESSION=shell", "another": "TIELINE_SESSION=default/finance"}
    for name, variable in names.items():
        script = f"do: run {variable} {ATTEMPTS} {name} {folder} ; say $last"
        assert (await home.ask("career", script)).json["reply"]["text"] == "0"
        assert set(_codes(_tried(folder, name, 0)).values()) == {77}
    assert (await home.tieline("inbox", "--session", "desk", "--json")).out == ""


async def test_a_persons_terminal_is_the_person_beside_agents_and_over_a_restart(home: Home, folder: Path) -> None:
    _furnish(home)
    await home.up()
    await home.ask("career", "do: say here")
    gate = folder / "gate"
    command = ("script", "-qec", f"{ATTEMPTS} person {folder} {gate}", "/dev/null")
    terminal = await asyncio.create_subprocess_exec(*command, env=home.environ, **SILENT)
    await exist(folder / "person.0")
    await home.kill()
    await home.up()
    gate.touch()
    assert await terminal.wait() == 0
    for number in (0, 1):
        tried = _tried(folder, "person", number)
        assert _codes(tried) == dict.fromkeys(tried, 0)
    mail = (await home.tieline("inbox", "--session", "desk", "--json")).lines
    assert [one["origin"] for one in mail] == ["user"] * 6


async def test_a_bridge_that_an_agent_has_started_takes_terminals_of_that_agent_for_programs(
    home: Home, folder: Path
) -> None:
    """As where an agent ends its bridge and starts it again, to pass for a person there."""
    _furnish(home)
    home.through = AS_AN_AGENT
    await home.up()
    for name, through in {"agent": AS_AN_AGENT, "person": ()}.items():
        command = (*through, "script", "-qec", f"{ATTEMPTS} {name} {folder}", "/dev/null")
        terminal = await asyncio.create_subprocess_exec(*command, env=home.environ, **SILENT)
        assert await terminal.wait() == 0
    tried = _tried(folder, "agent", 0)
    assert _codes(tried) == {**dict.fromkeys(tried, 77), "send": 0, "send as the shell": 0}
    tried = _tried(folder, "person", 0)
    assert _codes(tried) == dict.fromkeys(tried, 0)
    mail = (await home.tieline("inbox", "--session", "desk", "--json")).lines
    assert [one["origin"] for one in mail] == ["peer"] * 2 + ["user"] * 3


async def test_what_an_agent_starts_accepts_nothing_in_a_persons_name(home: Home) -> None:
    _furnish(home)
    home.write()
    command = (*AS_AN_AGENT, *TIELINE, "run", "--accept")
    started = await asyncio.create_subprocess_exec(*command, env=home.environ, stdin=subprocess.DEVNULL, **PIPED)
    out, err = await started.communicate()
    assert (started.returncode, out) == (77, b"")
    assert b"--accept is a person's to say" in err


async def test_two_hundred_processes_that_outlive_their_agent_leave_no_zombie(home: Home, folder: Path) -> None:
    _furnish(home)
    bridge = (await home.up())["pid"]
    fifo, listed = folder / "fifo", folder / "left.pid"
    os.mkfifo(fifo)
    (folder / "leave.py").write_text(LEAVE)
    run = f"run {sys.executable} -I -S {folder}/leave.py {fifo} {listed}"
    agent = int((await home.ask("career", f"do: {run} ; say $pid")).json["reply"]["text"])
    left = [int(pid) for pid in listed.read_text().split()]
    assert len(left) == 200
    os.kill(agent, signal.SIGKILL)
    async with asyncio.timeout(PATIENCE_S):
        while {seen.parent for pid in left if (seen := from_proc(pid))} != {bridge}:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    with fifo.open("wb"):
        await _gone(*left)
    again = await home.ask("career", "do: say $pid")
    assert int(again.json["reply"]["text"]) != agent
    assert await home.down() == 0


def _furnish(home: Home) -> None:
    persona = home.path / "career.persona.json"
    home.agent("career", command=[sys.executable, "-P", f"{TESTS}/fakes/shell_agent.py", "--persona", str(persona)])
    home.session("career", "career")
    home.worker("finance")
    home.session("desk")
    for sender in ("shell", "career", "finance"):
        home.rule(f"default/{sender}", "*")


def _tried(folder: Path, name: str, number: int) -> dict[str, Any]:
    return dict(json.loads((folder / f"{name}.{number}").read_text()))


def _codes(tried: dict[str, Any]) -> dict[str, int]:
    return {what: code for what, (code, _) in tried.items()}


async def _refused(folder: Path, number: int) -> None:
    """Everything that outlives the agent, in everything."""
    await exist(*(folder / f"{name}.{number}" for name in OUTLIVING_IT))
    for name in OUTLIVING_IT:
        for what, (code, out) in _tried(folder, name, number).items():
            error = json.loads(out)["error"]
            assert (code, error["code"]) == (77, "not_permitted"), (name, what)
            assert "the agent that started this process has ended" in error["reason"], (name, what)
            assert error["remedy"]


async def _gone(*pids: int) -> None:
    """Reaped too; of processes that are not its own nobody tells a test."""
    async with asyncio.timeout(PATIENCE_S):
        for pid in pids:
            while from_proc(pid) is not None:  # noqa: ASYNC110
                await asyncio.sleep(0.02)


def _command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
