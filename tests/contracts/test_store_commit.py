"""What a commit promises: the whole change, or nothing of it and the reason."""

import asyncio

import pytest

from bridge.errors import Code, Conflict, IllegalMove, Refused
from bridge.grant import Scope
from bridge.message import Intent, Message, Origin, Outcome, State
from bridge.ports.store import Change, Entity, InboxRoom, Key, OpenRequests, Store
from bridge.regime import Regime
from bridge.request import Answer
from bridge.turn import TurnState
from tests.contracts.entities import (
    CAREER,
    DESK,
    FINANCE,
    HOME,
    TALK,
    approval,
    binding,
    conversation,
    grant,
    message,
    pair,
    post,
    request,
    session,
    step,
    token,
    turn,
    update,
    verdict,
)


async def test_a_put_on_a_version_of_what_does_not_exist_is_a_conflict(store: Store) -> None:
    with pytest.raises(Conflict):
        await store.commit(Change(puts=[message(version=1)]))
    assert await store.message(message().id) is None


async def test_updates_are_kept_once_by_source_and_number(store: Store) -> None:
    await store.commit(Change(puts=[update(1), update(2), update(1, source="web")]))
    with pytest.raises(Conflict):
        await store.commit(Change(puts=[update(2)]))
    await store.commit(Change(puts=[update(2, handled_at=20.0, version=1)]))
    assert await store.unhandled("telegram") == [update(1, version=1)]


async def test_a_conflict_leaves_nothing_of_its_change(store: Store) -> None:
    await store.commit(Change(puts=[conversation(), binding()]))
    with pytest.raises(Conflict):
        await store.commit(
            Change(
                puts=[message(), request(), post(), session(), conversation(version=9)],
                keys=[Key(DESK, "k", "digest", message().id)],
                verdicts=[verdict()],
                steps=[step()],
                unbound=[HOME],
            )
        )
    assert await store.message(message().id) is None
    assert await store.request(message().id) is None
    assert await store.post(post().key) is None
    assert await store.session(DESK) is None
    assert await store.key(DESK, "k") is None
    assert await store.verdicts(TALK) == []
    assert await store.steps("m-1") == []
    assert await store.binding(HOME) == binding(version=1)


async def test_a_guard_holds_while_its_entity_has_its_version(store: Store) -> None:
    await store.commit(Change(puts=[session(), pair()]))
    await store.commit(Change(puts=[message("m-1")], unchanged=[session(version=1), pair(version=1)]))
    await store.commit(Change(puts=[session(title="Front desk", version=1)]))
    with pytest.raises(Conflict):
        await store.commit(Change(puts=[message("m-2")], unchanged=[pair(version=1), session(version=1)]))
    assert await store.message(message("m-2").id) is None


async def test_a_guard_of_version_zero_holds_while_there_is_no_such_entity(store: Store) -> None:
    await store.commit(Change(puts=[message("m-1")], unchanged=[binding()]))
    await store.commit(Change(puts=[binding()]))
    with pytest.raises(Conflict):
        await store.commit(Change(puts=[message("m-2")], unchanged=[binding()]))


async def test_guards_alone_are_checked_too(store: Store) -> None:
    with pytest.raises(Conflict):
        await store.commit(Change(unchanged=[session(version=1)]))


async def test_a_key_stands_for_one_message_of_its_sender(store: Store) -> None:
    first = Key(DESK, "k", "digest", message("m-1").id)
    await store.commit(Change(puts=[message("m-1")], keys=[first]))
    with pytest.raises(Conflict):
        await store.commit(Change(puts=[message("m-2")], keys=[Key(DESK, "k", "other", message("m-2").id)]))
    other = Key(FINANCE, "k", "other", message("m-3").id)
    await store.commit(Change(puts=[message("m-3")], keys=[other]))
    assert await store.key(DESK, "k") == first
    assert await store.key(FINANCE, "k") == other
    assert await store.key(DESK, "K") is None
    assert await store.message(message("m-2").id) is None


async def test_an_inbox_takes_as_many_as_it_has_room_for(store: Store) -> None:
    room = [InboxRoom(CAREER, 2)]
    await store.commit(Change(puts=[message("m-1"), message("m-2", intent=Intent.INFORM)], checks=room))
    with pytest.raises(Conflict):
        await store.commit(Change(puts=[message("m-3")], checks=room))
    await store.commit(Change(puts=[message("m-4", recipient=FINANCE)], checks=room))
    await store.commit(Change(puts=[message("m-5", intent=Intent.REPLY)], checks=room))
    await store.commit(Change(puts=[message("m-6", origin=Origin.SYSTEM)], checks=room))
    await store.commit(Change(puts=[message("m-7", intent=Intent.INPUT, origin=Origin.USER)], checks=room))
    assert await store.inbox_size(CAREER) == 2
    assert await store.message(message("m-3").id) is None


async def test_a_check_counts_what_its_own_change_settles(store: Store) -> None:
    await store.commit(Change(puts=[message("m-1"), request("m-1")]))
    settled = message("m-1", version=1).to_settled(Outcome.CANCELLED, at=20.0)
    closed = request("m-1", version=1).closed(Answer.CANCELLED, at=20.0, reason=None, closing=None)
    await store.commit(
        Change(
            puts=[message("m-2"), request("m-2"), settled, closed], checks=[InboxRoom(CAREER, 1), OpenRequests(DESK, 1)]
        )
    )
    assert [one.id for one in await store.inbox(CAREER)] == ["m-2"]


