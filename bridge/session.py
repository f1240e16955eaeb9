"""Sessions, and the places where people talk to them."""

from dataclasses import dataclass
from enum import StrEnum

from bridge.ids import Place, SessionId
from bridge.quick import quick


class Kind(StrEnum):
    CHAT = "chat"
    TERMINAL = "terminal"
    SHELL = "shell"
    CRON = "cron"
    TOOL = "tool"
    GATEWAY = "gateway"


class Source(StrEnum):
    """Who made a session or binding; what the operator's file says cannot be changed at run time."""

    FILE = "file"
    RUNTIME = "runtime"


@quick
@dataclass(frozen=True, slots=True)
class Session:
    """One agent's persistent context.

    `alias` is the agent's own session id, once it has one. `rested` is set by a person's stop: the
    session then takes no mail from peers until `/resume` or its person's next message. `paused` holds
    the reason why its agent cannot run (a wrong login, a missing command) until a person resumes it.
    `closed_at` is set once the session is closed; its handle is never given to another.
    """

    id: SessionId
    title: str
    kind: Kind
    source: Source
    created_at: float
    agent: str | None = None
    cwd: str | None = None
    project: str | None = None
    tags: tuple[str, ...] = ()
    accept_wake: bool = True
    alias: str | None = None
    rested: bool = False
    paused: str | None = None
    closed_at: float | None = None
    last_seen: float | None = None
    version: int = 0

    @property
    def runs(self) -> bool:
        """Whether the bridge runs an agent for it."""
        return self.agent is not None

    @property
    def wakes_on_reply(self) -> bool:
        """`reply_wake` of DESIGN §4: agents are woken by the answers they wait for, shells are not."""
        return self.runs


@dataclass(frozen=True, slots=True)
class Binding:
    """A place and its session. Without a session, it records that `/bind` was offered there once."""

    place: Place
    session: SessionId | None
    source: Source
    bound_at: float
    version: int = 0
