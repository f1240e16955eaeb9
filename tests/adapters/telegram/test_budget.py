"""Telegram's limits are kept, for each chat and for all, and what can wait gives way."""

from adapters.telegram.budget import Budget, Rate, Rates

GROUP, PRIVATE = -1001, 111


def taken(budget: Budget, chat: int, times: list[float], *, yielding: bool = False) -> list[float | None]:
    return [budget.take(chat, at, yielding=yielding) for at in times]


def test_a_small_burst_and_then_one_a_second() -> None:
    budget = Budget()
    assert taken(budget, PRIVATE, [100, 100, 100, 100, 101, 102.9, 103]) == [None, None, None, 103, 103, 103, None]


def test_a_group_gets_twenty_a_minute_in_all_its_topics_together() -> None:
    budget = Budget()
    assert taken(budget, GROUP, [100 + 2 * i for i in range(20)]) == [None] * 20
    assert budget.take(GROUP, 141, yielding=False) == 160
    assert budget.take(GROUP, 160, yielding=False) is None


def test_a_private_chat_has_no_limit_a_minute() -> None:
    assert taken(Budget(), PRIVATE, [100 + 2 * i for i in range(40)]) == [None] * 40


def test_all_chats_share_the_limit_of_the_bot() -> None:
    budget = Budget()
    assert [budget.take(chat, 100, yielding=False) for chat in range(1, 31)] == [None] * 30
    assert budget.take(31, 100.5, yielding=False) == 101
    assert budget.take(31, 101, yielding=False) is None


def test_what_can_wait_leaves_room_for_the_rest() -> None:
    budget = Budget(Rates(chat=Rate(5, 10), yielding=0.6))
    assert taken(budget, PRIVATE, [100] * 4, yielding=True) == [None, None, None, 110]
    assert taken(budget, PRIVATE, [100] * 3) == [None, None, 110]


def test_a_halt_is_for_its_chat_and_until_its_end() -> None:
    budget = Budget()
    budget.halt(GROUP, 130)
    budget.halt(GROUP, 120)
    assert budget.take(GROUP, 129.9, yielding=False) == 130
    assert budget.take(PRIVATE, 129.9, yielding=False) is None
    assert budget.take(GROUP, 130, yielding=False) is None


def test_what_must_be_sent_counts() -> None:
    budget = Budget()
    for _ in range(3):
        budget.spend(PRIVATE, 100)
    assert budget.take(PRIVATE, 100, yielding=False) == 103


def test_a_clock_that_was_set_back_holds_nothing_up() -> None:
    budget = Budget()
    assert taken(budget, PRIVATE, [5000, 5000, 5000]) == [None] * 3
    assert budget.take(PRIVATE, 100, yielding=False) is None
