"""The runtime: what starts an agent and runs one prompt of it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from bridge.history import History
from bridge.ids import SessionId, TurnId
from bridge.launching import NO_OPTIONS, Definition, Options
from bridge.message import Attachment
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
    With `to_show`, its history is to be relied on, and so waited for with more patience. `definition` is how the agent
    was defined when the session got its settings, where it is to be started so: it never gets more than it would by the
    definition of now. `seal` is what the agent is known by to whoever adopts it later, and no secret."""

    session: SessionId
    agent: str
    cwd: str
    alias: str | None
    secrets: Mapping[str, str] = field(default_factory=dict)
    to_show: bool = False
    options: Options = NO_OPTIONS
    definition: Definition | None = None
    seal: str = ""


@dataclass(frozen=True, slots=True)
class Execution:
    """The turn that a prompt belongs to, and the epoch under which its bridge holds that turn."""

    turn: TurnId
    epoch: int


@dataclass(frozen=True, slots=True)
class Left:
    """A process that an agent's tools have left running in a process session of its own."""

    process: Process
    name: str


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


@dataclass(frozen=True, slots=True)
class Compressed:
    """The agent goes on with the same work under another id of its context."""

    alias: str


Event = Text | Thought | ToolBegun | ToolEnded | Compressed


class Listener(Protocol):
    """What a running prompt tells. Calls come one after the other; the agent waits for none but `asked`."""

    async def happened(self, event: Event, number: int = 0) -> None:
        """Where its `number` is not 0, the event is kept until this returns, and told again to whoever takes over
        before. Numbers rise."""
        ...

    async def asked(self, question: Question) -> Answer: ...


@dataclass(frozen=True, slots=True)
class Prompt:
    """`words` are a person's own, `notice` the bridge's fixed one; `embedded` are peer messages as resource
    blocks of their own, for agents without tools. `attachments` came along with the person's words: the notice names
    the files among them, and what they hold is data. A prompt never mixes peer text into `words` or `notice`.

    `author` is the session whose mail is its cause: attribution for the agent's own records, which grants nothing and
    stands in none of its texts.

    `mode` is the agent's mode in which it runs, or else not at all: that is a `config` failure. Without it the agent is
    in its own. Of one `execution` there is one prompt, however often it is sent."""

    words: str | None = None
    notice: str | None = None
    embedded: Sequence[str] = ()
    attachments: Sequence[Attachment] = ()
    mode: str | None = None
    author: SessionId | None = None
    execution: Execution | None = field(default=None, compare=False)

    @property
    def parts(self) -> Sequence[str]:
        """Its texts in the order in which an agent gets them: what others wrote after the notice that tells of it."""
        of_others = (one.written for one in self.attachments)
        return [part for part in (self.notice, *self.embedded, *of_others, self.words) if part]

    def check(self) -> None:
        """Raises `ValueError` where an agent could take the bridge's or a peer's text for a command of its own, or a
        peer's for its user's: a notice that begins with `/`, or what others wrote without a notice before it."""
        if (self.notice or "").lstrip().startswith("/"):
            raise ValueError("a notice must not begin with /")
        if self.embedded and not self.notice:
            raise ValueError("embedded messages need a notice before them")
        if self.attachments and not self.notice:
            raise ValueError("attachments need a notice before them")
        if not self.parts:
            raise ValueError("a prompt needs something to say")


@dataclass(frozen=True, slots=True)
class Result:
    """How a prompt ended. `final` is the visible text after the last tool call. A result with `failure` is
    no answer, whatever its text. `cancelled` says that a cancel ended it. An `unsure` failure says that nobody knows
    how far the prompt came: the agent may have begun tools of which it could not tell any more. One that is `unbegun`
    never came to the agent's model: its inputs wait again, and it counts as no attempt. It is as the agent has
    it: `bridge.results.bounded` makes it one that can be kept."""

    final: str
    stop_reason: str
    failure: Failure | None = None
    cancelled: bool = False
    usage: Usage | None = None
    unsure: bool = False
    unbegun: bool = False


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
    def seal(self) -> str:
        """What it was launched under."""
        ...

    @property
    def left(self) -> Sequence[Left]:
        """What earlier turns of its session have left running, as it was when the agent was started; once it was
        prompted, nothing."""
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
        the result. When the caller is cancelled, the agent's state is unknown: close it, or leave it. Of an earlier
        prompt nothing has to be told again then. Raises `ValueError` for a prompt that does not pass its own check."""
        ...

    async def rejoin(self, listener: Listener, after: int) -> Result | None:
        """Goes on with the prompt at which the agent was adopted. Tells what has happened since the event of the
        number `after`, as `prompt` would. None where its process has ended and left no result."""
        ...

    async def forget(self) -> None:
        """The end of the last prompt is stored: nothing of it has to be told again."""
        ...

    async def cancel(self, grace_s: float) -> None:
        """Ends the running prompt: asks the agent, answers its pending question as cancelled, and kills the
        process group when it does not end within the grace. Does nothing when no prompt runs."""
        ...

    async def close(self) -> None:
        """Ends the process and its group, by force if need be. Safe to call twice."""
        ...

    async def leave(self) -> None:
        """The bridge ends. Closes the agent, unless a prompt of it runs that a later bridge may adopt."""
        ...


class Runtime(Protocol):
    def knows(self, agent: str) -> bool:
        """Whether an agent of that name is configured."""
        ...

    def names(self) -> Sequence[str]:
        """The names of those that are configured, in their order."""
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

    async def adopt(self, launch: Launch, process: Process, execution: Execution, after: int) -> Agent | None:
        """The agent that an earlier bridge left at work on `execution`, or what is recorded of its work if it has
        ended: then it is not alive. `execution` has a higher epoch than that of the earlier bridge, which can tell it
        nothing any more; `launch` is what it was started with, but for secrets. None where nothing is there, or it is
        another's. All events up to the number `after` have been stored."""
        ...

    async def end(self, process: Process) -> None:
        """Makes sure that a process of an earlier bridge and its group are gone. Does nothing when another
        process has its pid by now."""
        ...


class StartFailed(Exception):
    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.detail)
        self.failure = failure
