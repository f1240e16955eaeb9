"""What agents leave behind is told by its descent and reaped, and nobody is robbed of an exit status."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

import adapters.acp
from adapters.acp.descent import descent_of, told_by
from adapters.orphans import OWN
from bridge.caller import Descent

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there are no subreapers")

LIMIT = 819_200
ADOPTS = str(Path(adapters.acp.__file__).with_name("adopting.py"))

ADOPTING = """
import asyncio, os, subprocess, sys
from adapters.acp.child import Child
from adapters.orphans import OWN, adopt, reap
from adapters.acp.tail import Tail
from adapters.loop import run_loop

LEAVES = "import os, sys\\nfor _ in range(20):\\n  if os.fork() == 0: os.setsid(); os._exit(7)\\nos._exit(%d)"

async def reaping(counted):
    while True:
        counted.append(reap())
        await asyncio.sleep(0)

async def started(code):
    child = await Child.spawn([sys.executable, "-I", "-S", "-c", LEAVES % code], cwd="/", env={}, tail=Tail())
    await child.exited.wait()
    return child.returncode

async def main():
    adopt()
    counted = []
    async with asyncio.TaskGroup() as group:
        task = group.create_task(reaping(counted))
        run = [sys.executable, "-I", "-S", "-c", LEAVES % 9]
        codes = [group.create_task(started(code)) for code in range(30)]
        apart = [group.create_task(asyncio.to_thread(subprocess.run, run, check=False)) for _ in range(10)]
        assert [await code for code in codes] == list(range(30))
        assert [(await one).returncode for one in apart] == [9] * 10
        while sum(counted) < 20 * 40:
            await asyncio.sleep(0)
        task.cancel()
    assert sum(counted) == 20 * 40
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG)
    except ChildProcessError:
        print("none is left")

LOOP
"""


@pytest.mark.parametrize("loop", ["run_loop(main())", "asyncio.run(main())"])
async def test_what_was_adopted_is_reaped_and_whoever_waits_for_a_child_learns_its_exit(loop: str) -> None:
    code = ADOPTING.replace("LOOP", loop)
    process = await asyncio.create_subprocess_exec(sys.executable, "-P", "-c", code, stdout=subprocess.PIPE)
    out, _ = await process.communicate()
    assert (process.returncode, out) == (0, b"none is left\n")


def test_nothing_is_reaped_while_a_child_is_started() -> None:
    with OWN.starting():
        assert OWN.may_be(os.getpid())
    assert not OWN.may_be(os.getpid())


@pytest.mark.parametrize(
    ("limit", "own", "told"),
    [
        (LIMIT, LIMIT, Descent.FREE),
        (2**64, LIMIT, Descent.FREE),
        (LIMIT - 1, LIMIT, Descent.LEFT),
        (LIMIT + 1, LIMIT, Descent.LEFT),
        (0, LIMIT, Descent.LEFT),
        (None, LIMIT, Descent.LEFT),
        (LIMIT, LIMIT - 1, Descent.FREE),
        (LIMIT - 1, LIMIT - 1, Descent.FOREIGN),
        (LIMIT - 3, LIMIT - 1, Descent.LEFT),
        (0, 0, Descent.FREE),
        (None, None, Descent.FREE),
    ],
)
def test_the_mark_is_an_odd_limit_or_one_below_the_bridges(limit: int | None, own: int | None, told: Descent) -> None:
    assert told_by(limit, own) is told


def test_what_is_below_the_adopter_was_left_behind_but_not_the_adopter_itself() -> None:
    pids = (os.getpid(), os.getppid(), 1)
    assert descent_of(pids, adopter=os.getppid()) is Descent.LEFT
    assert descent_of(pids, adopter=os.getpid()) is descent_of(pids) is not Descent.LEFT


@pytest.mark.parametrize("before", [4096, 4097, 3])
def test_whatever_an_agent_starts_bears_the_mark(before: int) -> None:
    code = "import resource; print(*resource.getrlimit(resource.RLIMIT_MSGQUEUE))"
    through = [sys.executable, "-I", "-S", ADOPTS, "setsid", "env", "-i", sys.executable, "-c", code]
    out = subprocess.run(
        ["prlimit", f"--msgqueue={before}:{before}", *through], capture_output=True, text=True, check=True
    )
    soft, hard = map(int, out.stdout.split())
    assert 0 < soft == hard < before
    assert told_by(hard, before) is Descent.LEFT
