"""Ids keep their order whatever the clock does; handles and places have one form each."""

import random
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.errors import Code, Refused
from bridge.ids import Ids, Place, SessionId, address, first_id, handle_of, place, profile_of, scheme_of, session_id
from tests.fakes.clock import ManualClock


class Jumping(ManualClock):
    """A clock that shows one given time after the other."""

    def __init__(self, times: list[float]) -> None:
        super().__init__()
        self._times = iter(times)

    def now(self) -> float:
        return next(self._times)


@given(st.lists(st.floats(0, 4e9), min_size=2, max_size=30), st.integers())
def test_ids_rise_and_stay_version_7_whatever_the_clock_does(times: list[float], seed: int) -> None:
    ids = Ids(Jumping(times), random.Random(seed))
    made = [ids.new() for _ in times]
    assert made == sorted(set(made))
    assert all(uuid.UUID(one).variant == uuid.RFC_4122 and str(uuid.UUID(one)) == one for one in made)


def test_an_id_holds_its_time_in_milliseconds() -> None:
    ids = Ids(ManualClock(1_800_000_000.123), random.Random(1))
    made = uuid.UUID(ids.new())
    assert made.version == 7
    assert abs((made.int >> 80) - 1_800_000_000_123) <= 1


@given(st.floats(0, 4e9), st.integers())
def test_ids_made_before_a_time_are_less_than_its_first_and_later_ones_are_not(time: float, seed: int) -> None:
    before, at = (Ids(ManualClock(each), random.Random(seed)).new() for each in (time - 0.002, time))
    assert at > first_id(time)
    assert time < 0.002 or before < first_id(time)


@pytest.mark.parametrize("handle", ["a", "0", "front-desk", "a-", "a" * 63])
def test_a_handle_of_the_form_makes_an_id(handle: str) -> None:
    assert session_id("default", handle) == f"default/{handle}"
    assert address(handle, "default") == f"default/{handle}"
    assert address(f"work/{handle}", "default") == f"work/{handle}"


@pytest.mark.parametrize(
    "handle", ["", "-a", "A", "a_b", "a" * 64, "a b", "a\n", "é", "a/b/c", "/a", "a/", "\ud800", "a\x00"]
)
def test_any_other_handle_is_refused_and_is_no_address(handle: str) -> None:
    with pytest.raises(Refused) as refused:
        session_id("default", handle)
    assert refused.value.code is Code.INVALID_REQUEST
    assert address(handle, "default") is None


def test_an_id_falls_into_its_profile_and_its_handle() -> None:
    assert profile_of(SessionId("default/career")) == "default"
    assert handle_of(SessionId("default/career")) == "career"
    assert handle_of(SessionId("system")) == "system"


@pytest.mark.parametrize("text", ["telegram:-1001234/42", "telegram:777", "web:front-desk", "cli:build"])
def test_a_place_names_the_chat_that_serves_it(text: str) -> None:
    assert scheme_of(place(text)) == text.split(":", maxsplit=1)[0]


@pytest.mark.parametrize("text", ["", "telegram", "telegram:", "Telegram:1", "1a:x", "web:a b", "web:a\n", "web:\x7f"])
def test_what_has_no_form_of_a_place_is_refused(text: str) -> None:
    with pytest.raises(Refused) as refused:
        place(text)
    assert refused.value.code is Code.INVALID_REQUEST


def test_a_place_of_an_unknown_chat_still_has_a_scheme() -> None:
    assert scheme_of(Place("irc:#tieline")) == "irc"
