"""A question closes once, and takes at most one late answer."""

from dataclasses import replace

import pytest

from bridge.errors import IllegalMove
from bridge.ids import MessageId
from bridge.request import Answer, Request
from tests.domain.messages import A, B

OPEN = Request(MessageId("m1"), A, B, opened_at=1.0, expires_at=100.0)
CLOSINGS = [one for one in Answer if one is not Answer.OPEN]


@pytest.mark.parametrize("state", CLOSINGS)
def test_an_open_request_closes_as_anything_with_its_time_reason_and_closing(state: Answer) -> None:
    closed = OPEN.closed(state, at=5.0, reason="why", closing=MessageId("m2"))
    assert (closed.open, closed.state, closed.closed_at, closed.reason, closed.closing) == (
        False,
        state,
        5.0,
        "why",
        "m2",
    )


@pytest.mark.parametrize("state", CLOSINGS)
@pytest.mark.parametrize("again", Answer)
def test_a_closed_request_never_closes_again(state: Answer, again: Answer) -> None:
    closed = OPEN.closed(state, at=5.0, reason=None, closing=None)
    with pytest.raises(IllegalMove):
        closed.closed(again, at=6.0, reason=None, closing=None)


def test_closing_as_open_is_no_closing() -> None:
    with pytest.raises(IllegalMove):
        OPEN.closed(Answer.OPEN, at=5.0, reason=None, closing=None)


@pytest.mark.parametrize("state", Answer)
def test_one_late_answer_is_taken_after_every_closing_but_an_answer(state: Answer) -> None:
    request = replace(OPEN, state=state)
    assert request.takes_late_answer is (state not in (Answer.OPEN, Answer.ANSWERED))
    assert not replace(request, late=MessageId("m9")).takes_late_answer


def test_the_grant_for_an_answer_is_recorded_under_the_question() -> None:
    assert OPEN.rule == "reply:m1"
