"""What of an agent's text may be kept and shown: no secrets, no control characters, and not too much of it."""

import json
import re
from collections.abc import Callable, Iterable

HIDDEN = "[redacted]"

_SHAPES = re.compile(
    r"\b\d{3,}:[A-Za-z0-9_-]{30,}"  # Telegram bot tokens, in URLs too
    r"|(?<=bot)\d{3,}:[A-Za-z0-9_-]{30,}"
    r"|\bsk-[A-Za-z0-9_-]{16,}"
    r"|\b(?:gh[opsur]|github_pat)_[A-Za-z0-9_]{20,}"
    r"|\bxox[abeoprs]-[A-Za-z0-9-]{10,}"
    r"|\btieline-[0-9a-f]{64}\b"
    r"|\bAKIA[A-Z0-9]{16}\b"
    r"|\bAIza[A-Za-z0-9_-]{30,}"
    r"|\beyJ[A-Za-z0-9_-]{10,2000}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*"  # a JSON web token
    r"|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]{0,10000}(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?"
    r"|(?<=bearer )[A-Za-z0-9._~+/-]{8,}=*",
    re.IGNORECASE,
)
_SECRET_NAME = re.compile(
    r"(?:token|secret|passw(?:or)?d|passphrase|api[_-]?key|(?:access|private|secret)[_-]?key|authorization|cookie"
    r"|credentials?)$",
    re.IGNORECASE,
)
_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SHORTEST = 6
"""Exact secrets that are shorter would blot out ordinary words."""
_SHORTEST_LINE = 12
"""So are lines of a secret that has several."""
_LEAF_CHARS = 20_000
_ITEMS = 100
_DEPTH = 8
"""Of data, so much is looked at: it is cut to far less afterwards."""


def cleaned(text: str) -> str:
    """Without terminal sequences and control characters other than tabs and line ends."""
    return _CONTROL.sub("", text)


class Redaction:
    """Removes known shapes of secrets, and the exact ones that it was told of."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._known = {part for secret in secrets for part in _parts(secret)}
        self._exact = _pattern(self._known)

    def hide(self, secret: str) -> None:
        """From now on `secret` is in no text."""
        self._known |= _parts(secret)
        self._exact = _pattern(self._known)

    def redacted(self, text: str) -> str:
        if self._exact:
            text = self._exact.sub(HIDDEN, text)
        return _SHAPES.sub(HIDDEN, text)

    def shown(self, data: object, limit: int) -> str:
        """Plain data as text of at most `limit` characters. A value under the name of a secret is one."""
        safe = _safe(data, self.redacted, _DEPTH)
        text = safe if isinstance(safe, str) else json.dumps(safe, ensure_ascii=False)
        return cut(cleaned(text), limit)


def cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _parts(secret: str) -> set[str]:
    """The secret, and its lines: what is shown line by line shows it too."""
    lines = {line.strip() for line in secret.splitlines()} - {secret}
    found = {line for line in lines if len(line) >= _SHORTEST_LINE}
    return found | {secret} if len(secret) >= _SHORTEST else found


def _pattern(secrets: Iterable[str]) -> re.Pattern[str] | None:
    longest_first = sorted(secrets, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first))) if longest_first else None


def _safe(data: object, redacted: Callable[[str], str], depth: int) -> object:
    if depth == 0:
        return "…"
    if isinstance(data, str):
        return redacted(data[:_LEAF_CHARS])
    if isinstance(data, dict):
        some = [(redacted(str(name)[:_LEAF_CHARS]), value) for name, value in list(data.items())[:_ITEMS]]
        return {name: HIDDEN if _is_secret(name, value) else _safe(value, redacted, depth - 1) for name, value in some}
    if isinstance(data, list | tuple):
        return [_safe(one, redacted, depth - 1) for one in data[:_ITEMS]]
    return data if data is None or isinstance(data, bool | int | float) else redacted(str(data)[:_LEAF_CHARS])


def _is_secret(name: str, value: object) -> bool:
    return _SECRET_NAME.search(name) is not None and value not in (None, "", True, False)


SHAPES = Redaction()
"""Knows no exact secrets."""
