"""Two bridges on one home: the second refuses, and names the first."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from adapters.sqlite.lock import HomeLock, HomeLocked
from adapters.sqlite.store import SqliteStore, open_store
from bridge.errors import Refused

ROOT = Path(__file__).parents[3]

HOLDER = """
import signal, sys
from pathlib import Path
from adapters.sqlite.lock import HomeLock
lock = HomeLock(Path(sys.argv[1]))
print("held", flush=True)
signal.pause()
"""


async def test_a_second_store_on_one_home_is_refused_with_the_pid_of_the_first(store: SqliteStore, path: Path) -> None:
    with pytest.raises(HomeLocked) as refused:
        await open_store(path)
    assert refused.value.pid == os.getpid()
    assert str(os.getpid()) in str(refused.value)
    assert str(path.parent) in str(refused.value)


async def test_a_closed_store_frees_its_home(path: Path) -> None:
    await (await open_store(path)).close()
    await (await open_store(path)).close()


async def test_a_killed_holder_frees_its_home(tmp_path: Path) -> None:
    file = tmp_path / "tieline.lock"
    holder = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOLDER, str(file), cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    assert holder.stdout is not None
    assert await holder.stdout.readline() == b"held\n"
    with pytest.raises(HomeLocked) as refused:
        HomeLock(file)
    assert refused.value.pid == holder.pid
    os.kill(holder.pid, signal.SIGKILL)
    await holder.wait()
    HomeLock(file).release()


@pytest.fixture
def no_database(path: Path) -> Path:
    path.write_bytes(b"no database at all, and long enough to be sure of that" * 40)
    return path


async def test_a_store_that_cannot_open_says_so_and_leaves_its_home_free(no_database: Path) -> None:
    with pytest.raises(Refused, match="cannot be opened"):
        await open_store(no_database)
    HomeLock(no_database.with_suffix(".lock")).release()
