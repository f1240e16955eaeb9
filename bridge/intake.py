"""What came in from a chat, stored before it is acknowledged there."""

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
