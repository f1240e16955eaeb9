"""Telegram's limits are kept, for each chat and for all, and what can wait gives way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.telegram.budget import Budget, Rate, Rates, Request
from bridge.post import Urgency

GROUP, PRIVATE = -1001, 111
REPLY, NEWS, PROGRESS = Urgency.REPLY, Urgency.NEWS, Urgency.PROGRESS


def asked(budget: Budget, chat: int, at: float, urgency: Urgency = REPLY) -> float | None:
    """Takes a request that gets there at once; None if it may be made, else when it may."""
    taken = budget.take(chat, at, urgency)
    if not isinstance(taken, Request):
        return taken
    budget.answered(taken, at)
    return None


def test_a_small_burst_and_then_one_a_second() -> None:
    budget = Budget()
    times = [100, 100, 100, 100, 101, 102.9, 103]
    assert [asked(budget, PRIVATE, at) for at in times] == [None, None, None, 103, 103, 103, None]


def test_a_group_gets_twenty_a_minute_in_all_its_topics_together() -> None:
    budget = Budget()
    assert [asked(budget, GROUP, 100 + 2 * i) for i in range(20)] == [None] * 20
    assert asked(budget, GROUP, 141) == 160
    assert asked(budget, GROUP, 160) is None


def test_a_private_chat_has_no_limit_a_minute() -> None:
    assert [asked(Budget(), PRIVATE, 100 + 2 * i) for i in range(40)] == [None] * 40


def test_all_chats_share_the_limit_of_the_bot() -> None:
    budget = Budget()
    assert [asked(budget, chat, 100) for chat in range(1, 31)] == [None] * 30
    assert asked(budget, 31, 100.5) == 101
    assert asked(budget, 31, 101) is None


@pytest.mark.parametrize("urgency", Urgency)
def test_what_can_wait_leaves_room_for_the_rest(urgency: Urgency) -> None:
    budget = Budget(Rates(chat=Rate(20, 10)))
    taken = [asked(budget, PRIVATE, 100, urgency) for _ in range(21)]
    room = {
        Urgency.REPLY: 20,
        Urgency.FINAL: 17,
        Urgency.QUESTION: 17,
        Urgency.NEWS: 17,
        Urgency.REVISION: 15,
        Urgency.PROGRESS: 12,
        Urgency.MARK: 9,
        Urgency.TYPING: 6,
    }[urgency]
    assert taken == [None] * room + [110] * (21 - room)


def test_a_reply_finds_room_when_all_else_has_to_wait() -> None:
    budget = Budget()
    at = 100.0
    while asked(budget, GROUP, at, NEWS) is None or at < 150:
        at += 0.5
    assert asked(budget, GROUP, at, NEWS) is not None
    assert asked(budget, GROUP, at, REPLY) is None


def test_what_must_be_sent_counts() -> None:
    budget = Budget()
    for _ in range(3):
        budget.answered(budget.spend(PRIVATE, 100), 100)
    assert asked(budget, PRIVATE, 100) == 103


def test_a_request_counts_from_when_it_may_have_got_there_at_the_latest() -> None:
    budget = Budget()
    requests = [budget.take(PRIVATE, 100, REPLY) for _ in range(3)]
    assert asked(budget, PRIVATE, 110) == 113
    for request in requests:
        assert isinstance(request, Request)
        budget.answered(request, 111)
    assert asked(budget, PRIVATE, 113.5) == 114
    assert asked(budget, PRIVATE, 114) is None


def test_a_request_that_never_left_costs_nothing() -> None:
    budget = Budget()
    for _ in range(10):
        request = budget.take(PRIVATE, 100, REPLY)
        assert isinstance(request, Request)
        budget.withdrawn(request)
    assert asked(budget, PRIVATE, 100) is None


def test_a_clock_that_was_set_back_holds_nothing_up() -> None:
    budget = Budget()
    assert [asked(budget, PRIVATE, 5000) for _ in range(3)] == [None] * 3
    assert asked(budget, PRIVATE, 100) is None


def test_a_clock_that_was_set_back_a_little_gives_nothing_away() -> None:
    budget = Budget()
    assert [asked(budget, PRIVATE, 100) for _ in range(3)] == [None] * 3
    assert asked(budget, PRIVATE, 99.9) == 103


@given(
    st.lists(st.tuples(st.floats(0, 20), st.floats(0, 15), st.sampled_from(Urgency), st.booleans()), max_size=120),
)
def test_no_window_holds_more_than_the_rate_whenever_requests_arrive_and_whenever_it_is_restarted(
    steps: list[tuple[float, float, Urgency, bool]],
) -> None:
    """Each step: some time goes by, a request is made that arrives a while later and is answered then, and perhaps the
    bridge dies and begins anew."""
    rates = Rates(chat=Rate(3, 3), group=Rate(8, 60))
    budget, now = Budget(rates), 1_000.0
    arrived: list[float] = []
    under_way: list[tuple[float, Request]] = []
    for passing_s, takes_s, urgency, dies in steps:
        now += passing_s
        for at, request in sorted((one for one in under_way if one[0] <= now), key=lambda one: one[0]):
            budget.answered(request, at)
            under_way.remove((at, request))
        taken = budget.take(GROUP, now, urgency)
        if isinstance(taken, Request):
            under_way.append((now + takes_s, taken))
            arrived.append(now + takes_s)
        else:
            assert taken > now
        if dies:
            kept = budget.spent(GROUP, on_its_way_s=15)
            arrived = [min(at, now) for at in arrived]
            budget, under_way = Budget(rates), []
            budget.restore(GROUP, kept, now)
    arrived.sort()
    for rate in rates.of(GROUP):
        for first, last in zip(arrived, arrived[rate.count :], strict=False):
            assert last - first >= rate.per_s - 1e-6
