"""The file is read again once it has changed and is whole, and whenever somebody asks for it."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from adapters.settings.load import again, load
from adapters.settings.problems import SettingsError
from adapters.settings.watch import Watch, mark_of


class Reader:
    """Counts what is read, and what was in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.write_text("first")
        self.again = asyncio.Event()
        self.read: asyncio.Queue[str] = asyncio.Queue()

    async def reload(self) -> None:
        self.read.put_nowait(self.path.read_text() if self.path.exists() else "nothing")

    async def next(self) -> str:
        async with asyncio.timeout(10):
            return await self.read.get()


@asynccontextmanager
async def watched(path: Path) -> AsyncIterator[Reader]:
    reader = Reader(path)
    task = asyncio.create_task(Watch(path, mark_of(path), reader.reload, reader.again, look_s=0.01).run())
    try:
        yield reader
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_a_file_that_has_changed_is_read_once(tmp_path: Path) -> None:
    async with watched(tmp_path / "tieline.toml") as reader:
        reader.path.write_text("second")
        assert await reader.next() == "second"
        reader.again.set()
        assert await reader.next() == "second"
        assert reader.read.empty()


async def test_one_that_was_put_in_its_place_is_read_and_one_that_is_gone_is_not(tmp_path: Path) -> None:
    async with watched(tmp_path / "tieline.toml") as reader:
        reader.path.unlink()
        (tmp_path / "new").write_text("third")
        os.replace(tmp_path / "new", reader.path)
        assert await reader.next() == "third"
        reader.path.unlink()
        reader.again.set()
        assert await reader.next() == "nothing"
        assert reader.read.empty()


def test_that_the_file_is_gone_is_a_problem_once_a_bridge_runs_by_it(tmp_path: Path) -> None:
    assert load(tmp_path, {}).sessions == ()
    with pytest.raises(SettingsError, match="not there any more"):
        again(tmp_path, {})