async def test_an_asker_has_as_many_open_requests_as_its_limit(store: Store) -> None:
    limit = [OpenRequests(DESK, 1)]
    await store.commit(Change(puts=[request("m-1")], checks=limit))
    with pytest.raises(Conflict):
        await store.commit(Change(puts=[request("m-2", asked=FINANCE)], checks=limit))
    await store.commit(Change(puts=[request("m-3", asker=CAREER, asked=DESK)], checks=limit))
    assert [one.id for one in await store.open_requests_of(DESK)] == ["m-1"]


@pytest.mark.parametrize("state", [TurnState.STARTING, TurnState.RUNNING])
async def test_a_session_has_one_live_turn(store: Store, state: TurnState) -> None:
    await store.commit(Change(puts=[turn("t-1", state=state)]))
    with pytest.raises(Conflict):
        await store.commit(Change(puts=[turn("t-2")]))
    await store.commit(Change(puts=[turn("t-3", session=FINANCE)]))
    live = await store.live_turn(CAREER)
    assert live is not None
    assert live.id == "t-1"


async def test_one_change_may_end_a_turn_and_begin_the_next_in_any_order_of_its_puts(store: Store) -> None:
    await store.commit(Change(puts=[turn("t-1", state=TurnState.RUNNING)]))
    ended = turn("t-1", state=TurnState.RUNNING, version=1).ended(
        TurnState.COMPLETED, at=30.0, stop_reason="end_turn", failure=None
    )
    await store.commit(Change(puts=[turn("t-2"), ended]))
    assert await store.live_turn(CAREER) == turn("t-2", version=1)


async def test_two_live_turns_of_one_session_in_one_change_are_a_conflict(store: Store) -> None:
    with pytest.raises(Conflict):
        await store.commit(Change(puts=[turn("t-1"), turn("t-2")]))
    assert await store.live_turns() == []


async def test_two_posts_cannot_have_one_key(store: Store) -> None:
    await store.commit(Change(puts=[post("p-1", key="k")]))
    with pytest.raises(Conflict):
        await store.commit(Change(puts=[post("p-2", key="k")]))
    found = await store.post("k")
    assert found is not None
    assert found.id == "p-1"


async def test_an_unbound_place_is_free_and_may_be_bound_anew_in_the_same_change(store: Store) -> None:
    await store.commit(Change(puts=[binding()]))
    await store.commit(Change(unbound=[HOME]))
    assert await store.binding(HOME) is None
    await store.commit(Change(unbound=[HOME]))
    await store.commit(Change(puts=[binding()]))
    await store.commit(Change(puts=[binding(session=CAREER)], unbound=[HOME]))
    assert await store.binding(HOME) == binding(session=CAREER, version=1)


async def test_records_are_written_once(store: Store) -> None:
    await store.commit(Change(verdicts=[verdict()], steps=[step()]))
    with pytest.raises(Conflict):
        await store.commit(Change(verdicts=[verdict(reason="another")]))
    with pytest.raises(Conflict):
        await store.commit(Change(steps=[step(detail={"another": True})]))
    assert await store.verdicts(TALK) == [verdict()]
    assert await store.steps("m-1") == [step()]


BAD = "half a \ud83d letter"


@pytest.mark.parametrize(
    "change",
    [
        Change(puts=[message("m-2", text=BAD)]),
        Change(puts=[session(tags=(BAD,))]),
        Change(steps=[step(detail={"text": BAD})]),
        Change(keys=[Key(DESK, BAD, "digest", message().id)]),
    ],
    ids=["text", "tags", "detail", "key"],
)
async def test_text_that_is_no_unicode_is_refused_and_breaks_nothing(store: Store, change: Change) -> None:
    good = asyncio.create_task(store.commit(Change(puts=[message("m-1")])))
    with pytest.raises(Refused) as refused:
        await store.commit(change._replace(puts=[*change.puts, post()]))
    await good
    assert refused.value.code is Code.INVALID_REQUEST
    assert await store.post(post().key) is None
    assert await store.message(message("m-1").id) is not None


async def test_what_cannot_be_stored_is_not_found(store: Store) -> None:
    assert await store.key(DESK, BAD) is None
    assert await store.steps(BAD) == []


@pytest.mark.parametrize(
    "entity",
    [
        message(state=State.SETTLED, settled_at=1.0),
        message(state=State.SETTLED, outcome=Outcome.ACKED),
        message(outcome=Outcome.ACKED),
        message(settled_at=1.0),
        request(state=Answer.ANSWERED),
        request(closed_at=1.0),
        turn(state=TurnState.LOST),
        turn(ended_at=1.0),
        grant(used_at=1.0),
        grant(revoked_at=1.0),
        grant(scope=Scope.CONVERSATION),
        approval(outcome="approved"),
        Regime(paused_at=1.0),
        token(revoked_at=1.0),
    ],
)
async def test_a_state_that_contradicts_itself_is_a_defect_of_the_caller(store: Store, entity: Entity) -> None:
    with pytest.raises(IllegalMove):
        await store.commit(Change(puts=[entity]))


async def test_a_closed_store_refuses_reads_and_writes(store: Store) -> None:
    await store.close()
    await store.close()
    with pytest.raises(Refused) as written:
        await store.commit(Change(puts=[message()]))
    with pytest.raises(Refused) as read:
        await store.message(message().id)
    assert {written.value.code, read.value.code} == {Code.UNAVAILABLE}


async def test_what_was_read_is_a_copy(store: Store) -> None:
    detail: dict[str, object] = {"tools": ["a"]}
    await store.commit(Change(puts=[message()], steps=[step(detail=detail)]))
    detail["tools"] = []
    (await store.steps("m-1"))[0].detail["more"] = True
    queue: list[Message] = await store.queue(CAREER)
    queue.clear()
    assert await store.steps("m-1") == [step(detail={"tools": ["a"]})]
    assert [one.id for one in await store.queue(CAREER)] == ["m-1"]
