"""A disk that fails at any one of the operations that a commit takes: each sender hears the truth, or an error."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from adapters.sqlite.store import SqliteStore, open_store
from bridge.errors import Code, Conflict, Refused
from bridge.ids import MessageId
from bridge.ports.store import Change, Key
from tests.contracts.entities import CAREER, DESK, message, step
from tests.faults.apsw_connection import over
from tests.faults.disk import Disk, Op, Read, Synced, Written

FAULTS: dict[str, tuple[type[Op], int]] = {
    "full": (Written, apsw.SQLITE_FULL),
    "write": (Written, apsw.SQLITE_IOERR_WRITE),
    "sync": (Synced, apsw.SQLITE_IOERR_FSYNC),
}
CHANGES = 2


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tieline.db"


@pytest.fixture
async def store(disk: Disk, path: Path) -> AsyncIterator[SqliteStore]:
    opened = await open_store(path, connect=over(disk.name))
    yield opened
    await opened.close()


@contextmanager
def failing(disk: Disk, kind: type[Op], code: int, number: int) -> Iterator[list[Op]]:
    """The operation of this kind with this number fails, once. Yields what has failed. What a checkpoint writes is
    spared: SQLite keeps an error there to itself, for the commit is done, but apsw tells it."""
    left, failed = [number], list[Op]()

    def fault(op: Op) -> None:
        if isinstance(op, kind) and (
            isinstance(op, Read) or (isinstance(op, Written | Synced) and op.file[-4:] == "-wal")
        ):
            left[0] -= 1
            if left[0] == 0:
                failed.append(op)
                raise apsw.exception_for(code)

    disk.fault = fault
    try:
        yield failed
    finally:
        disk.fault = lambda op: None


def change(name: str) -> Change:
    """A message that takes several pages, its key and its trace."""
    one = message(name, text="x" * 9_000)
    return Change(puts=[one], keys=[Key(DESK, name, "digest", one.id)], steps=[step(name, message=one.id)])


async def whole(store: SqliteStore, name: str) -> bool:
    """Whether a change is there; never in half."""
    parts = (
        await store.message(MessageId(name)) is not None,
        await store.key(DESK, name) is not None,
        await store.steps(name) != [],
    )
    assert len(set(parts)) == 1, f"{name}: {parts}"
    return all(parts)


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_commit_that_fails_at_any_operation_is_stored_or_refused_and_can_be_repeated(
    store: SqliteStore, disk: Disk, path: Path, fault: str
) -> None:
    kind, code = FAULTS[fault]
    stored: list[str] = []
    number, done = 0, False
    while not done:
        number += 1
        names = [f"{number}-{each}" for each in range(CHANGES)]
        with failing(disk, kind, code, number) as failed:
            heard = await asyncio.gather(*(store.commit(change(name)) for name in names), return_exceptions=True)
        for name, result in zip(names, heard, strict=True):
            assert await whole(store, name) == (result is None)
            if result is not None:
                assert isinstance(result, Refused)
                assert result.code is Code.UNAVAILABLE
                await store.commit(change(name))
            with pytest.raises(Conflict):
                await store.commit(change(name))
        stored += names
        done = not failed
    assert number > 1
    await store.close()
    again = await open_store(path)
    assert sorted(one.id for one in await again.queue(CAREER)) == sorted(stored)
    await again.close()


async def test_a_read_that_fails_is_unavailable_and_the_next_one_finds_everything(
    store: SqliteStore, disk: Disk
) -> None:
    for number in range(1, 5):
        await store.commit(change(f"m-{number}"))
        with failing(disk, Read, apsw.SQLITE_IOERR_READ, number) as failed:
            with pytest.raises(Refused) as refused:
                await store.queue(CAREER)
            assert failed
        assert refused.value.code is Code.UNAVAILABLE
        assert len(await store.queue(CAREER)) == number
