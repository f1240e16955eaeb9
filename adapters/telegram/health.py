"""How it stands with Telegram."""

import logging
from dataclasses import dataclass

_LOG = logging.getLogger(__name__)


@dataclass(slots=True)
class Health:
    """`patience_s` is the age from which a last poll means that something is wrong."""

    patience_s: float
    polled_at: float | None = None
    error: str | None = None

    def polled(self, now: float) -> None:
        self.polled_at = now
        self.error = None

    def fails(self, error: str, unexpected: Exception | None = None) -> None:
        """Logged when it begins, not at each attempt."""
        if error != self.error:
            _LOG.error("%s", error[0].upper() + error[1:], exc_info=unexpected)
        self.error = error

    def report(self, now: float) -> dict[str, object]:
        age = None if self.polled_at is None else max(0.0, now - self.polled_at)
        error = self.error
        if error is None and age is None:
            error = "not connected yet"
        if error is None and age is not None and age > self.patience_s:
            error = f"nothing heard from Telegram for {age:.0f} s"
        return {"ok": error is None, "last_poll_age_s": age, "error": error}
