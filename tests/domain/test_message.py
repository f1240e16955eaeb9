"""A delivery moves by one table only, and settles exactly once."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from bridge.errors import IllegalMove
from bridge.ids import TurnId
from bridge.message import OUTCOMES, Intent, Message, Origin, Outcome, State
from tests.domain.messages import message

LEGAL = {
    (State.HELD, State.QUEUED),
    (State.HELD, State.SETTLED),
    (State.QUEUED, State.LEASED),
    (State.QUEUED, State.SETTLED),
    (State.LEASED, State.QUEUED),
    (State.LEASED, State.PARKED),
    (State.LEASED, State.SETTLED),
    (State.PARKED, State.QUEUED),
    (State.PARKED, State.SETTLED),
}
MOVES: dict[State, Callable[[Message], Message]] = {
    State.QUEUED: lambda one: one.to_queued(due_at=5.0),
    State.LEASED: lambda one: one.to_leased(TurnId("t1")),
    State.PARKED: lambda one: one.to_parked(expires_at=50.0, reason="lost"),
    State.SETTLED: lambda one: one.to_settled(Outcome.FAILED, at=9.0),
}


def in_state(state: State) -> Message:
    if state is State.SETTLED:
        return message(state=state, outcome=Outcome.ACKED, settled_at=3.0)
    return message(state=state)


@pytest.mark.parametrize("before", State)
@pytest.mark.parametrize("after", MOVES)
def test_a_delivery_makes_the_moves_of_the_table_and_no_other(before: State, after: State) -> None:
    if (before, after) in LEGAL:
        assert MOVES[after](in_state(before)).state is after
    else:
        with pytest.raises(IllegalMove):
            MOVES[after](in_state(before))


@pytest.mark.parametrize("before", OUTCOMES)
@pytest.mark.parametrize("outcome", Outcome)
def test_only_what_was_leased_counts_as_delivered_and_a_life_never_ends_while_leased(
    before: State, outcome: Outcome
) -> None:
    leased = before is State.LEASED
    allowed = outcome not in (Outcome.EXPIRED, Outcome.REFUSED) if leased else outcome is not Outcome.ACKED
    if allowed:
        settled = in_state(before).to_settled(outcome, at=9.0, reason="why")
        assert (settled.outcome, settled.settled_at, settled.reason) == (outcome, 9.0, "why")
    else:
        with pytest.raises(IllegalMove):
            in_state(before).to_settled(outcome, at=9.0)


def test_a_lease_that_is_lost_gives_the_next_one_a_higher_epoch() -> None:
    first = message().to_leased(TurnId("t1"))
    again = first.to_queued(due_at=5.0, reason="lost")
    assert (again.turn, again.due_at, again.reason) == (None, 5.0, "lost")
    second = again.to_leased(TurnId("t2"))
    assert (first.epoch, second.epoch, second.turn) == (1, 2, "t2")


def test_what_was_read_in_a_lost_turn_is_unread_for_the_next_one() -> None:
    read = replace(message().to_leased(TurnId("t1")), read_at=2.0)
    assert read.to_queued(due_at=5.0).read_at is None


def test_a_message_keeps_its_place_in_the_lane_when_it_is_queued_again() -> None:
    again = message(queued_at=1.0).to_leased(TurnId("t1")).to_queued(due_at=7.0)
    assert (again.queued_at, again.due_at) == (1.0, 7.0)


@pytest.mark.parametrize(
    ("intent", "origin", "takes"),
    [
        (Intent.REQUEST, Origin.PEER, True),
        (Intent.INFORM, Origin.USER, True),
        (Intent.REPLY, Origin.PEER, False),
        (Intent.INFORM, Origin.SYSTEM, False),
        (Intent.INPUT, Origin.USER, False),
    ],
)
def test_only_requests_and_informs_take_room_in_an_inbox(intent: Intent, origin: Origin, takes: bool) -> None:
    assert message(intent=intent, origin=origin).takes_room is takes


class Life(RuleBasedStateMachine):
    """Whatever is tried in whatever order, a life ends once, and its epoch never falls."""

    def __init__(self) -> None:
        super().__init__()
        self.message = message()
        self.endings = 0
        self.epoch = 0

    def attempt(self, to: State, move: Callable[[Message], Message]) -> None:
        before = self.message
        try:
            self.message = move(before)
        except IllegalMove:
            assert to is State.SETTLED or (before.state, to) not in LEGAL
        else:
            assert (before.state, to) in LEGAL
            self.endings += to is State.SETTLED

    @rule(to=st.sampled_from([State.QUEUED, State.LEASED, State.PARKED]))
    def move(self, to: State) -> None:
        self.attempt(to, MOVES[to])

    @rule(outcome=st.sampled_from(Outcome), at=st.floats(1, 100))
    def settle(self, outcome: Outcome, at: float) -> None:
        self.attempt(State.SETTLED, lambda one: one.to_settled(outcome, at=at))

    @invariant()
    def it_ends_at_most_once(self) -> None:
        assert self.endings == (self.message.state is State.SETTLED)
        assert self.endings == (self.message.outcome is not None) == (self.message.settled_at is not None)

    @invariant()
    def its_epoch_counts_its_leases(self) -> None:
        assert self.message.epoch - self.epoch in (0, 1)
        self.epoch = self.message.epoch
        assert (self.message.turn is None) or self.message.epoch > 0


TestLife = Life.TestCase
if settings.get_current_profile_name() != "deep":
    TestLife.settings = settings(max_examples=50, stateful_step_count=20)
