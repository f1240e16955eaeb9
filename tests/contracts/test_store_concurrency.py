"""Many commits in one instant: one winner, and no harm to those beside."""

import asyncio

from bridge.errors import Conflict
from bridge.message import Outcome
from bridge.ports.store import Change, InboxRoom, Store
from tests.contracts.entities import (
    CAREER,
    DESK,
    message,
    pair,
    session,
    step,
)


async def test_of_many_that_planned_on_one_version_exactly_one_wins(store: Store) -> None:
    await store.commit(Change(puts=[message()]))

    async def settle(n: int) -> bool:
        try:
            await store.commit(
                Change(
                    puts=[message(version=1).to_settled(Outcome.CANCELLED, at=20.0, reason=str(n))],
                    steps=[step(f"s-{n}")],
                )
            )
        except Conflict:
            return False
        return True

    won = await asyncio.gather(*(settle(n) for n in range(64)))
    assert won.count(True) == 1
    winner = won.index(True)
    stored = await store.message(message().id)
    assert stored is not None
    assert (stored.reason, stored.version) == (str(winner), 2)
    assert [one.id for one in await store.steps("m-1")] == [f"s-{winner}"]


async def test_changes_beside_a_conflict_are_stored(store: Store) -> None:
    await store.commit(Change(puts=[pair()]))
    changes = [Change(puts=[message(f"m-{n}"), *([pair(version=5)] if n % 3 == 0 else [])]) for n in range(60)]
    results = await asyncio.gather(*(store.commit(change) for change in changes), return_exceptions=True)
    assert [isinstance(result, Conflict) for result in results] == [n % 3 == 0 for n in range(60)]
    assert {one.id for one in await store.queue(CAREER)} == {f"m-{n}" for n in range(60) if n % 3}


async def test_changes_of_one_instant_that_guard_what_the_other_writes_do_not_both_pass(store: Store) -> None:
    await store.commit(Change(puts=[session(DESK), session(CAREER)]))
    desk, career = session(DESK, version=1), session(CAREER, version=1)
    results = await asyncio.gather(
        store.commit(Change(puts=[desk], unchanged=[career])),
        store.commit(Change(puts=[career], unchanged=[desk])),
        return_exceptions=True,
    )
    assert [type(result) for result in results if result] == [Conflict]


async def test_an_inbox_is_not_overfilled_by_sends_in_one_instant(store: Store) -> None:
    results = await asyncio.gather(
        *(store.commit(Change(puts=[message(f"m-{n}")], checks=[InboxRoom(CAREER, 5)])) for n in range(64)),
        return_exceptions=True,
    )
    assert results.count(None) == 5
    assert await store.inbox_size(CAREER) == 5
