"""A store that fails at any one moment of a story changes nothing of how the story ends: what was told to have failed
and is done again under its key is done once, and the core goes on by itself."""

from itertools import count

import pytest

from tests.faults.endings import check
from tests.faults.stories import STORIES

EVERY_READ = 11
"""Reads are many, and few differ from their neighbours; the soak takes them all."""


@pytest.mark.parametrize("name", STORIES)
async def test_a_commit_that_fails_and_stores_nothing_changes_no_ending(name: str) -> None:
    assert await check(STORIES[name], "before", count(1)) > 0


@pytest.mark.parametrize("name", STORIES)
async def test_a_commit_that_stores_and_then_fails_changes_no_ending(name: str) -> None:
    assert await check(STORIES[name], "after", count(1)) > 0


@pytest.mark.parametrize("name", STORIES)
async def test_a_read_that_fails_changes_no_ending(name: str) -> None:
    assert await check(STORIES[name], "read", count(1, EVERY_READ)) > 0
