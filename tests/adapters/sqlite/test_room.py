"""A full disk: what was accepted is still settled, nothing new is taken, and it goes on once there is room."""

import logging
import os
import stat
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from adapters.sqlite.ballast import Ballast
from adapters.sqlite.store import SqliteStore, open_store
from bridge.errors import Code, Refused
from bridge.ids import MessageId, TurnId
from bridge.message import Intent, Message, Origin, Outcome, State
from bridge.ports.store import Change
from tests.contracts.entities import CAREER, message, post, request, update
from tests.fakes.small_disk import fill, small_disk

MIB = 1 << 20


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 40 MiB of its own."""
    with small_disk(tmp_path / "disk", 40) as disk:
        yield disk


@pytest.fixture
def ballast(disk: Path) -> Ballast:
    ballast = Ballast(disk / "ballast")
    assert ballast.make()
    return ballast


@pytest.fixture
async def store(disk: Path, ballast: Ballast) -> AsyncIterator[SqliteStore]:
    store = await open_store(disk / "tieline.db", ballast=ballast)
    yield store
    await store.close()


async def until_refused(store: SqliteStore) -> Refused:
    """Sends until the room that the log has already is used up."""
    for number in range(1_000):
        try:
            await store.commit(Change(puts=[message(f"more-{number}", text="x" * 4_000)]))
        except Refused as refused:
            return refused
    raise AssertionError("the disk is not full")


async def settle(store: SqliteStore, name: str) -> None:
    (taken,) = [one for one in await store.queue(CAREER) if one.id == name]
    await store.commit(Change(puts=[taken.to_leased(TurnId("receiver:x")).to_settled(Outcome.ACKED, at=50.0)]))


async def test_on_a_full_disk_nothing_new_is_accepted_and_what_was_accepted_is_settled_and_told_of(
    store: SqliteStore, disk: Path, ballast: Ballast
) -> None:
    await store.commit(Change(puts=[message("m-1"), message("m-2")]))
    fill(disk)
    refused = await until_refused(store)
    assert (refused.code, ballast.whole) == (Code.UNAVAILABLE, False)
    assert "full" in refused.reason
    assert "Make room" in refused.remedy
    await settle(store, "m-1")
    answer = message("m-3", intent=Intent.REPLY, in_reply_to="m-1", text="x" * 4_000)
    await store.commit(Change(puts=[answer, post("p-1")]))
    with pytest.raises(Refused, match="full"):
        await store.commit(Change(puts=[message("m-4")]))
    settled = await store.message(MessageId("m-1"))
    assert settled is not None
    assert settled.state is State.SETTLED
    assert await store.message(MessageId("m-4")) is None


async def test_a_settlement_that_finds_the_disk_full_succeeds_at_once(
    store: SqliteStore, disk: Path, ballast: Ballast
) -> None:
    count = 200
    await store.commit(Change(puts=[message(f"m-{n}", text="x" * 4_000) for n in range(count)]))
    fill(disk)
    for number in range(count):
        await settle(store, f"m-{number}")
    assert not ballast.whole
    assert await store.queue(CAREER) == []


async def test_it_goes_on_by_itself_once_there_is_room_and_sets_room_aside_again(
    store: SqliteStore, disk: Path, ballast: Ballast, caplog: pytest.LogCaptureFixture
) -> None:
    filler = fill(disk)
    with caplog.at_level(logging.WARNING):
        await until_refused(store)
        filler.unlink()
        await store.commit(Change(puts=[message("m-1")]))
    assert ballast.whole
    assert await store.message(MessageId("m-1")) is not None
    told = [record.message for record in caplog.records if record.name.endswith("room")]
    assert [line.partition(":")[0] for line in told] == ["The disk is full", "There is room on the disk again"]


async def test_without_a_ballast_a_full_disk_is_refused_too_and_recovers(store: SqliteStore, disk: Path) -> None:
    Ballast(disk / "ballast").free()
    filler = fill(disk)
    assert (await until_refused(store)).code is Code.UNAVAILABLE
    filler.unlink()
    await store.commit(Change(puts=[message("m-1")]))


async def test_a_bridge_that_starts_on_a_full_disk_goes_on_with_what_it_had(disk: Path, ballast: Ballast) -> None:
    store = await open_store(disk / "tieline.db", ballast=ballast)
    await store.commit(Change(puts=[message("m-1")]))
    await store.close()
    filler = fill(disk)
    again = await open_store(disk / "tieline.db", ballast=ballast)
    try:
        await settle(again, "m-1")
        with pytest.raises(Refused, match="full"):
            await again.commit(Change(puts=[message("m-2")]))
        filler.unlink()
        await again.commit(Change(puts=[message("m-2")]))
        assert ballast.whole
    finally:
        await again.close()


NEW = [
    message(),
    message(intent=Intent.INFORM),
    message(intent=Intent.INPUT, origin=Origin.USER),
    update(),
]
NOT_NEW = [
    message(version=1),
    message(intent=Intent.REPLY),
    message(intent=Intent.INFORM, origin=Origin.SYSTEM),
    update(version=1),
    post(),
    request(),
]


@pytest.mark.parametrize("entity", NEW + NOT_NEW)
def test_messages_of_sessions_and_people_are_new_and_answers_notices_and_settlements_are_not(
    entity: Message,
) -> None:
    assert Change(puts=[post(), entity]).admits is (entity in NEW)


def test_a_ballast_takes_its_room_is_its_owners_and_is_whole_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "ballast"
    ballast = Ballast(path, MIB)
    assert not ballast.whole
    assert ballast.make()
    status = path.stat()
    assert status.st_blocks * 512 >= MIB
    assert stat.S_IMODE(status.st_mode) == 0o600
    os.truncate(path, 10)
    assert not ballast.whole
    assert ballast.make()
    assert ballast.free()
    assert not ballast.free()
    assert list(tmp_path.iterdir()) == []


def test_a_ballast_is_not_made_where_it_would_leave_nothing_to_work_with(disk: Path) -> None:
    ballast = Ballast(disk / "ballast", 21 * MIB)
    assert not ballast.make()
    assert list(disk.iterdir()) == []
