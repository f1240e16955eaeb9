"""Ids and addresses.

Ids are UUIDv7, so that their order is the order of their making and an index stays compact.
"""

import re
from typing import NewType

from bridge.errors import Code, Refused
from bridge.ports.clock import Clock, Randomness

SessionId = NewType("SessionId", str)
MessageId = NewType("MessageId", str)
ConversationId = NewType("ConversationId", str)
TurnId = NewType("TurnId", str)
PostId = NewType("PostId", str)
NodeId = NewType("NodeId", str)
Place = NewType("Place", str)

SYSTEM = SessionId("system")
"""Sender of what the bridge itself says. No session can have this id, for it has no profile."""

SHELL = "shell"
"""The handle of the session that every profile has for its shells (DESIGN §7)."""

LAST_ID = "g"
"""Greater than every id, for ids begin with hexadecimal digits."""

RECEIVER = "receiver:"
"""Begins the `TurnId` of whoever reads outside of turns."""

_PROFILE = r"[a-z0-9][a-z0-9-]{0,62}"
_SESSION_ID = re.compile(rf"{_PROFILE}/[a-z0-9][a-z0-9-]{{0,62}}\Z")
_HANDLE = re.compile(r"[a-z0-9][a-z0-9-]{0,62}\Z")
_PLACE = re.compile(r"[a-z][a-z0-9]{0,31}:[^\s\x00-\x1f\x7f]{1,200}\Z")


class Ids:
    """Makes UUIDv7 ids that never go backwards within one instance, whatever the clock does."""

    def __init__(self, clock: Clock, randomness: Randomness) -> None:
        self._clock = clock
        self._randomness = randomness
        self._last = 0

    def new(self) -> str:
        stamp = (int(self._clock.now() * 1000) & (2**48 - 1)) << 80
        value = stamp | (0x7 << 76) | (self._randomness.getrandbits(76))
        value = (value & ~(0x3 << 62)) | (0x2 << 62)
        if value <= self._last:
            value = self._last + 1
        self._last = value
        text = f"{value:032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def first_id(time: float) -> str:
    """Less than every id made at `time` or later, and greater than every one made a millisecond before."""
    text = f"{max(0, int(time * 1000)):012x}"
    return f"{text[:8]}-{text[8:]}"


def session_id(profile: str, handle: str) -> SessionId:
    """Raises `Refused(invalid_request)` unless both parts have the form of DESIGN §1."""
    value = f"{profile}/{handle}"
    if not _SESSION_ID.match(value):
        raise Refused(
            Code.INVALID_REQUEST,
            f"{handle!r} is no handle: it takes 1 to 63 of a-z, 0-9 and -, and begins with a letter or digit",
        )
    return SessionId(value)


def address(text: str, profile: str) -> SessionId | None:
    """The session that `text` names exactly: an id, or a handle within `profile`; else None."""
    if _SESSION_ID.match(text):
        return SessionId(text)
    if _HANDLE.match(text):
        return SessionId(f"{profile}/{text}")
    return None


def receiver(session: SessionId) -> TurnId:
    """Who holds what a session reads outside of turns."""
    return TurnId(RECEIVER + session)


def profile_of(session: SessionId) -> str:
    return session.partition("/")[0]


def handle_of(session: SessionId) -> str:
    return session.partition("/")[2] or session


def place(text: str) -> Place:
    """Raises `Refused(invalid_request)` unless `text` is `scheme:address`."""
    if not _PLACE.match(text):
        raise Refused(
            Code.INVALID_REQUEST,
            f"{text!r} is no place: a place is written like telegram:-1001234/42 or cli:build",
        )
    return Place(text)


def scheme_of(where: Place) -> str:
    return where.partition(":")[0]
