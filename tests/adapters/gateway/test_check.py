"""What the conformance check finds of a gateway that keeps to the link, and of ones that do not."""

import os
import sys
from typing import Any

import pytest

from adapters.gateway.check import SCENES, Scenes, checked

DRIVEN = (sys.executable, "-m", "tests.adapters.gateway.driven")


async def wrong(*words: str, scenes: Scenes = SCENES) -> set[str]:
    """The scenes in which it is found to do wrong."""
    seen: list[dict[str, Any]] = []
    well = await checked((*DRIVEN, *words), os.environ, seen.append, scenes)
    assert [one["scene"] for one in seen] == [name for name, _ in scenes]
    found = {one["scene"] for one in seen if not one["ok"]}
    assert well == (not found)
    return found


async def test_the_reference_gateway_keeps_to_all_of_it() -> None:
    assert await wrong() == set()


@pytest.mark.parametrize(
    ("how", "scene"),
    [
        ("repeats", "work that is told twice runs once"),
        ("hurries", "a person is first, and work makes way"),
        ("forgets", "a turn that a restart cuts off is told of"),
    ],
)
async def test_what_a_gateway_does_wrong_is_found(how: str, scene: str) -> None:
    assert await wrong(how, scenes=[one for one in SCENES if one[0] == scene]) == {scene}
