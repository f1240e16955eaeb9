"""What the kernel tells of processes."""

import asyncio
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from adapters.process import birth_of
from tests.acceptance.home import PATIENCE_S


def below(root: int, generations: int | None = None) -> list[int]:
    """The processes that come of that one, as far as they live: of all generations, or of the first so many."""
    parents = {}
    for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))):
        with suppress(OSError):
            parents[pid] = int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
    found, newest = [], [root]
    while newest and generations != 0:
        newest = [child for child, parent in parents.items() if parent in newest]
        found += newest
        generations = generations - 1 if generations is not None else None
    return found


def workers(bridge: int) -> list[int]:
    """Their parent, the bridge's own child, is what forks them."""
    return [pid for pid in below(bridge, 2) if pid not in below(bridge, 1)]


def environ_of(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/environ").read_bytes()
    return b""


def command_of(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def peak_bytes(pid: int) -> int:
    """The most memory that the process ever had."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def born(pids: Iterable[int]) -> dict[int, str]:
    """With their births: a number may be given away again."""
    return {pid: birth for pid in pids if (birth := birth_of(pid)) is not None}


def living(births: Mapping[int, str]) -> list[int]:
    return [pid for pid, birth in births.items() if birth_of(pid) == birth]


async def gone(births: Mapping[int, str]) -> None:
    """Waits until none of them lives."""
    async with asyncio.timeout(PATIENCE_S):
        while living(births):  # noqa: ASYNC110 - the kernel tells only parents
            await asyncio.sleep(0.02)
