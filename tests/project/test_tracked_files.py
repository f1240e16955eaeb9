"""Tracked files hold for every machine."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

REGISTRIES = re.compile(r"\b(?:[\w-]+\.)*(?:py" + r"pi\.org|python" + r"hosted\.org|npm" + r"js\.(?:org|com))\b")
A_HOME = re.compile(r"(?<![\w.~}$-])/(?:(?:home|Users)/[\w-]+|(?:root|work)\b)")
A_MADE_UP_HOME = re.compile(r"/(?:home|Users)/(?:x|me|you|someone|somebody|nobody|user|alice|bob)\Z")


def tracked() -> list[Path]:
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("this is no clone")
    listed = subprocess.run([git, "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [path for name in listed.split("\0") if name and (path := ROOT / name).is_file()]


def found(pattern: re.Pattern[str], but: re.Pattern[str] | None = None) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{number}: {match[0]}"
        for path in tracked()
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        for match in pattern.finditer(line)
        if but is None or not but.match(match[0])
    ]


def test_no_registry_is_named() -> None:
    assert found(REGISTRIES) == []


def test_no_home_on_one_machine_is_named() -> None:
    assert found(A_HOME, but=A_MADE_UP_HOME) == []
