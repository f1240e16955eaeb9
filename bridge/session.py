"""Sessions, and the places where people talk to them."""

from dataclasses import dataclass
from enum import StrEnum

from bridge.ids import Place, SessionId, TurnId
from bridge.launching import NO_OPTIONS, Creation, Frozen, Options
from bridge.quick import quick
from bridge.turn import Process


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


class Busy(StrEnum):
    """What becomes of a handoff while the session's agent is at work, or has work waiting (DESIGN §5)."""

    QUEUE = "queue"
    """It waits for a turn of its own."""
    COLLECT = "collect"
    """What one sender sent in a row becomes one turn."""
    STEER = "steer"
    """The agent is told that mail waits, and may read it in the turn that runs."""
    REJECT = "reject"
    """It is refused as `busy`."""


class PeerTools(StrEnum):
    """What becomes of an agent's request for permission where another session is behind its turn (DESIGN §4)."""

    ASK = "ask"
    """The people at the session's own place decide, each time."""
    DENY = "deny"
    INHERIT = "inherit"
    """As in a turn of the session's own user, but for what would last beyond it."""


@quick
@dataclass(frozen=True, slots=True)
class Habits:
    """How a session takes mail, and what its agent may do on a peer's word, as the operator has set it for this one.

    `inbox_limit` and `max_chars` narrow the limits of all sessions. Where `reply_wake` says nothing, an agent is woken
    by the answers it waits for, and a shell is not. `peer_mode` is the agent's mode in turns that a peer caused. A
    `hidden` session is in no list that agents get. `quiet` are hours like `22:00-07:00` in the time zone `timezone`.
    """

    accept_wake: bool = True
    busy: Busy = Busy.QUEUE
    inbox_limit: int | None = None
    max_chars: int | None = None
    reply_wake: bool | None = None
    peer_tools: PeerTools = PeerTools.ASK
    peer_mode: str | None = None
    hidden: bool = False
    quiet: tuple[str, ...] = ()
    timezone: str = "UTC"


@dataclass(frozen=True, slots=True)
class Standby:
    """One of a session's agents while another answers: the id of its own context, and until when it is not tried."""

    agent: str
    alias: str | None = None
    rests_until: float | None = None


AGENT_TAG = "agent:"
"""Begins the tag of a child, which names its agent: rules can tell children apart before there are any."""


def agent_tag(agent: str) -> str:
    return f"{AGENT_TAG}{agent}"


@dataclass(frozen=True, slots=True)
class Caps:
    """What bounds the children of a session that no other has spawned: how many there are at once, theirs included, and
    how deep they go."""

    children: int
    depth: int


@dataclass(frozen=True, slots=True)
class Joined:
    """The agent in a person's terminal that a session is: its process, and what it is called. Where one process is the
    `host` of several agents, it stands for each of them, and they are told apart by the `thread` that it calls each.
    `seats` are the terminals' programs, one of which its person sits at. `left` says that such an agent has gone: its
    thread may come back, to the same session."""

    process: Process
    client: str
    host: Process | None = None
    thread: str | None = None
    seats: tuple[Process, ...] = ()
    left: bool = False


@quick
@dataclass(frozen=True, slots=True)
class Session:
    """One agent's persistent context.

    `alias` is the agent's own session id, once it has one. `rested` is set by a person's stop: the
    session then takes no mail from peers until `/resume` or its person's next message. `paused` holds
    the reason why its agent cannot run (a wrong login, a missing command) until a person resumes it.
    `closed_at` is set once the session is closed; its handle is never given to another.

    `frozen` is what its agents are started with, until it gets a fresh context: None where that was never settled.
    `creation` is there where it was made under a key. `answering` is the agent that stands in for its own, whose
    context `alias` is then; `standbys` are those of its agents that have another context, or that rest.
    A child has a `parent`, and lives for as long as that one's turn which it was `spawned_in`. Every other session has
    the `caps` that it was made with, or, where it is older than these, that its first child finds.
    `joined` is the agent in a person's terminal that is the session, or was it last, and `prompted_at` is when its
    person typed something there last, as that agent's hooks tell.
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
    habits: Habits = Habits()
    alias: str | None = None
    rested: bool = False
    paused: str | None = None
    closed_at: float | None = None
    last_seen: float | None = None
    frozen: Frozen | None = None
    creation: Creation | None = None
    answering: str | None = None
    standbys: tuple[Standby, ...] = ()
    parent: SessionId | None = None
    spawned_in: TurnId | None = None
    caps: Caps | None = None
    joined: Joined | None = None
    prompted_at: float | None = None
    version: int = 0

    @property
    def answers(self) -> str | None:
        """The agent that runs its turns now."""
        return self.answering or self.agent

    @property
    def options(self) -> Options:
        return self.frozen.options if self.frozen is not None else NO_OPTIONS

    @property
    def runs(self) -> bool:
        """Whether the bridge runs an agent for it."""
        return self.agent is not None

    @property
    def inhabited(self) -> bool:
        """Whether an agent in a person's terminal is it now."""
        return self.joined is not None and not self.joined.left

    @property
    def wakes_on_reply(self) -> bool:
        agent = self.runs or self.kind is Kind.TERMINAL
        return agent if self.habits.reply_wake is None else self.habits.reply_wake

    @property
    def declared(self) -> bool:
        """Whether an operator has made it, and not the agent that joined as it."""
        return self.kind is not Kind.TERMINAL or self.source is Source.FILE


@dataclass(frozen=True, slots=True)
class Declared:
    """A session as the operator's file declares it. `cwd` is absolute."""

    id: SessionId
    title: str
    kind: Kind
    agent: str | None = None
    cwd: str | None = None
    project: str | None = None
    tags: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()
    habits: Habits = Habits()
    options: Options = NO_OPTIONS


@dataclass(frozen=True, slots=True)
class NewSession:
    """A session to be made at run time. `creation` makes it the same session, however often it is asked for. With
    `near` it gets a topic of its own in the chat of that place."""

    id: SessionId
    title: str
    agent: str | None = None
    cwd: str | None = None
    place: Place | None = None
    options: Options = NO_OPTIONS
    creation: Creation | None = None
    near: Place | None = None

    def made(self, at: float, caps: Caps | None = None) -> Session:
        return Session(
            self.id,
            self.title,
            Kind.CHAT if self.agent is not None else Kind.SHELL,
            Source.RUNTIME,
            created_at=at,
            agent=self.agent,
            cwd=self.cwd,
            frozen=Frozen(self.options),
            creation=self.creation,
            caps=caps,
        )


@dataclass(frozen=True, slots=True)
class Topic:
    """What is known of the topic that a place is. Its name is `ours` where the bridge gave it, at `named_at`: such a
    name follows the session's title. What a person has named is never renamed."""

    name: str
    ours: bool = False
    named_at: float | None = None


@dataclass(frozen=True, slots=True)
class Binding:
    """A place and its session. Without a session, it records that `/bind` was offered there once. Since `gone_at`
    nothing can be shown there any more, for its topic was deleted."""

    place: Place
    session: SessionId | None
    source: Source
    bound_at: float
    topic: Topic | None = None
    gone_at: float | None = None
    version: int = 0
