"""What happened in a run, in its order: the digest by which two runs are compared, and the story of a failure."""

import hashlib
from collections.abc import Callable, Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Broken:
    """An invariant was broken. `about` names what the story is to tell of."""

    invariant: str
    what: str
    about: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.invariant}: {self.what}"


class Journal:
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._lines: list[tuple[float, str]] = []

    def note(self, what: str) -> None:
        self._lines.append((self._now(), what))

    def digest(self) -> str:
        whole = "\n".join(f"{at:.6f} {what}" for at, what in self._lines)
        return hashlib.sha256(whole.encode()).hexdigest()

    def story(self, about: Collection[str], *, last: int) -> str:
        """The last lines that name one of `about`, or the last of all where that is empty."""
        concerned = [line for line in self._lines if not about or any(one in line[1] for one in about)]
        return "\n".join(f"{at:10.3f}  {what}" for at, what in concerned[-last:])


def brief(ident: str | None) -> str:
    """An id as the journal shows it: its end, which is random. A name is short enough."""
    return ident[-8:] if ident is not None and len(ident) == 36 else str(ident)
