"""What each read of messages and requests gives, and in which order."""

from bridge.ids import MessageId, SessionId, TurnId, receiver
from bridge.message import Intent, Origin, Outcome, State
from bridge.ports.store import Change, Store
from bridge.request import Answer
from bridge.turn import Turn, TurnState
from tests.contracts.entities import (
    CAREER,
    DESK,
    FINANCE,
    ids,
    message,
    request,
    settled,
    turn,
)


async def test_a_queue_has_people_first_then_whoever_queued_first(store: Store) -> None:
    await store.commit(
        Change(
            puts=[
                message("m-9", queued_at=1.0),
                message("m-1", queued_at=2.0),
                message("m-3", queued_at=3.0, origin=Origin.USER),
                message("m-2", queued_at=3.0, origin=Origin.USER, intent=Intent.INPUT),
                message("m-4", queued_at=0.5, origin=Origin.SYSTEM),
                message("m-5", queued_at=0.1, state=State.HELD),
                message("m-6", queued_at=0.1, recipient=FINANCE),
                message("m-7", queued_at=0.1, state=State.LEASED, turn="t-1"),
                settled("m-8", queued_at=0.1),
            ]
        )
    )
    assert ids(await store.queue(CAREER)) == ["m-2", "m-3", "m-4", "m-9", "m-1"]


async def test_an_inbox_has_all_unsettled_mail_in_the_order_of_its_acceptance(store: Store) -> None:
    await store.commit(
        Change(
            puts=[
                message("m-5", accepted_at=1.0, state=State.PARKED),
                message("m-1", accepted_at=2.0, state=State.LEASED, turn="t-1"),
                message("m-3", accepted_at=2.0, intent=Intent.REPLY),
                message("m-2", accepted_at=2.0, state=State.HELD),
                message("m-4", accepted_at=0.5, intent=Intent.INPUT, origin=Origin.USER),
                message("m-6", accepted_at=0.5, recipient=FINANCE, intent=Intent.INFORM),
                settled("m-7", accepted_at=0.5),
            ]
        )
    )
    assert ids(await store.inbox(CAREER)) == ["m-5", "m-1", "m-2", "m-3"]
    assert await store.unsettled() == {CAREER: 3, FINANCE: 1}, "what is held takes no room"


async def test_all_that_a_session_has_unsettled_includes_what_its_people_said(store: Store) -> None:
    await store.commit(
        Change(
            puts=[
                message("m-1", accepted_at=3.0, state=State.PARKED, turn="t-1"),
                message("m-2", accepted_at=2.0, intent=Intent.INPUT),
                message("m-3", accepted_at=1.0, state=State.SETTLED, outcome=Outcome.ACKED, settled_at=2.0),
                message("m-4", accepted_at=1.0, recipient=DESK),
            ]
        )
    )
    assert ids(await store.unsettled_of(CAREER)) == ["m-2", "m-1"]


async def test_inbox_size_follows_takes_room(store: Store) -> None:
    every = [
        message(f"m-{state}-{intent}-{origin}", state=state, intent=intent, origin=origin)
        for state in (State.HELD, State.QUEUED, State.LEASED, State.PARKED)
        for intent in Intent
        for origin in Origin
    ]
    await store.commit(Change(puts=[*every, settled("m-0"), message("m-1", recipient=FINANCE)]))
    assert await store.inbox_size(CAREER) == sum(one.takes_room for one in every)


async def test_taken_are_the_messages_leased_by_the_turn(store: Store) -> None:
    await store.commit(
        Change(
            puts=[
                message("m-1", queued_at=3.0, state=State.LEASED, turn="t-1"),
                message("m-3", queued_at=2.0, state=State.LEASED, turn="t-1"),
                message("m-2", queued_at=2.0, state=State.LEASED, turn="t-1"),
                message("m-4", queued_at=1.0, state=State.LEASED, turn="t-2"),
                message("m-5", queued_at=1.0, state=State.PARKED, turn="t-1"),
                settled("m-6", queued_at=1.0, turn="t-1"),
            ]
        )
    )
    assert ids(await store.taken(TurnId("t-1"))) == ["m-2", "m-3", "m-1"]


