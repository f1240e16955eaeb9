"""A backup is whole, of one instant, and never half a file."""

import asyncio
import shutil
import stat
from pathlib import Path

import pytest

from adapters.sqlite.backup import back_up
from adapters.sqlite.store import SqliteStore, open_store
from bridge.errors import Code, Refused
from bridge.ids import MessageId
from bridge.ports.store import Change
from tests.contracts.entities import CAREER, message, post, turn
from tests.fakes.damage import damage


async def numbers_in(path: Path) -> tuple[set[str], set[str]]:
    """What a store on a copy finds: the messages of both halves of each change."""
    store = await open_store(path)
    try:
        found = {one.id for one in await store.queue(CAREER)}
        return {one[1:] for one in found if one[0] == "a"}, {one[1:] for one in found if one[0] == "b"}
    finally:
        await store.close()


async def test_a_backup_beside_a_busy_writer_is_of_one_instant_and_has_all_that_was_acknowledged(
    store: SqliteStore, path: Path, tmp_path: Path
) -> None:
    acknowledged: list[str] = []
    some, enough = asyncio.Event(), asyncio.Event()

    async def write() -> None:
        number = 0
        while not enough.is_set():
            await store.commit(Change(puts=[message(f"a{number}"), message(f"b{number}", text="x" * 5_000)]))
            acknowledged.append(f"{number}")
            number += 1
            if number == 20:
                some.set()

    writing = asyncio.create_task(write())
    await some.wait()
    copies = []
    for n in range(3):
        before = set(acknowledged)
        copies.append((before, await asyncio.to_thread(back_up, path, tmp_path / f"copy-{n}.db")))
    enough.set()
    await writing
    for before, copy in copies:
        one, other = await numbers_in(copy.path)
        assert one == other
        assert before <= one
        assert copy.inspection.counts["messages"] == 2 * len(one)


async def test_a_backup_of_what_a_killed_bridge_left_has_what_was_only_in_its_log(
    store: SqliteStore, path: Path, tmp_path: Path
) -> None:
    await store.commit(Change(puts=[message("m-1"), post(), turn()]))
    left = tmp_path / "left"
    left.mkdir()
    for name in ("tieline.db", "tieline.db-wal"):
        shutil.copy(path.with_name(name), left / name)
    back_up(left / "tieline.db", tmp_path / "copy.db")
    again = await open_store(tmp_path / "copy.db")
    assert await again.message(MessageId("m-1")) == message("m-1", version=1)
    assert await again.pending_posts("web") == [post(version=1)]
    await again.close()


async def test_only_its_owner_may_read_a_backup_and_nothing_stays_beside_it(
    store: SqliteStore, path: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "copies"
    folder.mkdir()
    made = back_up(path, folder / "copy.db")
    assert stat.S_IMODE(made.path.stat().st_mode) == 0o600
    assert list(folder.iterdir()) == [made.path]
    assert made.bytes == made.path.stat().st_size


async def test_a_backup_overwrites_nothing(store: SqliteStore, path: Path, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("mine")
    with pytest.raises(Refused) as refused:
        back_up(path, taken)
    assert refused.value.code is Code.INVALID_REQUEST
    assert taken.read_text() == "mine"


async def test_of_a_damaged_store_there_is_no_backup(path: Path, tmp_path: Path) -> None:
    store = await open_store(path)
    for n in range(200):
        await store.commit(Change(puts=[message(f"m-{n}", text="x" * 1_000)]))
    await store.close()
    damage(path)
    folder = tmp_path / "copies"
    folder.mkdir()
    with pytest.raises(Refused) as refused:
        back_up(path, folder / "copy.db")
    assert refused.value.code is Code.UNAVAILABLE
    assert list(folder.iterdir()) == []


def test_without_a_store_or_a_folder_for_it_there_is_no_backup(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="there is no"):
        back_up(tmp_path / "tieline.db", tmp_path / "copy.db")
    (tmp_path / "tieline.db").touch()
    with pytest.raises(Refused, match="cannot be made"):
        back_up(tmp_path / "tieline.db", tmp_path / "no-folder" / "copy.db")
