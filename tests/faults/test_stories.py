"""A store that fails, or a caller that is cut off, at any one moment of a story changes nothing of how it ends: what
was told to have failed and is done again under its key is done once, nothing is left running, and the core goes on."""

from itertools import count

import pytest

from tests.faults.endings import check, check_cut_off, check_jump
from tests.faults.stories import STORIES

EVERY_READ = 11
"""Reads are many, and few differ from their neighbours; the soak takes them all."""
EVERY_STEP = 9
"""Likewise the steps of the loop at which a call is cut off."""


@pytest.mark.parametrize("name", STORIES)
async def test_a_commit_that_fails_and_stores_nothing_changes_no_ending(name: str) -> None:
    assert await check(STORIES[name], "before", count(1)) > 0


@pytest.mark.parametrize("name", STORIES)
async def test_a_commit_that_stores_and_then_fails_changes_no_ending(name: str) -> None:
    assert await check(STORIES[name], "after", count(1)) > 0


@pytest.mark.parametrize("name", STORIES)
async def test_a_read_that_fails_changes_no_ending(name: str) -> None:
    assert await check(STORIES[name], "read", count(1, EVERY_READ)) > 0


EVERY_JUMP = 3
HOUR_S = 3_600
PUT_OFF = {"a_life_that_ends", "a_chat_that_is_not_sure"}
"""Whose end is due at a time of the clock, and waits for it."""


@pytest.mark.parametrize("name", STORIES)
async def test_a_clock_that_is_set_forward_changes_no_ending(name: str) -> None:
    assert await check_jump(STORIES[name], HOUR_S, count(1, EVERY_JUMP)) > 0


@pytest.mark.parametrize("name", sorted(STORIES.keys() - PUT_OFF))
async def test_a_clock_that_is_set_back_keeps_nothing_waiting_that_was_not_put_off(name: str) -> None:
    assert await check_jump(STORIES[name], -HOUR_S, count(1, EVERY_JUMP)) > 0


@pytest.mark.parametrize("name", STORIES)
async def test_a_call_that_is_cut_off_and_made_again_changes_no_ending(name: str) -> None:
    assert await check_cut_off(STORIES[name], count(1, EVERY_STEP)) > 0
