"""What each other read gives, and in which order."""

from typing import Any

import pytest

from bridge.approval import Subject
from bridge.errors import Conflict
from bridge.flow.precedence import heads
from bridge.grant import Scope
from bridge.ids import ConversationId, MessageId, Place, SessionId
from bridge.message import Attachment, Outcome, State
from bridge.ports.store import Change, DayQuota, Parties, Store
from bridge.post import Button, PostKind, PostState
from bridge.turn import Process, TurnState
from tests.contracts.entities import (
    CAREER,
    DESK,
    FINANCE,
    HOME,
    TALK,
    act,
    approval,
    binding,
    gateway,
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


async def test_an_empty_store_has_nothing(store: Store) -> None:
    assert await store.sessions() == []
    assert await store.queue(CAREER) == []
    assert await store.waiting_sessions() == []
    assert await store.next_due(0.0) is None
    assert await store.unsettled() == {}
    assert await store.queued() == (0, None)
    assert await store.inbox_size(CAREER) == 0
    assert await store.last_update("telegram") is None
    assert await store.notes("telegram") == []
    assert await store.live_turn(CAREER) is None
    assert await store.sent_post("web", "1") is None


async def test_sessions_come_by_id_with_the_closed_ones(store: Store) -> None:
    await store.commit(Change(puts=[session(FINANCE), session(DESK, closed_at=5.0), session(CAREER)]))
    assert [one.id for one in await store.sessions()] == [CAREER, DESK, FINANCE]


async def test_places_of_a_session_come_oldest_first(store: Store) -> None:
    names = {"cli:late": (9.0, DESK), "cli:early": (1.0, DESK), "cli:other": (0.0, CAREER), "cli:none": (0.0, None)}
    await store.commit(Change(puts=[binding(Place(name), bound_at=at, session=of) for name, (at, of) in names.items()]))
    assert [one.place for one in await store.places(DESK)] == ["cli:early", "cli:late"]
    assert [one.place for one in await store.bindings()] == sorted(names)


async def test_live_turns_are_those_that_start_or_run(store: Store) -> None:
    await store.commit(
        Change(
            puts=[
                turn("t-3", session=CAREER, state=TurnState.RUNNING),
                turn("t-1", session=FINANCE),
                turn("t-2", session=CAREER, state=TurnState.COMPLETED, ended_at=30.0),
            ]
        )
    )
    assert [one.id for one in await store.live_turns()] == ["t-1", "t-3"]
    live = await store.live_turn(CAREER)
    assert live is not None
    assert live.id == "t-3"
    assert await store.live_turn(DESK) is None


async def test_the_last_turns_of_each_session_are_the_live_one_and_the_newest_with_a_process(store: Store) -> None:
    assert await store.last_turns() == []
    over = {"state": TurnState.COMPLETED, "ended_at": 30.0}
    known = {"process": Process(7, "b")}
    await store.commit(
        Change(
            puts=[
                *(session(one) for one in (CAREER, FINANCE, DESK)),
                turn("t-4", session=CAREER, **over),
                turn("t-3", session=CAREER, **over, **known),
                turn("t-2", session=CAREER, **over, **known),
                turn("t-1", session=FINANCE, **known),
                turn("t-6", session=DESK),
                turn("t-5", session=DESK, **over, **known),
                turn("t-7", session=DESK, **over),
            ]
        )
    )
    assert [one.id for one in await store.last_turns()] == ["t-1", "t-3", "t-5", "t-6"]


async def test_pending_posts_of_a_place_come_finals_first_then_as_they_were_made(store: Store) -> None:
    there = Place("web:there")
    await store.commit(
        Change(
            puts=[
                post("p-4", created_at=1.0),
                post("p-3", created_at=1.0, kind=PostKind.PROGRESS),
                post("p-2", created_at=3.0, kind=PostKind.FINAL),
                post("p-5", created_at=2.0, kind=PostKind.FINAL),
                post("p-1", created_at=2.5, place=there),
                post("p-6", created_at=9.0, place=there, kind=PostKind.FINAL),
                post("p-7", created_at=0.0, state=PostState.SENT),
                post("p-8", created_at=0.0, due_at=10.1),
                post("p-9", created_at=0.0, place=Place("webby:home")),
            ]
        )
    )
    found = await store.pending_posts("web")
    assert [one.id for one in found if one.place == HOME] == ["p-5", "p-2", "p-8", "p-3", "p-4"]
    assert [one.id for one in found if one.place == there] == ["p-6", "p-1"]
    assert len(found) == 7


async def test_foremost_are_the_posts_that_could_be_next_at_their_places(store: Store) -> None:
    there = Place("web:there")
    button = Button("Yes", "ok:1")
    foremost = [
        post("p-01", key="final:1", kind=PostKind.FINAL, created_at=4.0),
        post("p-02", key="notice:1", created_at=1.0, due_at=99.0),
        post("p-03", key="reply:1", kind=PostKind.REPLY, created_at=3.0),
        post("p-04", key="asks:1", kind=PostKind.QUESTION, created_at=2.5, buttons=(button,)),
        post("p-06", key="handoff:1", kind=PostKind.HANDOFF, created_at=1.0),
        post("p-07", key="handoff:2", kind=PostKind.HANDOFF, created_at=2.0),
        post("p-08", key="handoff:3", kind=PostKind.HANDOFF, created_at=1.0, receipt="7"),
        post("p-09", key="progress:1", kind=PostKind.PROGRESS, created_at=1.0, receipt="8"),
        post("p-10", key="mark:1", kind=PostKind.MARK, created_at=1.0, receipt="9"),
        post("p-11", key="final:2", kind=PostKind.FINAL, place=there),
        post("p-12", key="asks:3", kind=PostKind.QUESTION, place=there, created_at=1.0, receipt="5", buttons=(button,)),
        post("p-13", key="asks:4", kind=PostKind.QUESTION, place=there, created_at=2.0, receipt="6"),
    ]
    behind = [
        post("p-21", key="final:3", kind=PostKind.FINAL, created_at=5.0),
        post("p-22", key="notice:3", created_at=1.5),
        post("p-23", key="reply:2", kind=PostKind.REPLY, created_at=3.5),
        post("p-24", key="asks:2", kind=PostKind.QUESTION, created_at=2.6, buttons=(button,)),
        *(post(f"q-{n}", key=f"mark:{n + 2}", kind=PostKind.MARK, created_at=2.0 + n, receipt="9") for n in range(30)),
    ]
    elsewhere = [
        post("p-31", key="notice:4", state=PostState.SENT, created_at=0.0),
        post("p-32", key="notice:5", place=Place("webby:home"), created_at=0.0),
    ]
    await store.commit(Change(puts=[*behind, *foremost, *elsewhere]))
    pending = await store.pending_posts("web")
    found = await store.foremost_posts("web")
    assert found == [one for one in pending if one in found]
    assert {one.id for one in foremost} <= {one.id for one in found}
    assert not {one.id for one in behind} & {one.id for one in found}
    for now in (0.0, 100.0):
        assert {one.id for one in heads(found, now)} == {one.id for one in heads(pending, now)}


async def test_a_sent_post_is_found_by_its_receipt_in_all_places_of_its_chat(store: Store) -> None:
    await store.commit(
        Change(
            puts=[
                post("p-1", receipt="7", state=PostState.SENT),
                post("p-2", receipt="7", place=Place("cli:there")),
                post("p-4", receipt="9", place=Place("web:there")),
                post("p-3"),
            ]
        )
    )
    found = [await store.sent_post("web", receipt) for receipt in ("7", "8", "9")]
    assert [one and one.id for one in found] == ["p-1", None, "p-4"]


async def test_a_mark_is_no_post_that_was_sent(store: Store) -> None:
    await store.commit(
        Change(
            puts=[
                post("p-1", kind=PostKind.MARK, receipt="7", state=PostState.SENT),
                post("p-2", receipt="8", state=PostState.SENT),
                post("p-3", kind=PostKind.MARK, receipt="8"),
            ]
        )
    )
    found = [await store.sent_post("web", receipt) for receipt in ("7", "8")]
    assert [one and one.id for one in found] == [None, "p-2"]
    assert [one.id for one in await store.pending_posts("web")] == ["p-3"]


async def test_the_files_that_messages_name_are_known_for_as_long_as_those_are_kept(store: Store) -> None:
    assert await store.attached() == set()
    quote = Attachment("quoted", "text/plain", text="hm")
    one, other = (Attachment(name, "image/png", f"/files/{name}", size=1) for name in ("one", "other"))
    await store.commit(
        Change(
            puts=[
                message("m-1", attachments=(one, quote, other)),
                message("m-2", attachments=(one,)),
                message("m-3", attachments=(quote,)),
                message("m-4"),
            ]
        )
    )
    assert await store.attached() == {"/files/one", "/files/other"}


async def test_unhandled_updates_come_by_number_without_what_was_set_aside(store: Store) -> None:
    await store.commit(
        Change(
            puts=[
                update(12),
                update(9),
                update(10, handled_at=20.0),
                update(11, error="unreadable"),
                update(99, source="web"),
            ]
        )
    )
    assert [one.number for one in await store.unhandled("telegram")] == [9, 12]
    assert await store.last_update("telegram") == 12
    assert await store.last_update("web") == 99


async def test_notes_of_a_source_come_by_key(store: Store) -> None:
    await store.commit(Change(puts=[note("b"), note("a"), note("a", source="web"), note("c", text="")]))
    assert [(one.source, one.key) for one in await store.notes("telegram")] == [
        ("telegram", "a"),
        ("telegram", "b"),
        ("telegram", "c"),
    ]


async def test_kept_updates_are_found_by_their_numbers(store: Store) -> None:
    await store.commit(Change(puts=[update(12), update(9, handled_at=20.0), update(10), update(11, source="web")]))
    found = await store.updates("telegram", [12, 9, 11, 12, 7])
    assert [one.number for one in found] == [9, 12]
    assert await store.updates("telegram", []) == []


async def test_records_come_by_time_then_id(store: Store) -> None:
    await store.commit(
        Change(
            verdicts=[
                verdict("v-2", at=5.0),
                verdict("v-1", at=5.0),
                verdict("v-3", at=4.0),
                verdict("v-4", conversation=None),
            ],
            steps=[
                step("s-2", at=5.0),
                step("s-1", at=5.0, message="m-2", cause="m-1", detail={"rule": "1", "tries": [1, {"a": None}]}),
                step("s-3", at=4.0, message=None, cause="m-1"),
                step("s-4", message="m-2", conversation=ConversationId("talk-2")),
            ],
        )
    )
    assert [one.id for one in await store.verdicts(TALK)] == ["v-3", "v-1", "v-2"]
    assert [one.id for one in await store.steps("m-1")] == ["s-3", "s-1", "s-2"]
    assert [one.id for one in await store.steps("m-2")] == ["s-1", "s-4"]
    assert [one.id for one in await store.steps(TALK)] == ["s-3", "s-1", "s-2"]
    assert (await store.steps("m-2"))[0].detail == {"rule": "1", "tries": [1, {"a": None}]}


async def test_steps_are_told_to_those_whom_they_concern(store: Store) -> None:
    near, far = SessionId("default/desk"), SessionId("work/desk-2")
    await store.commit(
        Change(
            puts=[message(id=MessageId("m-1"), sender=near, recipient=far)],
            steps=[
                step("s-1", session=SessionId("default/other")),
                step("s-2", message=None, session=near),
                step("s-3", message="m-gone", session=far),
            ],
        )
    )
    told = {
        "*": ["s-1", "s-2", "s-3"],
        "default/*": ["s-1", "s-2"],
        "default/desk": ["s-1", "s-2"],
        "work/*": ["s-1", "s-3"],
        "work/desk-2": ["s-1", "s-3"],
        "work/desk": [],
        "default/other": [],
    }
    for whose, ids in told.items():
        assert [one.id for one in await store.steps(TALK, whose)] == ids, whose


async def test_a_message_is_read_for_its_sender_and_its_recipient(store: Store) -> None:
    await store.commit(Change(puts=[message(sender=DESK, recipient=CAREER)]))
    found = [await store.mail(MessageId("m-1"), of) for of in (DESK, CAREER, FINANCE)]
    assert [one is not None for one in found] == [True, True, False]
    assert await store.mail(MessageId("m-2"), DESK) is None


@pytest.mark.parametrize(
    "withheld", [{"state": State.HELD}, {"state": State.SETTLED, "outcome": Outcome.REFUSED, "settled_at": 11.0}]
)
async def test_what_has_not_come_to_its_recipient_is_its_senders_alone(store: Store, withheld: dict[str, Any]) -> None:
    steps = [step("s-1", session=CAREER)]
    await store.commit(Change(puts=[message(sender=DESK, recipient=CAREER, **withheld)], steps=steps))
    found = [await store.mail(MessageId("m-1"), of) for of in (DESK, CAREER)]
    assert [one is not None for one in found] == [True, False]
    told = [await store.steps("m-1", of, withheld=False) for of in (DESK, CAREER, "default/*")]
    assert [len(one) for one in told] == [1, 0, 1]
    assert len(await store.steps("m-1", CAREER)) == 1


async def test_a_read_sees_what_was_committed_before_it(store: Store) -> None:
    for n in range(20):
        of = SessionId(f"default/s-{n}")
        await store.commit(Change(puts=[session(of)]))
        assert await store.session(of) == session(of, version=1)


async def test_the_parties_of_an_admission_are_what_each_read_by_itself_gives(store: Store) -> None:
    there = Place("cli:there")
    await store.commit(
        Change(
            puts=[
                session(DESK),
                session(CAREER),
                pair(recent=(1.0,)),
                binding(),
                binding(there, session=CAREER),
                turn("t-1", session=CAREER),
                message("m-1", recipient=CAREER),
                request("m-1"),
            ],
            checks=[DayQuota("default", 7, 9)],
        )
    )
    assert await store.parties(DESK, CAREER, 7) == Parties(
        sender=await store.session(DESK),
        recipient=await store.session(CAREER),
        pair=await store.pair(CAREER, DESK),
        inbox=1,
        open_requests=1,
        busy=True,
        places=await store.places(CAREER),
        sender_places=await store.places(DESK),
        today=1,
    )
    assert await store.parties(FINANCE, None, 8) == Parties(None, None, None, 0, 0, False, [], [], 0)


async def test_the_grants_that_hold_are_those_neither_used_nor_revoked_nor_at_their_end(store: Store) -> None:
    await store.commit(
        Change(
            puts=[
                grant("g-6"),
                grant("g-1", expires_at=100.0),
                grant("g-2", expires_at=100.5),
                grant("g-3", scope=Scope.ONCE, used_at=50.0),
                grant("g-4", revoked_at=50.0, revoked_by="shell"),
                grant("g-5", scope=Scope.ONCE),
            ]
        )
    )
    assert [one.id for one in await store.live_grants(100.0)] == ["g-2", "g-5", "g-6"]
    assert [one.id for one in await store.grants()] == [f"g-{n}" for n in range(1, 7)]


async def test_gateways_are_all_that_were_ever_paired_by_name(store: Store) -> None:
    await store.commit(Change(puts=[gateway("hermes"), gateway("elsewhere", removed_at=20.0)]))
    assert [one.id for one in await store.gateways()] == ["elsewhere", "hermes"]
    assert await store.gateway("nobody") is None


async def test_the_tokens_of_a_session_that_hold_are_found_by_name(store: Store) -> None:
    await store.commit(
        Change(
            puts=[
                token("k-1", name="phone"),
                token("k-2", name="editor"),
                token("k-3", name="old", revoked_at=50.0, revoked_by="shell"),
                token("k-4", session=CAREER),
            ]
        )
    )
    assert [one.id for one in await store.tokens(DESK)] == ["k-2", "k-1"]
    assert [one.id for one in await store.tokens()] == ["k-4", "k-2", "k-1"]
    assert await store.tokens(FINANCE) == []


async def test_no_two_tokens_of_a_session_that_hold_have_one_name(store: Store) -> None:
    await store.commit(Change(puts=[token("k-1", revoked_at=50.0, revoked_by="shell"), token("k-2")]))
    for taken in (token("k-3"), token("k-4", name="other", digest=token("k-2").digest)):
        with pytest.raises(Conflict):
            await store.commit(Change(puts=[taken]))
    await store.commit(Change(puts=[token("k-5", session=CAREER)]))
    assert [one.id for one in await store.tokens()] == ["k-5", "k-2"]


async def test_there_is_one_open_approval_about_a_thing(store: Store) -> None:
    await store.commit(Change(puts=[approval("a-1"), approval("a-2", about="else", expires_at=60.0)]))
    with pytest.raises(Conflict):
        await store.commit(Change(puts=[approval("a-3")]))
    first = await store.open_approval(Subject.MAIL, f"{DESK} {CAREER}")
    assert first is not None
    assert first.id == "a-1"
    assert [one.id for one in await store.open_approvals()] == ["a-1", "a-2"]
    assert await store.open_approval(Subject.GRANT, f"{DESK} {CAREER}") is None
    await store.commit(Change(puts=[first.closed(20.0, "approved", "shell"), approval("a-3")]))
    assert [one.id for one in await store.open_approvals()] == ["a-2", "a-3"]
    assert [one.id for one in await store.ended_approvals(60.0, 9)] == ["a-2"]
    assert await store.ended_approvals(59.5, 9) == []
    assert await store.next_due(10.0) == 60.0


async def test_the_audit_is_read_backwards_a_page_at_a_time(store: Store) -> None:
    records = [act(f"c-{n}", detail={"scope": "pair", "verbs": ["ask"]}) for n in range(1, 6)]
    await store.commit(Change(acts=records, verdicts=[verdict(f"d-{n}") for n in range(1, 4)]))
    page = await store.recent_acts(None, 2)
    assert page == [records[4], records[3]]
    assert await store.recent_acts(page[-1].id, 9) == [records[2], records[1], records[0]]
    assert [one.id for one in await store.recent_verdicts(None, 9)] == ["d-3", "d-2", "d-1"]
    assert [one.id for one in await store.recent_verdicts("d-2", 9)] == ["d-1"]
