"""What a chat's adapter has stored: what came in, before it is acknowledged there, and small notes of its own."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Update:
    """One raw update of one source, e.g. `telegram`, unique by source and number.

    `handled_at` is set once its effects are stored; `error` is set where it had to be set aside.
    """

    source: str
    number: int
    raw: str
    received_at: float
    handled_at: float | None = None
    error: str | None = None
    version: int = 0


@dataclass(frozen=True, slots=True)
class Note:
    """What the adapter of `source` wants to know after a restart, unique by source and key. Empty text is as good as
    none."""

    source: str
    key: str
    text: str
    version: int = 0
