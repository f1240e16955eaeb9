"""The runtime: what starts an agent and runs one prompt of it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from bridge.history import History
from bridge.ids import SessionId
from bridge.launching import NO_OPTIONS, Definition, Options
from bridge.turn import Failure, Process


class Context(StrEnum):
    """What an agent knows when it has been started."""

    NEW = "new"
    RESUMED = "resumed"
    LOST = "lost"
    """An earlier context was asked for and is gone; people must be told."""


@dataclass(frozen=True, slots=True)
class Launch:
    """What a session's agent is started with. `secrets` are the environment of its tool server, and go nowhere else.
    With `to_show`, its history is to be relied on, and so waited for with more patience. `definition` is how the agent
    was defined when the session got its settings, where it is to be started so: it never gets more than it would by the
    definition of now."""

    session: SessionId
    agent: str
    cwd: str
    alias: str | None
    secrets: Mapping[str, str] = field(default_factory=dict)
    to_show: bool = False
    options: Options = NO_OPTIONS
    definition: Definition | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """A chunk of the agent's visible text."""

    text: str


@dataclass(frozen=True, slots=True)
class Thought:
    text: str


@dataclass(frozen=True, slots=True)
class ToolBegun:
    """`name` is as the agent announces it, e.g. `mcp__tieline__peer_receive`; `reading` says that it is one
    of the bridge's own reading tools, which change nothing."""

    id: str
    name: str
    reading: bool


@dataclass(frozen=True, slots=True)
class ToolEnded:
    id: str
    ok: bool


Event = Text | Thought | ToolBegun | ToolEnded


@dataclass(frozen=True, slots=True)
class Option:
    """One answer that the agent offers to its own permission question. `lasting` ones hold for later too."""

    id: str
    label: str
    allows: bool
    lasting: bool


@dataclass(frozen=True, slots=True)
class Question:
    """The agent asks for permission to use a tool."""

    title: str
    options: Sequence[Option]


class Listener(Protocol):
    """What a running prompt tells. Calls come one after the other; the agent waits for none but `asked`."""

    async def happened(self, event: Event) -> None: ...

    async def asked(self, question: Question) -> str | None:
        """The id of the chosen option; None refuses, and is told to the agent as such."""
        ...


@dataclass(frozen=True, slots=True)
class Prompt:
    """`words` are a person's own, `notice` the bridge's fixed one; `embedded` are peer messages as resource
    blocks of their own, for agents without tools. A prompt never mixes peer text into `words` or `notice`.

    `mode` is the agent's mode in which it runs, or else not at all: that is a `config` failure. Without it the agent is
    in its own."""

    words: str | None = None
    notice: str | None = None
    embedded: Sequence[str] = ()
    mode: str | None = None

    @property
    def parts(self) -> Sequence[str]:
        """Its texts in the order in which an agent gets them: peers' messages after the notice that tells of them."""
        return [part for part in (self.notice, *self.embedded, self.words) if part]


@dataclass(frozen=True, slots=True)
class Result:
    """How a prompt ended. `final` is the visible text after the last tool call. A result with `failure` is
    no answer, whatever its text. `cancelled` says that a cancel ended it."""

    final: str
    stop_reason: str
    failure: Failure | None = None
    cancelled: bool = False
    usage: Mapping[str, int] = field(default_factory=dict)


class Agent(Protocol):
    """One running agent process that holds one context. Used by one turn at a time."""

    @property
    def process(self) -> Process: ...

    @property
    def alias(self) -> str:
        """The agent's own id of its context."""
        ...

    @property
    def context(self) -> Context: ...

    @property
    def history(self) -> History:
        """What its context is known to hold: what it replayed as it was resumed, and the prompts since then. Empty
        where it replays nothing."""
        ...

    @property
    def opening(self) -> Sequence[str]:
        """The texts that it puts before its next prompt by itself: preamble and files, in a context that is new."""
        ...

    @property
    def alive(self) -> bool:
        """False once the process has ended, or once it must not be prompted again (a wedged cancel)."""
        ...

    async def prompt(self, prompt: Prompt, listener: Listener) -> Result:
        """Runs one prompt to its end. Never raises for anything that the agent does: that is a failure in
        the result. When the caller is cancelled, the agent's state is unknown: close it."""
        ...

    async def cancel(self, grace_s: float) -> None:
        """Ends the running prompt: asks the agent, answers its pending question as cancelled, and kills the
        process group when it does not end within the grace. Does nothing when no prompt runs."""
        ...

    async def close(self) -> None:
        """Ends the process and its group, by force if need be. Safe to call twice."""
        ...


class Runtime(Protocol):
    def knows(self, agent: str) -> bool:
        """Whether an agent of that name is configured."""
        ...

    def embeds(self, agent: str) -> bool:
        """Whether peer text is embedded for it, because it has no tools (DESIGN §5)."""
        ...

    def definition(self, agent: str) -> Definition | None:
        """How an agent of that name is defined now, or None where none is."""
        ...

    async def start(self, launch: Launch, born: Callable[[Process], Awaitable[None]]) -> Agent:
        """Starts the agent and opens or resumes its context. Raises `StartFailed`. Its process is given to `born`
        before anything is said to it."""
        ...

    async def end(self, process: Process) -> None:
        """Makes sure that a process of an earlier bridge and its group are gone. Does nothing when another
        process has its pid by now."""
        ...


class StartFailed(Exception):
    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.detail)
        self.failure = failure
