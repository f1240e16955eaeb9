"""Text without secrets: the exact ones that are known, and what has the shape of one."""

import re
from collections.abc import Iterable

HIDDEN = "[redacted]"

_SHAPES = re.compile(
    r"\b\d{3,}:[A-Za-z0-9_-]{30,}"  # Telegram bot tokens, in URLs too
    r"|(?<=bot)\d{3,}:[A-Za-z0-9_-]{30,}"
    r"|\bsk-[A-Za-z0-9_-]{16,}"
    r"|(?<=bearer )[A-Za-z0-9._~+/-]{8,}=*",
    re.IGNORECASE,
)
_SHORTEST = 6
"""Exact secrets that are shorter would blot out ordinary words."""


class Redaction:
    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._exact: re.Pattern[str] | None = None
        self._known: set[str] = set()
        for secret in secrets:
            self.hide(secret)

    def hide(self, secret: str) -> None:
        """From now on `secret` is in no text."""
        if len(secret) >= _SHORTEST and secret not in self._known:
            self._known.add(secret)
            longest_first = sorted(self._known, key=len, reverse=True)
            self._exact = re.compile("|".join(map(re.escape, longest_first)))

    def redacted(self, text: str) -> str:
        if self._exact:
            text = self._exact.sub(HIDDEN, text)
        return _SHAPES.sub(HIDDEN, text)
