"""Which agent has started a program, as the kernel tells: the nearest one above it, or a host that several share."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from adapters import process
from adapters.api.processes import Lineage, from_proc
from bridge.terminal import MOST_THREAD
from bridge.turn import Process

BETWEEN = (b"mcp_stdio_watchdog",)
"""Programs that an agent puts between itself and its servers, as a part of their command line."""

HOSTED = {"codex": (b"codex", b"app-server")}
"""Agents of which several may share one process, which has no terminal: its program and an argument of it."""

_THREADS = (b"CODEX_THREAD_ID",)
"""How a host tells the commands of its agents' tools whose they are."""

SHELLS = frozenset(
    "bash csh dash fish init ksh login screen sh sshd su sudo systemd tcsh tmuxserver tmux zsh".split()  # noqa: SIM905
)
"""Whoever types `tieline mcp` there is no agent, and all that is typed there later would be taken for one's."""


def agent_above(lineage: Lineage) -> tuple[Process, bool, str | None] | None:
    """The agent that has started a program, whether it has a terminal, and where it works."""
    for pid in lineage.pids[1:]:
        if any(part in _command(pid) for part in BETWEEN):
            continue
        birth = process.birth_of(pid)
        if birth is None or process.name_of(pid).lstrip("-").partition("-")[0] in SHELLS or pid == 1:
            return None
        if sys.platform != "linux":
            return Process(pid, birth), lineage.terminal, None
        seen = from_proc(pid)
        return Process(pid, birth), seen is not None and seen.terminal, _directory(pid)
    return None


def host_above(pids: Sequence[int], client: str) -> tuple[Process, int] | None:
    """The host of several agents that a program comes of, and what that has started on the way to it."""
    if client not in HOSTED:
        return None
    program, argument = HOSTED[client]
    for at, pid in enumerate(pids[1:]):
        words = _command(pid).split(b"\0")
        if os.path.basename(words[0]) == program and argument in words[1:]:
            birth = process.birth_of(pid)
            return (Process(pid, birth), pids[at]) if birth is not None else None
    return None


def in_terminal(pids: Sequence[int]) -> bool:
    """Whether any of them has a terminal: a host comes of that of the first agent, which has started it."""
    return any(seen is not None and seen.terminal for seen in map(from_proc, pids))


def thread_of(pid: int) -> str | None:
    """The thread that a host has started a command of a tool for: what runs below that can say nothing else. None for
    hooks and servers."""
    try:
        environ = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return None
    found = (value for name, _, value in (entry.partition(b"=") for entry in environ) if name in _THREADS)
    return next(found, b"").decode(errors="replace")[:MOST_THREAD] or None


def seats(host: Process) -> list[Process] | None:
    """The programs of the host's name in terminals: at one of them sits whoever types to an agent of it. None where
    nobody can tell."""
    if sys.platform != "linux":
        return None
    name = process.name_of(host.pid)
    pids = [int(entry) for entry in os.listdir("/proc") if entry.isdecimal()]
    named = [pid for pid in pids if pid != host.pid and process.name_of(pid) == name and in_terminal([pid])]
    births = ((pid, process.birth_of(pid)) for pid in named)
    return [Process(pid, birth) for pid, birth in births if birth is not None]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _directory(pid: int) -> str | None:
    try:
        return os.readlink(f"/proc/{pid}/cwd".encode()).decode("utf-8", "replace")
    except OSError:
        return None
