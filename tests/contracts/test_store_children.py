"""Children: sessions that a turn of another has spawned."""

from typing import Any

import pytest

from bridge.errors import IllegalMove
from bridge.ids import SessionId, TurnId, first_id
from bridge.ports.store import Change, Entity, Store
from bridge.session import Caps, Session
from bridge.turn import TurnState
from tests.contracts.entities import CAREER, DESK, session, turn

FIRST, SECOND, THIRD = (SessionId(f"default/helper-{number}") for number in (1, 2, 3))
BEFORE = 1_000.0
TURNS = [TurnId(f"{first_id(10)}-7000-8000-{number:012x}") for number in range(3)]


def child(of: SessionId, parent: SessionId = DESK, **other: Any) -> Session:
    return session(of, **{"parent": parent, "spawned_in": TurnId("t-1"), **other})


async def removed(store: Store) -> int:
    total, more = 0, True
    while more:
        count, more = await store.remove(BEFORE, BEFORE, 100)
        total += count
    return total


async def test_the_open_children_of_a_session_and_of_all_come_by_id(store: Store) -> None:
    puts = [session(caps=Caps(4, 2)), child(SECOND), child(FIRST), child(THIRD, FIRST), session(CAREER)]
    await store.commit(Change(puts=puts))
    assert [one.id for one in await store.children(DESK)] == [FIRST, SECOND]
    assert [one.id for one in await store.children(FIRST)] == [THIRD]
    assert [one.id for one in await store.children()] == [FIRST, SECOND, THIRD]
    assert await store.children(CAREER) == []


async def test_a_closed_child_is_none_any_more(store: Store) -> None:
    await store.commit(Change(puts=[session(), child(FIRST)]))
    (first,) = await store.children(DESK)
    assert (first.parent, first.spawned_in) == (DESK, "t-1")
    await store.commit(Change(puts=[child(FIRST, closed_at=5.0, version=first.version)]))
    assert await store.children(DESK) == []
    assert await store.children() == []
    assert await store.session(FIRST) is not None


async def test_caps_come_back_as_they_were_put(store: Store) -> None:
    await store.commit(Change(puts=[session(caps=Caps(children=7, depth=1))]))
    found = await store.session(DESK)
    assert found is not None
    assert found.caps == Caps(7, 1)


@pytest.mark.parametrize(
    "wrong",
    [{"parent": DESK}, {"spawned_in": TurnId("t-1")}, {"parent": DESK, "spawned_in": "t-1", "caps": Caps(1, 1)}],
)
async def test_a_child_has_a_parent_and_its_turn_and_no_caps_of_its_own(store: Store, wrong: dict[str, Any]) -> None:
    with pytest.raises(IllegalMove):
        await store.commit(Change(puts=[session(FIRST, **wrong)]))


async def test_retention_removes_closed_children_with_their_last_turn_and_nobody_else(store: Store) -> None:
    over = {"state": TurnState.COMPLETED, "ended_at": 30.0}
    puts: list[Entity] = [
        session(closed_at=30.0),
        child(FIRST, closed_at=BEFORE),
        child(SECOND, closed_at=BEFORE + 1),
        child(THIRD),
        turn(TURNS[0], session=FIRST, **over),
        turn(TURNS[1], session=THIRD, **over),
        turn(TURNS[2], session=DESK, **over),
    ]
    await store.commit(Change(puts=puts))
    assert await removed(store) == 2
    assert [one.id for one in await store.sessions()] == [DESK, SECOND, THIRD]
    assert [await store.turn(one) is not None for one in TURNS] == [False, True, True]
    assert await removed(store) == 0