async def test_read_in_gives_what_was_read_in_a_turn_and_is_leased_or_settled(store: Store) -> None:
    await store.commit(
        Change(
            puts=[
                message("m-1", state=State.LEASED, turn="t-1", read_at=31.0),
                message("m-2", state=State.LEASED, turn="t-1"),
                message("m-3", state=State.PARKED, turn="t-1", read_at=30.0),
                settled("m-4", turn="t-1", read_at=30.0),
                settled("m-5", turn="t-1"),
                settled("m-6", turn="t-2", read_at=30.0),
                message("m-7", read_at=30.0),
            ]
        )
    )
    assert ids(await store.read_in(TurnId("t-1"))) == ["m-4", "m-1"]


async def test_read_by_gives_what_was_read_lately_outside_of_turns_too(store: Store) -> None:
    def ended(id: str, at: float, of: SessionId = CAREER) -> Turn:
        return turn(id, session=of, state=TurnState.COMPLETED, ended_at=at)

    await store.commit(
        Change(
            puts=[
                ended("t-1", 50.0),
                ended("t-2", 49.9),
                ended("t-3", 50.0),
                turn("t-4"),
                ended("t-5", 60.0, FINANCE),
                settled("m-1", at=55.0, turn="t-1", read_at=31.0),
                settled("m-2", at=55.0, turn="t-2", read_at=31.0),
                settled("m-3", at=50.0, turn="t-3", read_at=33.0),
                settled("m-4", at=49.9, turn="t-3", read_at=31.0),
                message("m-5", state=State.LEASED, turn="t-4", read_at=32.0),
                message("m-6", state=State.LEASED, turn="t-4"),
                settled("m-7", at=60.0, turn="t-5", read_at=31.0, recipient=FINANCE),
                settled("m-8", at=50.0, turn=receiver(CAREER), read_at=31.0),
                settled("m-9", at=49.9, turn=receiver(CAREER), read_at=31.0),
                message("m-10", state=State.LEASED, turn=receiver(CAREER), read_at=34.0),
                settled("m-11", at=60.0, turn=receiver(FINANCE), read_at=31.0, recipient=FINANCE),
                settled("m-12", at=60.0, read_at=31.0),
            ]
        )
    )
    assert ids(await store.read_by(CAREER, 50.0)) == ["m-8", "m-5", "m-3", "m-10"]
    assert ids(await store.read_by(DESK, 0.0)) == []


async def test_queued_counts_all_that_wait_and_names_the_oldest(store: Store) -> None:
    await store.commit(
        Change(puts=[message("m-1", queued_at=7.0), message("m-2", queued_at=5.0, recipient=DESK), settled("m-3")])
    )
    assert await store.queued() == (2, 5.0)


async def test_what_is_held_is_listed_by_id(store: Store) -> None:
    held = {"state": State.HELD}
    await store.commit(Change(puts=[message("m-3", **held), message("m-1", recipient=FINANCE, **held), message("m-2")]))
    assert [one.id for one in await store.held()] == ["m-1", "m-3"]


async def test_requests_are_found_by_parent_asker_and_asked(store: Store) -> None:
    closed = request("m-2", parent="m-0", state=Answer.FAILED, closed_at=5.0)
    await store.commit(
        Change(
            puts=[
                request("m-3", parent="m-0"),
                closed,
                request("m-1", parent="m-0", asked=FINANCE),
                request("m-4", asker=FINANCE),
            ]
        )
    )
    assert [one.id for one in await store.requests_for(MessageId("m-0"))] == ["m-1", "m-2", "m-3"]
    assert [one.id for one in await store.open_requests_of(DESK)] == ["m-1", "m-3"]
    assert [one.id for one in await store.open_requests_to(CAREER)] == ["m-3", "m-4"]
