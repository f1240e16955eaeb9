"""Capability tokens: whoever holds one is the session that it was made for (DESIGN §7)."""

import hashlib
import re
from dataclasses import dataclass, replace
from typing import NewType

from bridge.errors import Code, IllegalMove, Refused
from bridge.ids import SessionId
from bridge.quick import quick

TokenId = NewType("TokenId", str)

PREFIX = "tieline-"
"""Begins the tokens that people make, so that logs can tell them from other texts."""

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


@quick
@dataclass(frozen=True, slots=True)
class Token:
    """One that a person has made for a client of one's own. Of the token itself nothing but its digest is kept.

    `name` tells it from the others of its session that hold. `by` made it, `via` is where; `used_at` is to the minute.
    Times are in seconds since 1970. It holds until it is revoked, by a person or with the end of its session.
    """

    id: TokenId
    session: SessionId
    name: str
    digest: str
    by: str
    via: str
    made_at: float
    used_at: float | None = None
    revoked_at: float | None = None
    revoked_by: str | None = None
    version: int = 0

    @property
    def holds(self) -> bool:
        return self.revoked_at is None

    def revoked(self, at: float, by: str) -> "Token":
        if not self.holds:
            raise IllegalMove(f"token {self.id} was revoked already")
        return replace(self, revoked_at=at, revoked_by=by)


def digest_of(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def check_name(name: str) -> None:
    """Raises `invalid_request`."""
    if not _NAME.fullmatch(name):
        raise Refused(
            Code.INVALID_REQUEST,
            f"{name[:80]!r} is no name for a token",
            remedy="Use a-z, 0-9 and -, up to 63 characters.",
        )
