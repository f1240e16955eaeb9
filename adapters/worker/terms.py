"""What a bridge and a worker say to each other beside events (`codec` carries it)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bridge.history import History
from bridge.ports.runtime import Context, Execution, Launch, Left, Result
from bridge.turn import Process


@dataclass(frozen=True, slots=True)
class Start:
    """`order` says how the agent is started, to whoever starts it. `grace_s` is how long a turn goes on without a
    bridge. `log` is the file for what the agent writes to stderr, from which the values in `hidden` are kept."""

    name: str
    folder: str
    launch: Launch
    order: Mapping[str, Any]
    grace_s: float
    log: str
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ready:
    """An agent that can be prompted, or goes on with its prompt."""

    process: Process
    alias: str
    context: Context
    seal: str
    history: History = field(default_factory=History)
    left: tuple[Left, ...] = ()
    opening: tuple[str, ...] = ()
    alive: bool = True


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose work it is. `alias` is the agent's id of its context, the target of the prompt."""

    session: str
    agent: str
    cwd: str
    alias: str | None


@dataclass(frozen=True, slots=True)
class Claim:
    """A bridge wants to adopt the worker of a turn, of which it has stored all events up to `after`."""

    execution: Execution
    scope: Scope
    after: int


@dataclass(frozen=True, slots=True)
class Header:
    """What a journal begins with."""

    execution: Execution
    scope: Scope
    name: str
    worker: Process
    ready: Ready


@dataclass(frozen=True, slots=True)
class Done:
    """The end of a prompt, whether its agent can be prompted again, and whether it was sent the prompt at all."""

    result: Result
    alive: bool = True
    prompted: bool = True


def scope_of(launch: Launch, alias: str | None) -> Scope:
    return Scope(launch.session, launch.agent, launch.cwd, alias)
