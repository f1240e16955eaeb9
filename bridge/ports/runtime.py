"""The runtime: what starts an agent and runs one prompt of it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from bridge.history import History
from bridge.ids import SessionId
from bridge.question import Answer, Question
from bridge.turn import Failure, Process, Usage


class Context(StrEnum):
    """What an agent knows when it has been started."""

    NEW = "new"
    RESUMED = "resumed"
    LOST = "lost"
    """An earlier context was asked for and is gone; people must be told."""


@dataclass(frozen=True, slots=True)
class Launch:
    """What a session's agent is started with. `secrets` are the environment of its tool server, and go nowhere else.
    With `to_show`, its history is to be relied on, and so waited for with more patience."""

    session: SessionId
    agent: str
    cwd: str
    alias: str | None
    secrets: Mapping[str, str] = field(default_factory=dict)
    to_show: bool = False


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
    of the bridge's own reading tools, which change nothing. `title` says what it does to people. `arguments` is JSON
    text without secrets, cut to size."""

    id: str
    name: str
    reading: bool
    title: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """Title and arguments are the newest: some agents give them late. `result` is text or JSON text, as `arguments`
    is. One that is not `ok` has failed."""

    id: str
    ok: bool
    name: str = ""
    title: str = ""
    arguments: str = ""
    result: str = ""


Event = Text | Thought | ToolBegun | ToolEnded


class Listener(Protocol):
    """What a running prompt tells. Calls come one after the other; the agent waits for none but `asked`."""

    async def happened(self, event: Event) -> None: ...

    async def asked(self, question: Question) -> Answer: ...


@dataclass(frozen=True, slots=True)
class Prompt:
    """`words` are a person's own, `notice` the bridge's fixed one; `embedded` are peer messages as resource
    blocks of their own, for agents without tools. A prompt never mixes peer text into `words` or `notice`.

    `author` is the session whose mail is its cause: attribution for the agent's own records, which grants nothing and
    stands in none of its texts.

    `mode` is the agent's mode in which it runs, or else not at all: that is a `config` failure. Without it the agent is
    in its own."""

    words: str | None = None
    notice: str | None = None
    embedded: Sequence[str] = ()
    mode: str | None = None
    author: SessionId | None = None

    @property
    def parts(self) -> Sequence[str]:
        """Its texts in the order in which an agent gets them: peers' messages after the notice that tells of them."""
        return [part for part in (self.notice, *self.embedded, self.words) if part]


@dataclass(frozen=True, slots=True)
class Result:
    """How a prompt ended. `final` is the visible text after the last tool call. A result with `failure` is
    no answer, whatever its text. `cancelled` says that a cancel ended it. It is as the agent has it:
    `bridge.results.bounded` makes it one that can be kept."""

    final: str
    stop_reason: str
    failure: Failure | None = None
    cancelled: bool = False
    usage: Usage | None = None


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
