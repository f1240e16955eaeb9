"""Ending processes that an earlier bridge has left: theirs, wholly, and nobody else's."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from adapters import process as processes
from adapters.acp.child import Child
from adapters.acp.tail import Tail
from adapters.process import birth_of, children, end, signalled, survivors
from bridge.turn import Process

DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(1000)"
DEAF_CHILD = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {DEAF!r}]).wait()"
JOB = "import os, time; os.setpgid(0, 0); print(flush=True); time.sleep(1000)"
WITH_JOB = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {JOB!r}]).wait()"


class Leader:
    def __init__(self, code: str) -> None:
        command = [sys.executable, "-c", code]
        self.popen = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
        assert self.popen.stdout
        self.popen.stdout.readline()
        self.process = Process(self.popen.pid, birth_of(self.popen.pid) or "")

    def dies(self) -> None:
        self.popen.kill()
        self.popen.wait()


@pytest.fixture
def deaf() -> Iterator[Leader]:
    yield from _leader(DEAF)


@pytest.fixture
def with_child() -> Iterator[Leader]:
    yield from _leader(DEAF_CHILD)


@pytest.fixture
def with_job() -> Iterator[Leader]:
    yield from _leader(WITH_JOB)


def _leader(code: str) -> Iterator[Leader]:
    leader = Leader(code)
    yield leader
    signalled(leader.process.pid, signal.SIGKILL)
    leader.popen.wait()
    assert leader.popen.stdout
    leader.popen.stdout.close()


async def test_what_ignores_sigterm_is_killed_after_the_grace(deaf: Leader) -> None:
    await end(deaf.process, 0.1)
    assert not survivors(deaf.process)
    assert deaf.popen.wait() == -signal.SIGKILL


async def test_an_end_that_is_cancelled_kills_at_once(deaf: Leader) -> None:
    ending = asyncio.create_task(end(deaf.process, 60))
    await asyncio.sleep(0)
    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending
    assert deaf.popen.wait() == -signal.SIGKILL


async def test_a_group_is_ended_though_its_leader_is_dead(with_child: Leader) -> None:
    assert len(survivors(with_child.process)) == 2
    with_child.dies()
    assert len(survivors(with_child.process)) == 1
    await end(with_child.process, 0.1)
    assert not survivors(with_child.process)


async def test_what_has_a_group_of_its_own_in_the_session_does_not_outlive_the_rest(with_job: Leader) -> None:
    (job,) = children(with_job.process.pid)
    await end(with_job.process, 5)
    async with asyncio.timeout(20):
        while birth_of(job.pid) == job.birth:  # noqa: ASYNC110 - the kernel tells only parents
            await asyncio.sleep(0.01)


async def test_a_process_born_at_another_time_is_left_alone(deaf: Leader) -> None:
    await end(Process(deaf.process.pid, "1"), 0)
    assert deaf.popen.poll() is None


async def test_after_a_boot_the_same_numbers_are_of_other_processes(with_child: Leader) -> None:
    ticks = with_child.process.birth.split()[0]
    with_child.dies()
    await end(Process(with_child.process.pid, f"{ticks} another-boot"), 0)
    assert len(survivors(with_child.process)) == 1


def test_a_zombie_does_not_live(deaf: Leader) -> None:
    deaf.popen.kill()
    os.waitid(os.P_PID, deaf.popen.pid, os.WEXITED | os.WNOWAIT)
    assert birth_of(deaf.popen.pid) is None
    assert not survivors(deaf.process)


async def test_the_bridge_never_ends_itself_or_the_system() -> None:
    own = Process(os.getpgrp(), birth_of(os.getpgrp()) or "")
    for process in (own, Process(1, birth_of(1) or ""), Process(0, "1")):
        assert survivors(process) == []
        await end(process, 0)


async def test_an_end_before_anybody_listens_is_not_missed() -> None:
    child = await Child.spawn(("/bin/echo", "hi"), cwd="/", env={}, tail=Tail())
    await child.gone()
    heard: list[bytes] = []
    child.listen(heard.append, lambda: heard.append(b"end"))
    assert heard == [b"hi\n", b"end"]
    with pytest.raises(ConnectionError):
        await child.write(b"hello\n")


async def test_a_look_at_all_processes_holds_up_nobody(deaf: Leader, monkeypatch: pytest.MonkeyPatch) -> None:
    looks, go = threading.Event(), threading.Event()
    entries = processes._entries

    def slow() -> Any:
        looks.set()
        assert go.wait(5), "nobody else can do anything meanwhile"
        return entries()

    monkeypatch.setattr("adapters.process._entries", slow)
    ending = asyncio.create_task(end(deaf.process, 0))
    await asyncio.to_thread(looks.wait)
    go.set()
    await ending
    assert birth_of(deaf.process.pid) is None
