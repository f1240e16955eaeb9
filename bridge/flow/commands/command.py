"""What a command is, and what the place where it is typed says about it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum

from bridge.caller import Caller
from bridge.errors import Code, Refused
from bridge.flow.ledger import Ledger
from bridge.ids import SHELL, Place, SessionId, session_id
from bridge.message import Origin
from bridge.ports.chat import Heard
from bridge.post import Button
from bridge.session import Session


class Group(StrEnum):
    """The heading under which the help has a command."""

    WORK = "Hand over work"
    HERE = "The session here"
    LOOK = "Look around"
    PLACES = "Places"
    AGENTS = "What agents may do"


class Picks(StrEnum):
    """What a command takes that can be picked from a list, where it was typed without."""

    SESSION = "session"
    ADDRESSEE = "addressee"
    """A session, and a text for it."""


OVER = "This is over. Type the command again."
"""Whoever presses a button that its post does not hold looks at something older."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a command has to say, and what can be pressed below it."""

    text: str
    buttons: tuple[Button, ...] = ()


@dataclass(frozen=True, slots=True)
class Command:
    """`run` gets what was heard and what follows the name; it returns what is to be said at the place, or None where
    that is shown otherwise. With `here` it needs a session at the place, and with `files` it takes those along."""

    name: str
    usage: str
    help: str
    group: Group
    run: Callable[[Heard, str], Awaitable[str | Reply | None]]
    operators_only: bool = False
    here: bool = False
    files: bool = False
    picks: Picks | None = None


class Here:
    """The session at the place where somebody speaks."""

    def __init__(self, ledger: Ledger, profile: str) -> None:
        self._ledger = ledger
        self._profile = profile

    async def session(self, heard: Heard) -> Session:
        """Raises `unknown_session` where there is none, or it is closed."""
        session = await self._bound(heard.place)
        if session is None:
            raise Refused(Code.UNKNOWN_SESSION, f"no session is bound to this place, {heard.place}", remedy=_BIND)
        if session.closed_at is not None:
            reason = f"{session.id}, to which this place is bound, is closed"
            raise Refused(Code.SESSION_CLOSED, reason, remedy=_BIND)
        return session

    async def found(self, place: Place) -> Session | None:
        session = await self._bound(place)
        return session if session is not None and session.closed_at is None else None

    async def _bound(self, place: Place) -> Session | None:
        binding = await self._ledger.store.binding(place)
        return await self._ledger.store.session(binding.session) if binding and binding.session else None

    async def caller(self, heard: Heard) -> Caller:
        """Who speaks: as the session here, or as the shell's where none is."""
        binding = await self._ledger.store.binding(heard.place)
        speaker = binding.session if binding and binding.session else session_id(self._profile, SHELL)
        return caller_as(heard, speaker)


_BIND = "An operator can bind one: /bind NAME (see /sessions)."


def caller_as(heard: Heard, session: SessionId) -> Caller:
    person = heard.person
    return Caller(session, Origin.USER, place=heard.place, person=person.id, operator=person.operator)


def word(text: str) -> tuple[str, str]:
    """The first word and what follows it, whatever white space is between them."""
    first, *rest = text.split(maxsplit=1) or [""]
    return first, rest[0].strip() if rest else ""
