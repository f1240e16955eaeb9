"""Operating system processes, told apart by their birth and ended with their whole group."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bridge.turn import Process

_POLL_S = 0.05
_KILL_S = 5.0


@dataclass(frozen=True, slots=True)
class _Entry:
    pid: int
    group: int
    birth: str
    zombie: bool


def birth_of(pid: int) -> str | None:
    """On Linux the kernel's start ticks and the boot that they count from, elsewhere the start time; None where the
    process does not live."""
    entry = _entry(pid)
    return entry.birth if entry and not entry.zombie else None


def survivors(process: Process) -> list[int]:
    """What lives of its group: with its leader, or without where the leader is dead.

    Empty where another process has the pid by now: a pid is not given away while a group bears its number. Nothing
    lives on over a boot, after which the same numbers are other groups'.
    """
    leader = _entry(process.pid)
    if process.pid <= 1 or process.pid == os.getpgrp() or (leader and leader.birth != process.birth):
        return []
    if not process.birth.endswith(_boot()):
        return []
    if not signalled(process.pid, 0):
        return []
    return [entry.pid for entry in _entries() if entry.group == process.pid and not entry.zombie]


def signalled(group: int, signum: int) -> bool:
    """Signals a process group; False where there is none. On macOS a group of zombies may not be signalled."""
    try:
        os.killpg(group, signum)
    except (ProcessLookupError, PermissionError):
        return False
    return True


async def end(process: Process, grace_s: float) -> None:
    """Ends what lives of a process and its group, by force after the grace, or at once when cancelled."""
    if not survivors(process):
        return
    signalled(process.pid, signal.SIGTERM)
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                await _gone(process)
    finally:
        if survivors(process):
            signalled(process.pid, signal.SIGKILL)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_KILL_S):
            await _gone(process)


async def _gone(process: Process) -> None:
    while survivors(process):  # noqa: ASYNC110 - the kernel tells only parents
        await asyncio.sleep(_POLL_S)


if sys.platform == "linux":

    def _entry(pid: int) -> _Entry | None:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None
        # The name, in parentheses, may hold anything; the state, field 3, follows it.
        fields = stat[stat.rindex(")") + 2 :].split()
        return _Entry(pid, group=int(fields[2]), birth=f"{fields[19]} {_boot()}", zombie=fields[0] in "ZX")

    @cache
    def _boot() -> str:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()

    def _entries() -> Iterator[_Entry]:
        for name in os.listdir("/proc"):
            if name.isdigit() and (entry := _entry(int(name))):
                yield entry

else:

    def _entry(pid: int) -> _Entry | None:
        return next(_listed("-p", str(pid)), None)

    def _boot() -> str:
        return ""

    def _entries() -> Iterator[_Entry]:
        return _listed("-A")

    def _listed(*selection: str) -> Iterator[_Entry]:
        command = ["ps", *selection, "-o", "pid=,pgid=,stat=,lstart="]
        env = {"PATH": os.defpath, "LC_ALL": "C"}
        for line in subprocess.run(command, capture_output=True, text=True, env=env, check=False).stdout.splitlines():
            pid, group, state, birth = line.split(None, 3)
            yield _Entry(int(pid), int(group), birth.strip(), zombie="Z" in state)
