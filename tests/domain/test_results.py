"""What an agent sends of its turn is believed field by field, and kept in bounds."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge import briefing, results
from bridge.ports.runtime import Result, Text, ToolBegun, ToolEnded
from bridge.redaction import HIDDEN
from bridge.results import bounded, bounded_event
from bridge.turn import Failure, FailureKind, Usage

NOW = 1_800_000_000.0
FINE = Result(
    "done",
    "end_turn",
    Failure(FailureKind.RATE_LIMIT, "later", retryable=True, resets_at=NOW + 60, provider="house", model="large-2"),
    usage=Usage(1, 2, 0.5, "EUR", "large-2", "house", 3),
)
anything: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.lists(st.integers())
)


def used(**fields: Any) -> Usage | None:
    return bounded(replace(FINE, usage=Usage(**fields)), NOW).usage


def failed(**fields: Any) -> Failure:
    assert FINE.failure is not None
    failure = bounded(replace(FINE, failure=replace(FINE.failure, **fields)), NOW).failure
    assert failure is not None
    return failure


def test_what_is_as_it_should_be_stays_as_it_is() -> None:
    assert bounded(FINE, NOW) == FINE
    assert bounded(Result("", "cancelled", cancelled=True), NOW) == Result("", "cancelled", cancelled=True)


@pytest.mark.parametrize("tokens", [-1, 10**13, 1.5, True, "7", None, float("nan")])
def test_tokens_are_a_plain_number(tokens: object) -> None:
    assert used(input_tokens=tokens, output_tokens=7) == Usage(output_tokens=7)
    assert used(input_tokens=tokens) is None


@pytest.mark.parametrize("cost", [-0.1, float("nan"), float("inf"), 1e9, True, "1", 10**400])
def test_a_cost_is_a_sum_that_can_be(cost: object) -> None:
    assert used(cost=cost, currency="EUR") == Usage(currency="EUR")


@pytest.mark.parametrize("currency", ["eur", "EURO", "€", "", 7, "E\nU"])
def test_a_currency_is_a_code(currency: object) -> None:
    assert used(cost=1, currency=currency) == Usage(cost=1.0)


@pytest.mark.parametrize("at", [float("nan"), float("inf"), -1, NOW + 32 * 86_400, "noon", True])
def test_a_limit_that_ends_at_no_time_says_nothing_of_its_end(at: object) -> None:
    assert failed(resets_at=at).resets_at is None


def test_a_failure_tells_no_secrets_and_not_too_much() -> None:
    assert failed(detail="no key sk-abcdefghijklmnopqrst").detail == f"no key {HIDDEN}"
    assert len(failed(detail="x" * 10**6).detail) == results.DETAIL_CHARS
    assert failed(detail="").detail == "the agent gave no reason"
    assert failed(kind="odd").kind is FailureKind.CRASH
    assert failed(retryable="yes").retryable is False


def test_a_final_text_has_a_limit_that_it_tells_of_and_holds_what_a_store_takes() -> None:
    long = bounded(replace(FINE, final="x" * (results.FINAL_CHARS + 1)), NOW).final
    assert (len(long), long.endswith(briefing.CUT_FINAL)) == (results.FINAL_CHARS, True)
    assert bounded(replace(FINE, final=" half a character: \ud800 "), NOW).final == "half a character: ?"


def test_events_of_tools_have_limits_and_others_pass() -> None:
    big = "x " * 10**6
    begun = bounded_event(ToolBegun("1", big, reading=False, title=f"a\n\x1b[2J{big}", arguments=big))
    ended = bounded_event(ToolEnded("1", True, big, big, big, f"{big[:10]} sk-abcdefghijklmnopqrst"))
    assert isinstance(begun, ToolBegun)
    assert isinstance(ended, ToolEnded)
    for one in (begun, ended):
        assert (len(one.name), len(one.title)) == (results.NAME_CHARS, results.TITLE_CHARS)
        assert len(one.arguments) == results.DATA_CHARS
    assert begun.title.startswith("a x x")
    assert ended.result.endswith(HIDDEN)
    assert bounded_event(Text(big)) == Text(big)


@given(st.tuples(*[anything] * 7), st.tuples(*[anything] * 6), anything, anything, anything)
def test_nothing_that_a_result_holds_is_more_than_it_may_be(
    usage: tuple[Any, ...], failure: tuple[Any, ...], final: Any, reason: Any, cancelled: Any
) -> None:
    told = bounded(Result(final, reason, Failure(*failure), cancelled, Usage(*usage)), NOW)
    assert bounded(told, NOW) == told
    assert isinstance(told.final, str)
    assert isinstance(told.failure, Failure)
    told.final.encode()
    told.failure.detail.encode()
