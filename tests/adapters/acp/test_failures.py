"""What kind of failure an error text is."""

import pytest

from adapters.acp.failures import classified, disguised, of_error
from adapters.acp.tail import Tail
from adapters.acp.tools import reads_only
from bridge.turn import FailureKind

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("HTTP 401: Unauthorized", FailureKind.AUTH),
        ("HTTP 402: Payment Required", FailureKind.BILLING),
        ("HTTP 403: Forbidden", FailureKind.AUTH),
        ("HTTP 404: model gpt-9 not found", FailureKind.CONFIG),
        ("Error: HTTP 400: no LLM provider configured", FailureKind.CONFIG),
        ("HTTP 429: Too Many Requests", FailureKind.RATE_LIMIT),
        ("HTTP 429: insufficient_quota, check your plan and billing", FailureKind.BILLING),
        ("HTTP 500: oops", FailureKind.CAPACITY),
        ("HTTP 504: Gateway Time-out", FailureKind.TIMEOUT),
        ("HTTP 529: overloaded_error", FailureKind.CAPACITY),
        ("HTTP 400: what?", FailureKind.CRASH),
        ("API call failed after 3 retries: Request timed out.", FailureKind.TIMEOUT),
        ("API call failed after 3 retries: something odd", FailureKind.CRASH),
        ("Error: HTTP 503: Service Unavailable", FailureKind.CAPACITY),
        ("You've hit your session limit · resets in 2h", FailureKind.RATE_LIMIT),
    ],
)
def test_a_final_that_is_an_error_is_a_failure(text: str, kind: FailureKind) -> None:
    failure = disguised(text, NOW)
    assert failure
    assert failure.kind is kind


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The server said HTTP 401: Unauthorized.",
        "HTTP 401 means that the key is wrong.\n\nTo mend it, log in again.",
        "HTTP is a protocol.",
        "HTTP 200: OK",
        "HTTP 404: " + "x" * 3000,
    ],
)
def test_an_answer_about_errors_is_an_answer(text: str) -> None:
    assert disguised(text, NOW) is None


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("rate limit: retry after 30 seconds", NOW + 30),
        ("rate limit, Retry-After: 30", NOW + 30),
        ("rate limit. Please try again in 1.5s.", NOW + 1.5),
        ("rate limit. Try again in 1h 5m", NOW + 3900),
        ("rate limit. Try again in 6m0s", NOW + 360),
        ("rate limit. Try again in 250ms", NOW + 0.25),
        ("usage limit, resets in 2 days and 3 hours", NOW + 183_600),
        ("usage limit, resets at 2027-01-15T08:00:10Z", NOW + 10),
        ("usage limit, resets at 2027-01-15 08:00:10", NOW + 10),
        ('rate limit {"resets_at": 1800000010}', NOW + 10),
        ('rate limit {"reset_at": 1800000010000}', NOW + 10),
        ("rate limit", None),
        ("rate limit, resets at noon", None),
        ("rate limit, resets at 2027-99-99T08:00:10Z", None),
        ("rate limit, resets at 9999999999999", None),
        ("rate limit, retry after 99999999999999999999 h", None),
    ],
)
def test_the_end_of_a_limit_is_read_from_its_text(text: str, at: float | None) -> None:
    failure = classified(text, NOW)
    assert failure
    assert failure.resets_at == at
    assert failure.temporary


def test_an_error_is_classified_by_its_data_too() -> None:
    failure = of_error(-32603, "Internal error", {"details": "429 rate_limit_error"}, NOW)
    assert failure.kind is FailureKind.RATE_LIMIT
    assert failure.detail == "429 rate_limit_error"


def test_a_kind_beside_the_text_decides_and_is_not_shown() -> None:
    failure = of_error(-32603, "Internal error: Request rejected", {"errorKind": "rate_limit"}, NOW)
    assert (failure.kind, failure.detail) == (FailureKind.RATE_LIMIT, "Request rejected")


def test_an_error_names_whose_it_was_where_its_data_does() -> None:
    data = {"message": "429 rate limit", "error": {"provider": "house", "model": "large-2"}}
    failure = of_error(-32603, "Internal error", data, NOW)
    assert (failure.kind, failure.provider, failure.model) == (FailureKind.RATE_LIMIT, "house", "large-2")


def test_an_unknown_error_is_a_crash_that_may_be_tried_again() -> None:
    failure = of_error(-32603, "Internal error", None, NOW)
    assert (failure.kind, failure.retryable, failure.pauses) == (FailureKind.CRASH, True, False)


def test_a_detail_has_bounds_and_nothing_that_cannot_be_seen() -> None:
    assert len(of_error(-32603, "x" * 10_000, None, NOW).detail) <= 2_000
    assert of_error(-32603, "\x00bad \x1b[2Jnews", None, NOW).detail == "bad news"


@pytest.mark.parametrize("name", ["mcp__tieline__peer_receive", "tieline.peer_sessions", "peer_receive"])
def test_the_bridges_reading_tools_change_nothing(name: str) -> None:
    assert reads_only(name, "other")
    assert not reads_only(name, "execute")


@pytest.mark.parametrize("name", ["mcp__tieline__peer_send", "mcp__other__peer_receive", "echo peer_receive", ""])
def test_any_other_tool_may_change_something(name: str) -> None:
    assert not reads_only(name, None)


def test_of_a_flood_on_stderr_some_is_passed_on_a_second_then_how_much_is_left_out_and_its_end() -> None:
    passed: list[str] = []
    seconds = [0.0]
    tail = Tail(passed.append, now=lambda: seconds[0])
    flood = b"".join(b"line %d\n" % number for number in range(100_000))
    for at in range(0, len(flood), 4_096):
        tail.feed(flood[at : at + 4_096])
    first = len(passed)
    assert 1_000 < first < 5_000
    seconds[0] = 1.0
    tail.feed(b"later\n")
    assert passed[first:] == [f"[{100_000 - first} lines are left out]", "later"]
    tail.feed(flood)
    tail.end()
    assert passed[-21].endswith(" lines are left out]")
    assert passed[-20:] == [f"line {number}" for number in range(99_980, 100_000)]


def test_the_end_of_stderr_is_kept_clean_and_short() -> None:
    lines: list[str] = []
    tail = Tail(lines.append)
    tail.feed(b"first\n\x1b[1mbold\x1b[0m\x07 \xff\n")
    tail.feed(b"\xe2\x82")
    tail.feed(b"\xac" + b"x" * 100_000)
    assert tail.text.startswith("first\nbold \N{REPLACEMENT CHARACTER}\n\N{EURO SIGN}xxx")
    assert len(tail.text) < 1_000
    tail.end()
    assert len(lines) == 3
    tail.feed(b"more\n" * 1_000)
    assert tail.text.count("\n") < 50
