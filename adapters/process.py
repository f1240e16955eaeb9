"""Operating system processes, told apart by their birth and ended with their whole group."""

import asyncio
import contextlib
import os
import re
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
_LOOK_S = 0.5


@dataclass(frozen=True, slots=True)
class _Entry:
    pid: int
    parent: int
    group: int
    session: int
    birth: str
    zombie: bool
    name: str


def birth_of(pid: int) -> str | None:
    """On Linux the kernel's start ticks and the boot that they count from, elsewhere the start time; None where the
    process does not live."""
    entry = _entry(pid)
    return entry.birth if entry and not entry.zombie else None


def ancestors(pid: int, hops: int) -> list[Process]:
    """The process itself and the next `hops` above it, the nearest first, as far as they live."""
    line: list[Process] = []
    while pid > 0 and len(line) <= hops and (entry := _entry(pid)) is not None:
        line.append(Process(entry.pid, entry.birth))
        pid = entry.parent
    return line


def name_of(pid: int) -> str:
    """What the kernel calls the process, in letters that nothing can be written with."""
    entry = _entry(pid)
    return re.sub(r"[^A-Za-z0-9._-]", "", os.path.basename(entry.name))[:32] if entry else ""


def children(pid: int) -> list[Process]:
    return [Process(entry.pid, entry.birth) for entry in _entries() if entry.parent == pid and not entry.zombie]


def apart(root: int, leader: int) -> list[Process]:
    """What lives below `root` in a process session other than its own and that of `leader`."""
    entries = {entry.pid: entry for entry in _entries() if not entry.zombie}
    own = {entries[pid].session for pid in (root, leader) if pid in entries} | {leader}

    def below(entry: _Entry) -> bool:
        seen = set()
        while entry.parent in entries and entry.pid not in seen:
            if entry.parent == root:
                return True
            seen.add(entry.pid)
            entry = entries[entry.parent]
        return False

    found = [entry for entry in entries.values() if entry.session not in own and below(entry)]
    return [Process(entry.pid, entry.birth) for entry in found]


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


async def exited(process: Process) -> None:
    """Returns once the process has ended."""
    try:
        handle = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        while birth_of(process.pid) == process.birth:  # noqa: ASYNC110 - no kernel tells of it
            await asyncio.sleep(_LOOK_S)
        return
    gone = asyncio.Event()
    loop = asyncio.get_running_loop()
    try:
        loop.add_reader(handle, gone.set)
        if birth_of(process.pid) == process.birth:
            await gone.wait()
    finally:
        loop.remove_reader(handle)
        os.close(handle)


def kill(process: Process) -> None:
    """Kills what lives of its group, and what has made a group of its own in its process session, as a shell does with
    its jobs. Nothing where another process has the pid by now."""
    leader = _entry(process.pid)
    if process.pid <= 1 or process.pid == os.getpgrp() or (leader and leader.birth != process.birth):
        return
    if not process.birth.endswith(_boot()):
        return
    signalled(process.pid, signal.SIGKILL)
    for entry in _entries():
        if entry.session == process.pid != entry.group and not entry.zombie:
            with contextlib.suppress(ProcessLookupError):
                os.kill(entry.pid, signal.SIGKILL)


async def end(process: Process, grace_s: float) -> None:
    """Ends what lives of a process and its group, by force after the grace, or at once when cancelled. What has made a
    group of its own in its process session does not outlive it. To look at all processes takes a while where there are
    many, so a thread does it: whoever ends many at once holds up nobody."""
    try:
        if not await asyncio.to_thread(survivors, process):
            return
        signalled(process.pid, signal.SIGTERM)
        signalled(process.pid, signal.SIGCONT)  # one that was stopped hears nothing before
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                await _gone(process)
        await asyncio.to_thread(kill, process)
    except asyncio.CancelledError:
        kill(process)
        raise
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_KILL_S):
            await _gone(process)


async def _gone(process: Process) -> None:
    while await asyncio.to_thread(survivors, process):  # noqa: ASYNC110 - the kernel tells only parents
        await asyncio.sleep(_POLL_S)


if sys.platform == "linux":

    def _entry(pid: int) -> _Entry | None:
        try:
            file = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
            try:
                stat = os.read(file, 4_096).decode("utf-8", "replace")
            finally:
                os.close(file)
        except OSError:
            return None
        # The name, in parentheses, may hold anything; the state, field 3, follows it.
        fields = stat[stat.rindex(")") + 2 :].split()
        parent, group, session = map(int, fields[1:4])
        return _Entry(
            pid,
            parent,
            group,
            session,
            f"{fields[19]} {_boot()}",
            fields[0] in "ZX",
            stat[stat.index("(") + 1 : stat.rindex(")")],
        )

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
        command = ["ps", *selection, "-o", "pid=,ppid=,pgid=,sess=,stat=,lstart=,comm="]
        env = {"PATH": os.defpath, "LC_ALL": "C"}
        for line in subprocess.run(command, capture_output=True, text=True, env=env, check=False).stdout.splitlines():
            pid, parent, group, session, state, *rest = line.split(None, 10)
            birth, name = " ".join(rest[:5]), rest[5] if len(rest) > 5 else ""
            # macOS tells no session ids: then what is in another group counts as in another session.
            of = int(session) if session.isdigit() and session != "0" else int(group)
            yield _Entry(int(pid), int(parent), int(group), of, birth, "Z" in state, name)
