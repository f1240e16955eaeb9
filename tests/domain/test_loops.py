"""The loop guard follows causes, so that a circle of any size comes to an end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.conversation import Pair, pair_of
from bridge.errors import Code
from bridge.ids import ConversationId, MessageId, SessionId
from bridge.limits import Limits
from bridge.loops import Cause, Standing, cause_of, closes_circle, overrun, stand
from bridge.message import Intent, Message, Origin
from tests.domain.messages import A, B, message

C = SessionId("default/c")


def cause(ident: str, depth: int, *path: SessionId, conversation: str = "c1") -> Cause:
    return Cause(MessageId(ident), ConversationId(conversation), depth, path)


def test_a_send_without_a_cause_begins_a_conversation_at_depth_one() -> None:
    assert stand(A, [], None) == Standing(None, 1, (A,), None)


def test_a_send_goes_on_from_its_deepest_cause() -> None:
    standing = stand(C, [cause("m1", 1, A, conversation="c1"), cause("m2", 2, A, B, conversation="c2")], None)
    assert standing == Standing(ConversationId("c2"), 3, (A, B, C), MessageId("m2"))


def test_of_several_causes_the_one_replied_to_chooses_the_conversation_but_not_the_depth() -> None:
    standing = stand(C, [cause("m2", 3, A, B, A, conversation="c2")], cause("m1", 1, A, conversation="c1"))
    assert standing == Standing(ConversationId("c1"), 4, (A, B, A, C), MessageId("m1"))


@pytest.mark.parametrize(
    ("read", "depth", "path"),
    [
        (message(intent=Intent.INPUT, origin=Origin.USER, depth=0, path=()), 0, ()),
        (message(depth=2, path=(A, B)), 2, (A, B)),
        (message(intent=Intent.INFORM, depth=3, path=(A, B, C)), 3, (A, B, C)),
        (message(intent=Intent.REPLY, depth=2, path=(A, B)), 1, (A,)),
        (message(intent=Intent.INFORM, origin=Origin.SYSTEM, depth=1, path=(A,)), 0, ()),
    ],
    ids=["a person's words", "a request", "an inform", "an answer", "a notice"],
)
def test_reading_restores_the_standing_of_ones_own_question_or_takes_over_that_of_the_sender(
    read: Message, depth: int, path: tuple[SessionId, ...]
) -> None:
    assert cause_of(read) == Cause(read.id, read.conversation, depth, path)


@pytest.mark.parametrize(("depth", "code"), [(6, None), (7, Code.DEPTH_LIMIT)])
def test_work_is_passed_on_up_to_the_limit_of_depth(depth: int, code: Code | None) -> None:
    refused = overrun(A, Standing(None, depth, (A,), None), Limits(depth=6))
    assert (refused.code if refused else None) == code


@pytest.mark.parametrize(("path", "code"), [((A, B, A), None), ((A, B, A, B, A), Code.VISIT_LIMIT)])
def test_work_comes_back_to_a_session_up_to_the_limit_of_visits(path: tuple[SessionId, ...], code: Code | None) -> None:
    refused = overrun(A, Standing(None, len(path), path, None), Limits(visits=2))
    assert (refused.code if refused else None) == code


@given(st.lists(st.sampled_from([A, B, C]), min_size=1, max_size=60))
def test_every_chain_of_forwards_ends_within_the_depth(hops: list[SessionId]) -> None:
    limits, causes, taken = Limits(), list[Cause](), 0
    for number, hop in enumerate(hops):
        standing = stand(hop, causes, None)
        if overrun(hop, standing, limits):
            break
        causes = [Cause(MessageId(str(number)), ConversationId("c"), standing.depth, standing.path)]
        taken += 1
    assert taken <= limits.depth


@pytest.mark.parametrize(
    ("waits", "asker", "asked", "closes"),
    [
        ({}, A, B, False),
        ({B: {A}}, A, B, True),
        ({B: {C}, C: {A}}, A, B, True),
        ({B: {C}}, A, B, False),
        ({A: {B}}, A, B, False),
        ({B: {C}, C: {B}}, A, B, False),
    ],
    ids=["nobody waits", "two", "three", "a chain", "asked twice", "a circle of others"],
)
def test_a_wait_is_a_circle_only_if_the_asked_one_waits_for_the_asker(
    waits: dict[SessionId, set[SessionId]], asker: SessionId, asked: SessionId, closes: bool
) -> None:
    assert closes_circle(waits, asker, asked) is closes


def test_a_pair_is_the_same_from_both_sides() -> None:
    assert pair_of(A, B) == pair_of(B, A) == (A, B)


def test_a_pair_rests_after_its_budget_and_starts_afresh_when_the_rest_is_over() -> None:
    limits = Limits(pair_messages=3, pair_window_s=60, pair_rest_s=60)
    pair = Pair(A, B)
    for _ in range(3):
        pair = pair.after_one_more(100.0, limits)
        assert not pair.resting(100.0)
    pair = pair.after_one_more(101.0, limits)
    assert pair.rest_until == 161.0
    assert pair.after_one_more(160.9, limits) is pair
    assert not pair.resting(161.0)
    assert pair.after_one_more(161.0, limits).recent == (161.0,)


def test_a_pair_that_keeps_within_its_window_never_rests() -> None:
    limits = Limits(pair_messages=3, pair_window_s=60)
    pair = Pair(A, B)
    for number in range(30):
        pair = pair.after_one_more(number * 20.0, limits)
        assert not pair.resting(number * 20.0)
    assert len(pair.recent) == 3
