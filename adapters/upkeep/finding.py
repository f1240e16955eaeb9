"""What the doctor finds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from adapters.cli import exits


class Level(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: what was looked at, how it is, and what to do where something is to be done. `exit` is the exit code
    that it asks for. `agent` is what an agent has told of itself, for programs."""

    check: str
    level: Level
    text: str
    remedy: str = ""
    exit: int = exits.OK
    agent: Mapping[str, Any] = field(default_factory=dict)


def ok(check: str, text: str, agent: Mapping[str, Any] | None = None) -> Finding:
    return Finding(check, Level.OK, text, agent=agent or {})


def warn(check: str, text: str, remedy: str, agent: Mapping[str, Any] | None = None) -> Finding:
    return Finding(check, Level.WARN, text, remedy, agent=agent or {})


def fail(check: str, text: str, remedy: str, *, code: int = exits.FAILED) -> Finding:
    return Finding(check, Level.FAIL, text, remedy, code)


def size(count: float) -> str:
    """`512 B`, `3.2 MiB`: for people."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1_024:
            return f"{count:.0f} {unit}" if count >= 10 or unit == "B" else f"{count:.1f} {unit}"
        count /= 1_024
    return f"{count:.1f} GiB"
