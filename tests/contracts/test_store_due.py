"""What each read of what is due or over gives, to the moment."""

from bridge.message import State
from bridge.ports.store import Change, Store
from bridge.post import PostState
from bridge.request import Answer
from bridge.turn import TurnState
from tests.contracts.entities import (
    CAREER,
    DESK,
    FINANCE,
    ids,
    message,
    post,
    request,
    settled,
    turn,
)


async def test_waiting_and_due_sessions_are_those_with_a_queued_message_that_wakes(store: Store) -> None:
    await store.commit(
        Change(
            puts=[
                message("m-1", recipient=FINANCE, due_at=20.0),
                message("m-2", recipient=FINANCE, due_at=30.0),
                message("m-3", recipient=CAREER, due_at=20.5),
                message("m-4", recipient=DESK, state=State.HELD, due_at=1.0),
                message("m-5", recipient=DESK, wake=False, due_at=1.0),
            ]
        )
    )
    assert sorted(await store.waiting_sessions()) == [CAREER, FINANCE]
    assert await store.due_sessions(20.0) == [FINANCE]
    assert await store.due_sessions(19.9) == []
    assert sorted(await store.due_sessions(20.5)) == [CAREER, FINANCE]


async def test_a_life_ends_at_its_time_unless_leased_or_settled(store: Store) -> None:
    await store.commit(
        Change(
            puts=[
                message("m-1", expires_at=100.0),
                message("m-2", expires_at=99.0, state=State.HELD),
                message("m-3", expires_at=98.0, state=State.PARKED),
                message("m-4", expires_at=97.0, state=State.LEASED, turn="t-1"),
                settled("m-5", expires_at=96.0),
                message("m-6", expires_at=100.1),
            ]
        )
    )
    assert ids(await store.ended_lives(100.0, 10)) == ["m-3", "m-2", "m-1"]
    assert ids(await store.ended_lives(100.0, 2)) == ["m-3", "m-2"]


async def test_a_lease_that_no_turn_bounds_lapses_at_its_end(store: Store) -> None:
    held = {"state": State.LEASED, "turn": "receiver:default/career"}
    await store.commit(
        Change(
            puts=[
                message("m-1", **held, leased_until=100.0),
                message("m-2", **held, leased_until=99.0),
                message("m-3", **held, leased_until=100.1),
                message("m-4", state=State.LEASED, turn="t-1"),
            ]
        )
    )
    assert ids(await store.lapsed_leases(100.0, 10)) == ["m-2", "m-1"]
    assert ids(await store.lapsed_leases(100.0, 1)) == ["m-2"]


async def test_a_live_turn_lapses_at_the_end_of_its_lease(store: Store) -> None:
    over = {"state": TurnState.LOST, "ended_at": 30.0}
    await store.commit(
        Change(
            puts=[
                turn("t-2", session=CAREER, leased_until=100.0),
                turn("t-1", session=FINANCE, leased_until=99.0, state=TurnState.RUNNING),
                turn("t-3", session=DESK, leased_until=100.1),
                turn("t-4", session=DESK, leased_until=10.0, **over),
            ]
        )
    )
    assert [one.id for one in await store.lapsed_turns(100.0)] == ["t-1", "t-2"]
    assert [one.id for one in await store.lapsed_turns(98.9)] == []


async def test_next_due_is_the_first_time_to_come_of_messages_and_posts(store: Store) -> None:
    await store.commit(
        Change(
            puts=[
                message("m-1", due_at=50.0, expires_at=90.0),
                message("m-2", due_at=20.0, expires_at=85.0, state=State.LEASED, turn="t-1"),
                message("m-3", due_at=21.0, expires_at=80.0, state=State.HELD),
                post("p-1", due_at=60.0),
                post("p-2", due_at=10.0, state=PostState.SENT),
                request("m-1", expires_at=95.0),
                request("m-2", expires_at=30.0, state=Answer.FAILED, closed_at=3.0),
                message("m-4", state=State.LEASED, turn="receiver:default/desk", leased_until=97.0),
                turn("t-1", leased_until=98.0),
                turn("t-2", leased_until=99.0, state=TurnState.LOST, ended_at=30.0),
            ]
        )
    )
    assert await store.next_due(0.0) == 50.0
    assert await store.next_due(49.9) == 50.0
    assert await store.next_due(50.0) == 60.0
    assert await store.next_due(60.0) == 80.0
    assert await store.next_due(80.0) == 90.0
    assert await store.next_due(90.0) == 95.0
    assert await store.next_due(95.0) == 97.0
    assert await store.next_due(97.0) == 98.0
    assert await store.next_due(98.0) is None


async def test_an_overdue_request_is_open_past_its_life_though_delivered(store: Store) -> None:
    await store.commit(
        Change(
            puts=[
                *(request(f"m-{n}", expires_at=100.0) for n in (3, 1, 4)),
                request("m-2", expires_at=100.1),
                request("m-5", expires_at=90.0, state=Answer.ANSWERED, closed_at=80.0),
                *(settled(f"m-{n}") for n in (1, 2, 3, 5)),
                message("m-4"),
            ]
        )
    )
    assert [one.id for one in await store.overdue_requests(100.0, 10)] == ["m-1", "m-3"]
    assert [one.id for one in await store.overdue_requests(100.0, 1)] == ["m-1"]
