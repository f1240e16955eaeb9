"""Quiet hours: by the clock on the wall, whatever is done to it."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bridge.quiet import hours, leave_time, quiet_until

BERLIN = "Europe/Berlin"
ZONES = (BERLIN, "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Apia", "UTC")


def at(zone: str, text: str, fold: int = 0) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold).timestamp()


def written(start: int, end: int) -> str:
    return f"{start // 60:02}:{start % 60:02}-{end // 60:02}:{end % 60:02}"


some_hours = st.builds(written, st.integers(0, 1439), st.integers(0, 1440))
quiet_hours = st.lists(some_hours, min_size=1, max_size=4).map(tuple).filter(leave_time)
instants = st.floats(1_262_304_000, 2_000_000_000)
zones = st.sampled_from(ZONES)


@pytest.mark.parametrize(
    "text", ["", "22-7", "22:00", "24:00-07:00", "22:60-07:00", "22:00-07:00 ", "2:00-3:00", "٢٢:00-07:00"]
)
def test_what_are_no_hours(text: str) -> None:
    with pytest.raises(ValueError, match="are no hours"):
        hours(text)


@pytest.mark.parametrize(
    ("quiet", "leave"),
    [
        (["22:00-07:00"], True),
        (["00:00-24:00"], False),
        (["08:00-08:00"], False),
        (["22:00-07:00", "07:00-22:00"], False),
        (["22:00-07:00", "07:01-22:00"], True),
        ([], True),
    ],
)
def test_hours_leave_time_or_not(quiet: list[str], leave: bool) -> None:
    assert leave_time(quiet) is leave


@pytest.mark.parametrize(
    ("now", "until"),
    [
        ("2026-01-15T21:59:59", None),
        ("2026-01-15T22:00:00", "2026-01-16T07:00"),
        ("2026-01-16T00:00:00", "2026-01-16T07:00"),
        ("2026-01-16T06:59:59", "2026-01-16T07:00"),
        ("2026-01-16T07:00:00", None),
        ("2026-01-16T12:30:00", "2026-01-16T14:00"),
    ],
)
def test_hours_of_a_night_and_of_a_noon_that_go_on_into_each_other(now: str, until: str | None) -> None:
    quiet = ("22:00-07:00", "12:30-13:00", "13:00-13:45", "13:30-14:00")
    assert quiet_until(quiet, BERLIN, at(BERLIN, now)) == (at(BERLIN, until) if until else None)


def test_a_night_in_which_the_clock_is_put_forward_or_back_ends_by_the_clock() -> None:
    quiet = ("22:00-07:00",)
    spring, autumn = at(BERLIN, "2026-03-28T22:00"), at(BERLIN, "2026-10-24T22:00")
    assert (quiet_until(quiet, BERLIN, spring) or 0) - spring == 8 * 3600
    assert (quiet_until(quiet, BERLIN, autumn) or 0) - autumn == 10 * 3600


def test_an_end_that_the_clock_skips_is_the_moment_of_its_being_put_forward() -> None:
    three = at(BERLIN, "2026-03-29T03:00")
    assert quiet_until(("01:00-02:30",), BERLIN, three - 1) == three
    assert quiet_until(("01:00-02:30",), BERLIN, three) is None
    assert quiet_until(("02:30-04:00",), BERLIN, three - 1) is None
    assert quiet_until(("02:30-04:00",), BERLIN, three) == three + 3600
    assert quiet_until(("02:10-02:50",), BERLIN, three) is None


def test_what_the_clock_shows_twice_is_quiet_from_the_first_to_the_last() -> None:
    first, second = at(BERLIN, "2026-10-25T02:30"), at(BERLIN, "2026-10-25T02:30", fold=1)
    assert second - first == 3600
    assert quiet_until(("01:00-02:30",), BERLIN, first) == second
    assert quiet_until(("02:30-04:00",), BERLIN, first) == at(BERLIN, "2026-10-25T04:00")
    assert quiet_until(("02:30-04:00",), BERLIN, first - 1) is None


def test_where_the_clock_is_put_back_over_midnight_the_hours_of_the_next_day_have_begun() -> None:
    """In Newfoundland it was, until 2011: at one minute past midnight to one minute past eleven."""
    zone = "America/St_Johns"
    again = at(zone, "2010-11-06T23:30", fold=1)
    assert again > at(zone, "2010-11-07T00:00")
    assert quiet_until(("00:00-07:00",), zone, again) == at(zone, "2010-11-07T07:00")
    assert quiet_until(("00:30-07:00",), zone, again) is None


@given(quiet_hours, zones, instants)
def test_they_end_once_and_it_is_quiet_until_then(quiet: tuple[str, ...], zone: str, now: float) -> None:
    until = quiet_until(quiet, zone, now)
    assume(until is not None)
    assert until is not None
    assert now < until <= now + 3 * 86_400
    assert quiet_until(quiet, zone, until) is None
    assert quiet_until(quiet, zone, until - 0.5) == until
    assert quiet_until(quiet, zone, (now + until) / 2) == until


@given(quiet_hours, zones, instants)
def test_what_the_clock_shows_decides_on_every_other_day(quiet: tuple[str, ...], zone: str, now: float) -> None:
    """And where the clock is changed, nothing that it shows as quiet is not."""
    local = datetime.fromtimestamp(now, UTC).astimezone(ZoneInfo(zone))
    minute = local.hour * 60 + local.minute
    shown = any(start <= minute < end or start <= minute + 1440 < end for start, end in map(hours, quiet))
    is_quiet = quiet_until(quiet, zone, now) is not None
    offsets = {
        (local + timedelta(days=days)).astimezone(UTC).astimezone(ZoneInfo(zone)).utcoffset() for days in range(-2, 3)
    }
    if len(offsets) == 1:
        assert is_quiet is shown
    assert is_quiet or not shown
