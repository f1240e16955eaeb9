"""A code is taken once, in time, and not by guessing."""

from random import Random

import pytest

from adapters.onboarding.pairing import LIFE_S, TRIES, Pairing, Tried
from tests.fakes.clock import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def pairing(clock: ManualClock) -> Pairing:
    return Pairing(clock, Random(7))


def test_a_code_is_six_letters_that_nobody_confuses(pairing: Pairing) -> None:
    codes = set()
    for _ in range(500):
        pairing.renew()
        codes.add(pairing.code)
    assert len(codes) > 490
    assert not set("".join(codes)) & set("0O1IL5S8BZ2")
    assert {len(code) for code in codes} == {6}


@pytest.mark.parametrize("form", ["{}", "/start {}", " {} ", "/start  {}", "/start\n{}"])
def test_it_is_taken_in_any_letters_and_spacing(form: str, pairing: Pairing) -> None:
    code = pairing.code
    assert pairing.tried(form.format(f"{code[:3].lower()}-{code[3:]}")) is Tried.RIGHT


def test_it_is_taken_once(pairing: Pairing) -> None:
    code = pairing.code
    assert pairing.tried(code) is Tried.RIGHT
    assert pairing.tried(code) is Tried.WRONG


def test_it_is_taken_until_its_time_is_over(pairing: Pairing, clock: ManualClock) -> None:
    code = pairing.code
    clock.jump(LIFE_S - 1)
    assert pairing.left_s == 1
    clock.jump(1)
    assert pairing.tried(code) is Tried.WRONG
    pairing.renew()
    assert pairing.left_s == LIFE_S


def test_after_so_many_wrong_ones_it_is_another(pairing: Pairing) -> None:
    code = pairing.code
    tried = [pairing.tried("ZZZZZZ") for _ in range(TRIES)]
    assert tried == [Tried.WRONG] * (TRIES - 1) + [Tried.SPENT]
    assert pairing.code != code
    assert pairing.tried(code) is Tried.WRONG
    assert pairing.tried(pairing.code) is Tried.RIGHT


@pytest.mark.parametrize(
    "text", ["/start", "hello there", "", "ABCDE", "ABCDEFG", "АВСДЕЖ", "😀😀😀😀😀😀", "/start x" * 99]
)
def test_what_is_no_code_is_no_wrong_one(text: str, pairing: Pairing) -> None:
    for _ in range(2 * TRIES):
        assert pairing.tried(text) is Tried.NONE
