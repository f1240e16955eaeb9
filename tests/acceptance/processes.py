"""What the kernel tells of processes."""

import asyncio
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from adapters.process import birth_of
from tests.acceptance.home import PATIENCE_S


def below(root: int) -> list[int]:
    """The processes that come of that one, as far as they live."""
    parents = {}
    for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))):
        with suppress(OSError):
            parents[pid] = int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
    found = [root]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found[1:]


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
