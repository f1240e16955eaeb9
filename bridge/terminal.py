"""What an agent in a person's terminal is called as a session, and what its hooks tell (DESIGN §6)."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import count

from bridge.errors import Code, Refused
from bridge.ids import SessionId, address, handle_of, profile_of, session_id
from bridge.lineage import for_child
from bridge.session import Joined, Kind, Session, Source
from bridge.turn import Process

_OTHER = re.compile(r"[^a-z0-9]+")
_PART_CHARS = 24
MOST_THREAD = 200
"""Of what an agent calls its own session, so many characters count."""
_ENDINGS = ("-mcp-client", "-client", "-mcp", "-cli")


@dataclass(frozen=True, slots=True)
class Joining:
    """An agent that would like to be a session. `agent` is its process, as the kernel tells; `client` what it is
    called, `cwd` where it works, `wish` the session that its environment names, `host` and `thread` as in `Joined`.
    Below a host, what has no thread is a tool server: each of its calls tells the thread that it is of."""

    agent: Process
    client: str
    cwd: str
    wish: str | None = None
    host: Process | None = None
    thread: str | None = None


class Happening(StrEnum):
    """What an agent's hook tells."""

    STARTED = "start"
    PROMPTED = "prompt"
    """Its person has typed something."""
    WOKEN = "woken"
    """It has been prompted with a notice of the bridge."""
    TOOL = "tool"
    STOPPED = "stop"
    STOPPED_AGAIN = "stop-again"
    """It stops after a hook has kept it from stopping: it is not kept once more."""
    IDLE = "idle"
    ENDED = "end"


@dataclass(frozen=True, slots=True)
class Told:
    """What a hook is told: a fixed notice for its agent, or nothing. `ended` says that there is no such agent any
    more."""

    notice: str | None = None
    ended: bool = False


def word(text: str) -> str:
    """As much of a text as a handle may hold."""
    return _OTHER.sub("-", text.casefold()).strip("-")[:_PART_CHARS].strip("-")


def base_of(joining: Joining) -> str:
    """The handle of a directory and a client, such as `work-claude-code`."""
    client = word(joining.client)
    for ending in _ENDINGS:
        client = client.removesuffix(ending)
    directory = word(joining.cwd.rstrip("/").rpartition("/")[2])
    return "-".join(filter(None, (directory, client))) or "terminal"


def candidates(profile: str, joining: Joining, sessions: Iterable[Session]) -> Iterator[SessionId]:
    """The sessions that an agent may be, the best first: the one that its thread was before, the one that its
    environment names, those that the operator's file declares for its directory, and those of its directory and name,
    numbered where others are taken."""
    sessions = list(sessions)
    base = base_of(joining)
    if joining.thread is not None:
        yield from sorted(one.id for one in sessions if one.joined and one.joined.thread == joining.thread)
    if joining.wish is not None:
        base = handle_of(_wished(profile, joining.wish))
    else:
        yield from sorted(
            one.id for one in sessions if one.source is Source.FILE and one.cwd and _at(one.cwd, joining.cwd)
        )
    for number in count(1):
        ident = session_id(profile, base if number == 1 else f"{base[:58]}-{number}")
        if not for_child(ident):
            yield ident


def _wished(profile: str, wish: str) -> SessionId:
    named = address(wish, profile)
    if named is None or profile_of(named) != profile:
        raise Refused(
            Code.INVALID_REQUEST,
            f"TIELINE_SESSION is {wish[:80]!a}, which is no handle of the profile {profile}",
            remedy="Name 1 to 63 of a-z, 0-9 and - there, such as work, or unset it.",
        )
    return named


def takes(session: Session, joining: Joining) -> bool:
    """Whether a session that is there may be taken by an agent: nobody else is it now, and it is for such agents; one
    that no operator has declared only where it was of the same directory, or is asked for by its name, or was of the
    same thread."""
    known = session.joined
    free = not session.inhabited or same(known, joining)
    own = session.source is Source.FILE or joining.wish is not None or session.cwd == joining.cwd
    own = own or (known is not None and known.thread is not None and known.thread == joining.thread)
    return session.kind is Kind.TERMINAL and not session.runs and session.closed_at is None and free and own


def same(known: Joined | None, joining: Joining) -> bool:
    """Whether it is the agent that is known: by its process, and its thread where others share that."""
    return known is not None and (known.process, known.thread) == (joining.agent, joining.thread)


def _at(one: str, other: str) -> bool:
    return one.rstrip("/") == other.rstrip("/")
