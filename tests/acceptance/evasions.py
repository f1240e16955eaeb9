"""How an agent's shell gets commands away from the agent that starts them, and a person types them in a terminal."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import adapters.acp
from tests.acceptance.home import Home, exist

ATTEMPTS = f"{sys.executable} -P {Path(__file__).with_name('attempts.py')}"
CLEAN = "env -i TIELINE_HOME=$TIELINE_HOME PATH=$PATH"

SILENT: Any = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
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

NAMED = {"named-the-shell": "TIELINE_SESSION=shell {}", "named-another": "TIELINE_SESSION=default/counsel {}"}
"""How it takes another session's name."""


async def begun(
    home: Home, folder: Path, agent: str, lines: Mapping[str, str], held: str, grant: str, *gates: Path
) -> int:
    """Has an agent start all of it. Returns the agent's pid once each has tried everything; then career is at work
    still, and finance idle."""
    at_work = agent == "career"
    names = [f"{agent}-{name}" for name in lines]
    commands = [f"{ATTEMPTS} {name} {folder} {held} {grant} {gates[0]} {gates[1]}" for name in names]
    starts = [line.format(command) for line, command in zip(lines.values(), commands, strict=True)]
    (folder / f"{agent}.sh").write_text("".join(f"{start} &\n" for start in starts))
    waits = " ; ".join(f"wait-for {folder / name}.0" for name in names)
    script = f"do: begin work ; run . {folder}/{agent}.sh ; {waits} ; run echo $pid > {folder}/{agent} ; "
    script += "hang" if at_work else "end ; say done"
    assert (await home.tieline("send", agent, script, "--wake", "--intent", "inform")).code == 0
    await exist(*(folder / f"{name}.0" for name in names))
    await exist(folder / agent)
    return int((folder / agent).read_text())


async def at_a_terminal(
    home: Home, folder: Path, name: str, held: str, grant: str, *gates: Path, through: Sequence[str] = ()
) -> asyncio.subprocess.Process:
    """The attempts of a person's, unless it is `through` what makes an agent's of them."""
    line = " ".join(map(str, (ATTEMPTS, name, folder, held, grant, *gates)))
    command = (*through, "script", "-qec", line, "/dev/null")
    return await asyncio.create_subprocess_exec(*command, env=home.environ, **SILENT)


def tried(folder: Path, name: str, number: int) -> dict[str, Any]:
    """The exit code and the output of each command, of the attempts of that number."""
    return dict(json.loads((folder / f"{name}.{number}").read_text()))


def exit_codes(folder: Path, name: str, number: int) -> dict[str, int]:
    return {what: code for what, (code, _) in tried(folder, name, number).items()}
