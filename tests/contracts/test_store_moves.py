"""What a store promises of a place that goes on under another name."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from adapters.sqlite.store import open_store
from bridge.errors import Conflict
from bridge.ids import Place
from bridge.move import Move, Why
from bridge.ports.store import Change, Entity, Store
from bridge.post import Button, PostKind, PostState
from bridge.session import Topic
from tests.contracts.entities import CAREER, DESK, HOME, TALK, binding, conversation, message, post, request, turn

NEW, LATER = Place("web:new"), Place("web:later")


def move(old: Place = HOME, new: Place = NEW, *, at: float = 50.0, why: Why = Why.MIGRATED) -> Move:
    return Move(old, new, at, why)


async def test_all_that_is_kept_at_a_place_moves_with_it_a_version_on(store: Store) -> None:
    bound = binding(topic=Topic("Desk", ours=True, named_at=3.0), gone_at=9.0)
    everything: list[Entity] = [message(place=HOME), request(place=HOME), turn(place=HOME), conversation(place=HOME)]
    puts: list[Entity] = [*everything, post(place=HOME), bound]
    await store.commit(Change(puts=puts))
    await store.commit(Change(moved=[move()]))
    assert await store.message(message().id) == message(place=NEW, version=2)
    assert await store.request(message().id) == request(place=NEW, version=2)
    assert await store.turn(turn().id) == turn(place=NEW, version=2)
    assert await store.conversation(TALK) == conversation(place=NEW, version=2)
    assert await store.post(post().key) == post(place=NEW, version=2)
    assert await store.binding(HOME) is None
    assert await store.binding(NEW) == binding(NEW, topic=bound.topic, version=2)
    assert await store.places(DESK) == [binding(NEW, topic=bound.topic, version=2)]
    assert await store.live_turn(CAREER) == turn(place=NEW, version=2)
    assert await store.pending_posts("web") == [post(place=NEW, version=2)]
    assert await store.moves() == [move()]


async def test_what_is_elsewhere_stays_as_it_is(store: Store) -> None:
    other = Place("web:other")
    puts: list[Entity] = [message(place=other), post(place=other), binding(other), conversation(place=None)]
    await store.commit(Change(puts=puts))
    await store.commit(Change(moved=[move()]))
    assert await store.message(message().id) == message(place=other, version=1)
    assert await store.post(post().key) == post(place=other, version=1)
    assert await store.binding(other) == binding(other, version=1)
    assert await store.conversation(TALK) == conversation(place=None, version=1)


_PRESSED: dict[str, Any] = {"buttons": (Button("Approve", "ok:1"),), "receipt": "7", "error": "it was late"}


@pytest.mark.parametrize(
    "shown",
    [
        post(place=HOME, kind=PostKind.FINAL, receipt="7", state=PostState.SENT),
        post(place=HOME, kind=PostKind.FINAL, attempts=2, error="too many"),
        post(place=HOME, kind=PostKind.FINAL, receipt="7", state=PostState.SENT, buttons=_PRESSED["buttons"]),
        post(place=HOME, kind=PostKind.HANDOFF, receipt="7", reply_to="5"),
        post(place=HOME, kind=PostKind.QUESTION, state=PostState.SENT, **_PRESSED),
        post(place=HOME, kind=PostKind.REPLY, state=PostState.FAILED, **_PRESSED),
        post(place=HOME, kind=PostKind.REPLY, state=PostState.SENT, receipt="7"),
        post(place=HOME, kind=PostKind.NOTICE, state=PostState.SENT, receipt="7"),
        post(place=HOME, kind=PostKind.PROGRESS, state=PostState.SENT, **_PRESSED),
        post(place=HOME, kind=PostKind.PROGRESS, receipt="7"),
    ],
)
async def test_a_post_moves_as_it_says_itself(store: Store, shown: object) -> None:
    assert isinstance(shown, type(post()))
    await store.commit(Change(puts=[shown]))
    await store.commit(Change(moved=[move()]))
    kept = await store.post(shown.key)
    expected = shown.moved(NEW)
    assert kept is not None
    assert kept == post(**{name: getattr(expected, name) for name in expected.__slots__} | {"version": 2})
    pending = [one.id for one in await store.pending_posts("web")]
    assert pending == ([shown.id] if expected.state is PostState.PENDING else [])


async def test_what_was_planned_on_a_state_before_a_move_is_a_conflict(store: Store) -> None:
    await store.commit(Change(puts=[post(place=HOME)]))
    await store.commit(Change(moved=[move()]))
    with pytest.raises(Conflict):
        await store.commit(Change(puts=[post(place=HOME, text="revised", version=1)]))
    assert await store.post(post().key) == post(place=NEW, version=2)


async def test_what_a_change_puts_moves_in_it(store: Store) -> None:
    await store.commit(Change(puts=[post(place=HOME), binding()], moved=[move()]))
    assert await store.post(post().key) == post(place=NEW, version=2)
    assert await store.binding(NEW) == binding(NEW, version=2)


async def test_a_move_in_a_change_that_conflicts_leaves_no_trace(store: Store) -> None:
    await store.commit(Change(puts=[binding(), message(place=HOME)]))
    with pytest.raises(Conflict):
        await store.commit(Change(puts=[conversation(version=9)], moved=[move()]))
    assert await store.moves() == []
    assert await store.binding(HOME) == binding(version=1)
    assert await store.message(message().id) == message(place=HOME, version=1)


async def test_a_session_bound_at_the_new_place_stays_and_an_offer_gives_way(store: Store) -> None:
    other, offered = Place("web:other"), Place("web:offered")
    await store.commit(Change(puts=[binding(), binding(NEW, session=CAREER)]))
    await store.commit(Change(moved=[move()]))
    assert await store.bindings() == [binding(NEW, session=CAREER, version=1)]
    await store.commit(Change(puts=[binding(other), binding(offered, session=None)]))
    await store.commit(Change(moved=[move(other, offered)]))
    assert await store.binding(offered) == binding(offered, version=2)
    assert await store.binding(other) is None


async def test_a_place_moves_once_and_the_same_again_takes_along_what_came_late(store: Store) -> None:
    await store.commit(Change(moved=[move()]))
    with pytest.raises(Conflict):
        await store.commit(Change(puts=[binding()], moved=[move(new=LATER)]))
    await store.commit(Change(puts=[post(place=HOME)]))
    await store.commit(Change(moved=[move(at=60.0)]))
    assert await store.moves() == [move()]
    assert await store.post(post().key) == post(place=NEW, version=2)


async def test_moves_lead_to_the_end_and_never_round(store: Store) -> None:
    await store.commit(Change(moved=[move(why=Why.RECREATED)]))
    await store.commit(Change(moved=[move(NEW, LATER)]))
    assert await store.moves() == [move(new=LATER, why=Why.RECREATED), move(NEW, LATER)]
    await store.commit(Change(moved=[move(LATER, HOME)]))
    assert await store.moves() == [move(LATER, HOME), move(NEW, HOME)]


async def test_moves_and_changes_at_once_lose_nothing(store: Store) -> None:
    posts = [post(f"p-{number}", place=HOME) for number in range(20)]
    changes = [Change(puts=[one]) for one in posts]
    await asyncio.gather(*map(store.commit, [*changes[:10], Change(moved=[move()]), *changes[10:]]))
    await store.commit(Change(moved=[move()]))
    assert {one.place for one in await store.pending_posts("web")} == {NEW}
    assert len(await store.pending_posts("web")) == 20


async def test_a_move_is_kept_when_the_store_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "tieline.db"
    first = await open_store(path)
    await first.commit(Change(puts=[binding(topic=Topic("Desk"))]))
    await first.commit(Change(moved=[move()]))
    await first.close()
    again = await open_store(path)
    assert await again.moves() == [move()]
    assert await again.binding(NEW) == binding(NEW, topic=Topic("Desk"), version=2)
    await again.close()
