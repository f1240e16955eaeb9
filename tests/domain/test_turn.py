"""A turn ends once, and its failure says what may be done about it."""

import pytest

from bridge.errors import IllegalMove
from bridge.ids import ConversationId, MessageId, NodeId, TurnId
from bridge.turn import LIVE, Failure, FailureKind, Turn, TurnState
from tests.domain.messages import B

LEGAL = {
    TurnState.STARTING: {TurnState.RUNNING, TurnState.FAILED, TurnState.CANCELLED, TurnState.LOST},
    TurnState.RUNNING: {TurnState.COMPLETED, TurnState.FAILED, TurnState.CANCELLED, TurnState.LOST},
}


def turn(state: TurnState) -> Turn:
    return Turn(
        TurnId("t1"), B, (MessageId("m1"),), MessageId("m1"), ConversationId("c1"), 1.0, NodeId("n"), 61.0, state=state
    )


@pytest.mark.parametrize("before", TurnState)
@pytest.mark.parametrize("after", TurnState)
def test_a_turn_makes_the_moves_of_the_table_and_no_other(before: TurnState, after: TurnState) -> None:
    if after in LEGAL.get(before, set()):
        assert turn(before).moved(after).state is after
    else:
        with pytest.raises(IllegalMove):
            turn(before).moved(after)


@pytest.mark.parametrize("state", TurnState)
def test_a_turn_is_live_until_it_has_an_end(state: TurnState) -> None:
    assert turn(state).live is (state in (TurnState.STARTING, TurnState.RUNNING)) is (state in LIVE)


def test_the_end_of_a_turn_keeps_when_and_why() -> None:
    failure = Failure(FailureKind.TIMEOUT, "too slow")
    ended = turn(TurnState.RUNNING).ended(TurnState.FAILED, at=9.0, stop_reason="timeout", failure=failure)
    assert (ended.ended_at, ended.stop_reason, ended.failure) == (9.0, "timeout", failure)


@pytest.mark.parametrize("kind", FailureKind)
@pytest.mark.parametrize("retryable", [True, False])
def test_a_failure_that_people_must_mend_is_never_retried_by_itself(kind: FailureKind, retryable: bool) -> None:
    failure = Failure(kind, "x", retryable=retryable)
    assert failure.pauses is (kind in (FailureKind.AUTH, FailureKind.CONFIG, FailureKind.BILLING))
    waits = kind in (FailureKind.RATE_LIMIT, FailureKind.CAPACITY, FailureKind.TIMEOUT)
    assert failure.temporary is (retryable and waits)
