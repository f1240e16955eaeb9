"""The locks pin everything that the project asks for, and say nothing else."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUN, DEVELOP = (ROOT / "deploy" / name for name in ("requirements.lock", "requirements-dev.lock"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def pins(lock: Path) -> dict[str, str]:
    return {_plain(name): version for name, version in (line.split("==") for line in lock.read_text().splitlines())}


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _names(requirements: list[str]) -> set[str]:
    return {_plain(re.split(r"[^A-Za-z0-9._-]", each, maxsplit=1)[0]) for each in requirements}


@pytest.mark.parametrize("lock", [RUN, DEVELOP], ids=lambda lock: lock.name)
def test_a_lock_holds_names_and_versions_only(lock: Path) -> None:
    lines = lock.read_text().splitlines()
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+]+", line)] == []
    assert len(pins(lock)) == len(lines)


def test_the_locks_cover_what_the_project_asks_for() -> None:
    wanted = _names(PROJECT["project"]["dependencies"] + PROJECT["build-system"]["requires"])
    assert wanted <= set(pins(RUN))
    assert wanted | _names(PROJECT["project"]["optional-dependencies"]["dev"]) <= set(pins(DEVELOP))


def test_what_runs_is_what_was_tested() -> None:
    assert pins(RUN).items() <= pins(DEVELOP).items()
