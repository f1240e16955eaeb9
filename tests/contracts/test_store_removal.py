"""What retention removes, and what it never touches, at the boundary and beyond it."""

from collections.abc import Sequence
from typing import Any

import pytest

from bridge.grant import Scope
from bridge.ids import ConversationId, MessageId, PostId, TurnId, first_id
from bridge.message import Outcome, State
from bridge.ports.store import Change, DayQuota, Entity, Key, Store
from bridge.post import PostState
from bridge.regime import Regime
from bridge.request import Answer
from bridge.turn import Process, TurnState
from tests.contracts.entities import (
    CAREER,
    DESK,
    FINANCE,
    act,
    approval,
    conversation,
    grant,
    message,
    note,
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

BEFORE = 1_000_000.0
YESTERDAY = int(BEFORE // 86_400) - 1
OLD, NEW = BEFORE - 500, BEFORE + 500
KEYS_BEFORE = BEFORE - 100_000


def ident(at: float, number: int = 0) -> str:
    return f"{first_id(at)}-7000-8000-{number:012x}"


def settled(id: str, at: float, **other: Any) -> Entity:
    over = {"state": State.SETTLED, "outcome": Outcome.ACKED, "settled_at": at}
    return message(id, **{"queued_at": OLD, "accepted_at": OLD, **over, **other})


def closed(id: str, at: float, **other: Any) -> Entity:
    return request(id, state=Answer.ANSWERED, closed_at=at, **other)


async def removed(store: Store, *, before: float = BEFORE, keys_before: float = KEYS_BEFORE, limit: int = 100) -> int:
    """How many went, of everything."""
    total, more = 0, True
    while more:
        count, more = await store.remove(before, keys_before, limit)
        total += count
    return total


async def left(store: Store, ids: Sequence[str]) -> list[str]:
    return [one for one in ids if await store.message(MessageId(one)) is not None]


async def test_a_message_goes_at_its_time_and_with_it_all_that_belongs_to_it(store: Store) -> None:
    old, new = ident(OLD, 1), ident(OLD, 2)
    talk = ConversationId(ident(OLD, 3))
    await store.commit(
        Change(
            puts=[
                settled(old, BEFORE, conversation=talk),
                closed(old, BEFORE),
                settled(new, BEFORE + 0.25),
                closed(new, BEFORE),
                conversation(talk),
                post(ident(OLD, 4), key="old", state=PostState.SENT, message=old),
                post(ident(OLD, 5), key="new", state=PostState.SENT, message=new),
            ],
            steps=[
                step(ident(OLD, 6), at=OLD, message=old, conversation=talk),
                step(ident(OLD, 7), at=OLD, message=new, conversation=None),
            ],
            verdicts=[
                verdict(ident(OLD, 8), at=OLD, message=old, conversation=talk),
                verdict(ident(OLD, 9), at=OLD, message=new),
            ],
        )
    )
    assert await removed(store) == 6
    assert await left(store, [old, new]) == [new]
    assert await store.request(MessageId(old)) is None
    assert await store.request(MessageId(new)) is not None
    assert await store.conversation(talk) is None
    assert await store.post("old") is None
    assert await store.post("new") is not None
    assert await store.steps(old) == []
    assert await store.verdicts(talk) == []
    assert len(await store.steps(new)) == 1
    assert await removed(store) == 0


UNSETTLED: dict[State, dict[str, object]] = {
    State.HELD: {},
    State.QUEUED: {},
    State.LEASED: {"turn": "receiver:default/career"},
    State.PARKED: {},
}


@pytest.mark.parametrize("state", UNSETTLED)
async def test_what_is_unsettled_stays_however_old_it_is(store: Store, state: State) -> None:
    old = ident(OLD)
    await store.commit(
        Change(
            puts=[message(old, state=state, **UNSETTLED[state]), request(old)],
            steps=[step(ident(OLD, 1), at=OLD, message=old)],
            keys=[Key(DESK, "k", "body", MessageId(old))],
        )
    )
    assert await removed(store, keys_before=BEFORE) == 0


@pytest.mark.parametrize("field", ["closing", "late"])
async def test_a_request_stays_while_its_answer_is_unread_and_as_long_as_that_is_kept(store: Store, field: str) -> None:
    asked, answer = ident(OLD, 1), ident(OLD, 2)
    reply = message(answer, accepted_at=OLD)
    await store.commit(Change(puts=[settled(asked, OLD), closed(asked, OLD, **{field: answer}), reply]))
    assert await removed(store) == 0
    (unread,) = await store.inbox(CAREER)
    await store.commit(Change(puts=[unread.to_leased(TurnId("receiver:x")).to_settled(Outcome.ACKED, at=NEW)]))
    assert await removed(store) == 0
    assert await removed(store, before=NEW) == 3


async def test_a_settled_message_stays_while_its_request_is_open(store: Store) -> None:
    old = ident(OLD)
    await store.commit(Change(puts=[settled(old, OLD), request(old)]))
    assert await removed(store) == 0


async def test_an_input_stays_while_a_request_on_its_behalf_is_open(store: Store) -> None:
    parent, child = ident(OLD, 1), ident(OLD, 2)
    await store.commit(Change(puts=[settled(parent, OLD), settled(child, OLD), request(child, parent=parent)]))
    assert await removed(store) == 0


async def test_what_was_settled_in_a_turn_stays_while_that_turn_runs(store: Store) -> None:
    old, running = ident(OLD, 1), ident(OLD, 2)
    await store.commit(Change(puts=[settled(old, OLD, turn=running), turn(running, state=TurnState.RUNNING)]))
    assert await removed(store) == 0


async def test_the_newest_turn_of_a_session_stays_for_the_process_that_it_may_have_left(store: Store) -> None:
    over = {"state": TurnState.COMPLETED, "ended_at": OLD}
    first, second, other = (ident(OLD, n) for n in (1, 2, 3))
    await store.commit(
        Change(
            puts=[
                session(CAREER),
                session(FINANCE),
                turn(first, **over),
                turn(second, process=Process(7, "b"), **over),
                turn(other, session=FINANCE, process=Process(8, "b"), **over),
            ]
        )
    )
    assert await removed(store) == 1
    assert [one.id for one in await store.last_turns()] == [second, other]
    assert await store.turn(TurnId(first)) is None


async def test_posts_go_once_they_are_sent_or_given_up_and_not_before(store: Store) -> None:
    given = {key: PostState(key) for key in ("sent", "failed", "pending")} | {"revised": PostState.SENT}
    puts = [
        post(PostId(ident(OLD, number)), key=key, state=state, due_at=NEW if key == "revised" else OLD)
        for number, (key, state) in enumerate(given.items())
    ]
    await store.commit(Change(puts=puts))
    assert await removed(store) == 2
    assert [key for key in given if await store.post(key) is not None] == ["pending", "revised"]


async def test_the_last_number_of_each_source_survives_and_so_does_what_is_not_handled(store: Store) -> None:
    handled = {"received_at": OLD, "handled_at": OLD}
    await store.commit(
        Change(
            puts=[
                update(7, **handled),
                update(8, received_at=OLD),
                update(9, received_at=OLD, error="unreadable"),
                update(10, received_at=NEW, handled_at=NEW),
                update(11, **handled),
                update(3, source="web", **handled),
            ]
        )
    )
    assert await removed(store) == 2
    assert [one.number for one in await store.updates("telegram", range(20))] == [8, 10, 11]
    assert (await store.last_update("telegram"), await store.last_update("web")) == (11, 3)


async def test_notes_are_kept(store: Store) -> None:
    await store.commit(Change(puts=[note()]))
    assert await removed(store) == 0
    assert await store.notes("telegram") == [note(version=1)]


async def test_a_key_outlives_its_message(store: Store) -> None:
    young, old = ident(OLD), ident(KEYS_BEFORE - 1)
    keys = [Key(DESK, name, "body", MessageId(of)) for name, of in (("young", young), ("old", old))]
    await store.commit(Change(puts=[settled(young, OLD), settled(old, OLD)], keys=keys))
    assert await removed(store) == 3
    assert await left(store, [young, old]) == []
    assert await store.key(DESK, "young") is not None
    assert await store.key(DESK, "old") is None


async def test_a_conversation_stays_while_a_step_of_it_does(store: Store) -> None:
    talk, told = ConversationId(ident(OLD, 1)), ConversationId(ident(OLD, 2))
    await store.commit(
        Change(
            puts=[conversation(talk), conversation(told)],
            steps=[step(ident(NEW), at=NEW, message=None, conversation=talk)],
        )
    )
    assert await removed(store) == 1
    assert await store.conversation(talk) is not None


async def test_records_of_refusals_go_by_their_own_age(store: Store) -> None:
    await store.commit(
        Change(
            verdicts=[verdict(ident(OLD, 1), at=OLD), verdict(ident(NEW, 1), at=NEW)],
            steps=[
                step(ident(OLD, 2), at=OLD, message=None, cause="m"),
                step(ident(NEW, 2), at=NEW, message=None, cause="m"),
            ],
        )
    )
    assert await removed(store) == 2
    assert [one.at for one in await store.steps("m")] == [NEW]


async def test_a_pair_without_traffic_goes_and_one_that_rests_or_talks_stays(store: Store) -> None:
    await store.commit(
        Change(
            puts=[
                pair(recent=(OLD, BEFORE)),
                pair(b=FINANCE, recent=(OLD, NEW)),
                pair(a=DESK, b=FINANCE, rest_until=NEW),
            ]
        )
    )
    assert await removed(store) == 1
    assert await store.pair(CAREER, DESK) is None
    assert await store.pair(CAREER, FINANCE) is not None
    assert await store.pair(DESK, FINANCE) is not None


async def test_what_people_decided_goes_once_it_is_over_and_not_before(store: Store) -> None:
    ids = [ident(OLD, number) for number in range(10)]
    await store.commit(
        Change(
            puts=[
                grant(ids[0], scope=Scope.ONCE, used_at=BEFORE),
                grant(ids[1], revoked_at=BEFORE, revoked_by="shell"),
                grant(ids[2], expires_at=BEFORE),
                grant(ids[3], expires_at=NEW),
                grant(ids[4]),
                approval(ids[5], closed_at=OLD, outcome="denied"),
                approval(ids[6]),
                token(ids[8], name="gone", revoked_at=BEFORE, revoked_by="shell"),
                token(ids[9]),
                Regime(accepted="{}"),
            ],
            acts=[act(ids[7], at=OLD), act(ident(NEW), at=NEW)],
            checks=[DayQuota("default", day, 9) for day in (YESTERDAY, YESTERDAY + 1)],
        )
    )
    assert await removed(store) == 7
    assert [one.id for one in await store.tokens()] == [ids[9]]
    assert [await store.sent_on("default", day) for day in (YESTERDAY, YESTERDAY + 1)] == [0, 1]
    assert [one.id for one in await store.grants()] == [ids[3], ids[4]]
    assert [one.id for one in await store.open_approvals()] == [ids[6]]
    assert [one.at for one in await store.recent_acts(None, 9)] == [NEW]


@pytest.mark.parametrize("limit", [1, 10, 25, 1_000])
async def test_however_little_is_looked_at_in_one_go_all_that_may_go_has_gone_in_the_end(
    store: Store, limit: int
) -> None:
    ids = [ident(OLD, n) for n in range(25)]
    stays = ids[3::7]
    puts = [message(one) if one in stays else settled(one, OLD) for one in ids]
    steps = [step(ident(OLD, 100 + n), at=OLD, message=one) for n, one in enumerate(ids + ids)]
    await store.commit(Change(puts=[*puts, *(pair(b=f"default/{n}", recent=(OLD,)) for n in range(20))], steps=steps))
    assert await removed(store, limit=limit) == 3 * (len(ids) - len(stays)) + 20
    assert await left(store, ids) == stays
    assert await removed(store, limit=limit) == 0
