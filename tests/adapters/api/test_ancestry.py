"""What the kernel tells of the processes that agents share, tried with stand-ins of the same names."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from adapters import process
from adapters.api.ancestry import host_above, in_terminal, seats, thread_of
from bridge.turn import Process
from tests.acceptance.terminal import controlled_by

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody can tell")

_HOST = """import os, subprocess, sys
child = "import sys; print('there', flush=True); sys.stdin.read()"
tool = dict(os.environ, CODEX_THREAD_ID="thread-1")
for environ in (tool, None):
    started = subprocess.Popen([os.readlink("/proc/self/exe"), "-c", child], env=environ, stdout=subprocess.PIPE)
    started.stdout.readline()
    print(started.pid, flush=True)
sys.stdin.read()
"""


@asynccontextmanager
async def running(folder: Path, *words: str) -> AsyncIterator[list[int]]:
    """A program with these words for its command line. Gives the process ids of what it has started for a tool and by
    itself, and its own."""
    (folder / words[1]).write_text(_HOST)
    started = await asyncio.create_subprocess_exec(
        *words, executable=sys.executable, cwd=folder, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert started.stdin
    assert started.stdout
    try:
        yield [int(await started.stdout.readline()), int(await started.stdout.readline()), started.pid]
    finally:
        started.stdin.close()
        await started.wait()


async def test_a_host_is_known_by_its_program_and_what_it_does_and_tells_its_tools_their_thread(tmp_path: Path) -> None:
    async with running(tmp_path, "/opt/bin/codex", "app-server", "--managed") as (tool, hook, host):
        for child in (tool, hook):
            pids = [one.pid for one in process.ancestors(child, 10)]
            found = host_above(pids, "codex")
            assert found == (Process(host, process.birth_of(host) or ""), child)
            assert host_above(pids, "claude-code") is None
            assert host_above(pids[pids.index(host) :], "codex") is None  # it is not below itself
        assert thread_of(tool) == "thread-1"
        assert thread_of(hook) is None
    assert thread_of(hook) is None
    for words in (("/opt/bin/codex", "exec"), ("/opt/bin/other", "app-server")):
        async with running(tmp_path, *words) as (tool, _, _):
            assert host_above([one.pid for one in process.ancestors(tool, 10)], "codex") is None


async def test_a_person_may_sit_at_whatever_has_the_name_of_the_host_and_a_terminal() -> None:
    command = (sys.executable, "-c", "import sys; sys.stdin.read()")
    host = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.PIPE, start_new_session=True)
    keyboard, slave = os.openpty()
    seat = await asyncio.create_subprocess_exec(*command, **controlled_by(slave))
    os.close(slave)
    try:
        found = seats(Process(host.pid, process.birth_of(host.pid) or "")) or []
        assert Process(seat.pid, process.birth_of(seat.pid) or "") in found
        assert host.pid not in [one.pid for one in found]
        assert in_terminal([host.pid, seat.pid])
        assert not in_terminal([host.pid])
    finally:
        for one in (host, seat):
            one.kill()
            await one.wait()
        os.close(keyboard)
