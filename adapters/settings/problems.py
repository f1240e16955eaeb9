"""What is wrong with the settings, in words that lead to the place and to the remedy."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches


@dataclass(frozen=True, slots=True)
class Problem:
    """`where` is a line of the file (`tieline.toml:12`) or the name of an environment variable."""

    where: str
    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}; {self.remedy}"


class SettingsError(Exception):
    """The settings cannot be used. As text it has one problem a line: the file's in its order, then the rest."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=_order))
        super().__init__("\n".join(str(problem) for problem in self.problems))


def _order(problem: Problem) -> tuple[bool, int]:
    _, _, line = problem.where.rpartition(":")
    return not line.isdecimal(), int(line) if line.isdecimal() else 0


def choice(given: str, known: Iterable[str]) -> str:
    """The remedy for a name that is none of the known ones."""
    names = sorted(known)
    close = get_close_matches(given, names, n=1)
    if close:
        return f"did you mean {close[0]}?"
    return f"use one of {', '.join(names)}" if names else "remove it"
