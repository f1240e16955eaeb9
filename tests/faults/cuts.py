"""Power cuts under a store that is at work: at each, what was acknowledged is there, and every change is whole."""

import asyncio
import shutil
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from random import Random

from adapters.sqlite.store import open_store
from bridge.ids import ConversationId, MessageId
from bridge.message import Message, Outcome
from bridge.ports.store import Change, Key, Store
from tests.contracts.entities import CAREER, DESK, conversation, message, step
from tests.faults.apsw_connection import over
from tests.faults.disk import Acknowledged, Disk, Op, Synced, Written
from tests.faults.power import Platter

LANES = 6
DATABASE = "tieline.db"


async def recorded(folder: Path, *, messages: int, size: int) -> Sequence[Op]:
    """What the store did to its disk, from the making of the database to its end, while several at once were sending
    and settling."""
    disk = Disk()
    store = await open_store(folder / DATABASE, connect=over(disk.name))
    try:
        await asyncio.gather(*(_send(store, disk, f"{lane}", messages, size) for lane in range(LANES)))
    finally:
        await store.close()
    return disk.log


async def survive(log: Sequence[Op], at: Iterable[int], random: Random, scratch: Path) -> None:
    """Cuts the power before each of these operations. Raises `AssertionError` with the one at which something was
    lost."""
    platter, taken = Platter(), 0
    for moment in sorted(at):
        for op in log[taken:moment]:
            platter.take(op)
        taken = moment
        folder = scratch / f"{moment}-{random.getrandbits(32):08x}"
        platter.restore(folder, random)
        try:
            await _check(folder / DATABASE, platter.acknowledged)
        except Exception as error:
            raise AssertionError(f"a power cut before operation {moment}, see {folder}: {error!r}") from error
        shutil.rmtree(folder)


def moments(log: Sequence[Op], cuts: int, random: Random) -> list[int]:
    """Anywhere, but as often while the database is made, just before a sync, or in the middle of a checkpoint, where
    most is at stake."""
    made = next(number for number, op in enumerate(log) if isinstance(op, Acknowledged))
    syncs = [number for number, op in enumerate(log) if isinstance(op, Synced)]
    checkpoints = [number for number, op in enumerate(log) if isinstance(op, Written) and op.file == DATABASE]
    places = [range(made), range(made, len(log) + 1), syncs, checkpoints]
    return [random.choice(places[number % len(places)]) for number in range(cuts)]


async def _send(store: Store, disk: Disk, lane: str, messages: int, size: int) -> None:
    for number in range(messages):
        name = f"{lane}-{number}"
        await store.commit(_accepted(name, size))
        disk.log.append(Acknowledged(name, settled=False))
        if number % 2:
            one = await store.message(MessageId(name))
            assert one is not None
            await store.commit(_settled(one))
            disk.log.append(Acknowledged(name, settled=True))


def _accepted(name: str, size: int) -> Change:
    talk = ConversationId(f"talk-{name}")
    one = message(name, text="x" * size, conversation=talk)
    return Change(
        puts=[one, conversation(talk)], keys=[Key(DESK, name, "digest", one.id)], steps=[step(name, message=one.id)]
    )


def _settled(one: Message) -> Change:
    return Change(
        puts=[one.to_settled(Outcome.FAILED, at=20.0)], steps=[step(f"{one.id} settled", message=one.id, at=20.0)]
    )


async def _check(path: Path, acknowledged: Sequence[Acknowledged]) -> None:
    store = await open_store(path)
    try:
        for said in acknowledged:
            one = await store.message(MessageId(said.message))
            assert one is not None, f"{said} is lost"
            assert one.outcome or not said.settled, f"{said} is lost"
        await store.commit(_accepted("afterwards", 10))
        assert await store.message(MessageId("afterwards")) is not None
        assert len(await store.queue(CAREER)) > 0
    finally:
        await store.close()
    with closing(sqlite3.connect(path)) as connection:
        (verdict,) = connection.execute("PRAGMA integrity_check").fetchone()
        assert verdict == "ok", verdict
        halves = connection.execute(_HALVES).fetchall()
        assert not halves, f"halves of changes: {halves}"


_HALVES = """
SELECT id FROM messages m WHERE
    (SELECT count(*) FROM keys WHERE message = m.id) <> 1
    OR (SELECT count(*) FROM conversations WHERE id = m.conversation) <> 1
    OR (SELECT count(*) FROM steps WHERE message = m.id) <> 1 + (m.outcome IS NOT NULL)
UNION SELECT key FROM keys WHERE message NOT IN (SELECT id FROM messages)
UNION SELECT id FROM steps WHERE message NOT IN (SELECT id FROM messages)
"""
