"""What a session's agents are started with, and what of it is frozen once the session is there (DESIGN §8)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bridge.errors import Code, Refused

HIDDEN_LABELS = frozenset({"oneshot", "tool", "cron"})
"""Labels of what nobody looks for by hand: sessions with one are in no list for people, unless all are asked for."""

TOOL_SERVER = "tieline"
"""The name of the bridge's own MCP server, which no other can have."""

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}\Z")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_MOST = {"servers": 16, "files": 16, "fallback": 8}
_WORD_CHARS = 200
_PREAMBLE_CHARS = 20_000


@dataclass(frozen=True, slots=True)
class Server:
    """An MCP server that a session's agent gets beside the bridge's own. `env_pass` names variables of the agent's own
    environment that it gets; nothing else."""

    name: str
    command: tuple[str, ...]
    env_pass: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Options:
    """As a person chooses them for one session; what is left out is as the agent has it.

    `model` and `mode` are such as the agent offers. `preamble` and the content of `files`, paths within the working
    directory, come before the first prompt of each new context. `hooks` consents to the hooks that the user has set up
    for the agent; with `safe` it gets nothing of the user's own configuration. `label` tells what made the session.
    `fallback` are the agents that answer, one after the other, while those before them cannot.
    """

    model: str | None = None
    mode: str | None = None
    preamble: str | None = None
    servers: tuple[Server, ...] = ()
    files: tuple[str, ...] = ()
    hooks: bool = False
    safe: bool = False
    label: str | None = None
    fallback: tuple[str, ...] = ()


NO_OPTIONS = Options()


@dataclass(frozen=True, slots=True)
class Definition:
    """How the operator's file defines an agent. Of its environment only the names: values may be secrets, and one that
    was changed reaches every session. `hooks_env` is what tells it of the consent to hooks, `safe_env` what keeps it
    from the user's configuration, beside a home of its own."""

    agent: str
    command: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    env_pass: tuple[str, ...] = ()
    embed: bool = False
    hooks_env: tuple[str, ...] = ()
    safe_env: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Frozen:
    """What a session was made with: its options, and how its agents were defined then. A change of the file reaches it
    with its next fresh context."""

    options: Options = Options()
    definitions: tuple[Definition, ...] = ()

    def definition(self, agent: str) -> Definition | None:
        return next((one for one in self.definitions if one.agent == agent), None)


@dataclass(frozen=True, slots=True)
class Creation:
    """By which key a session was made, whose key that is, and a digest of all that was asked for."""

    by: str
    key: str
    body: str


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with the value of an option; `what` goes on after its name."""

    option: str
    what: str
    remedy: str


def options_from(kept: Mapping[str, Any]) -> Options:
    """Of what `dataclasses.asdict` made of them, and JSON of that."""
    servers = (Server(one["name"], tuple(one["command"]), tuple(one["env_pass"])) for one in kept["servers"])
    lists = {name: tuple(kept[name]) for name in ("files", "fallback")}
    return Options(**{**kept, **lists, "servers": tuple(servers)})


def problems(options: Options, *, agent: str | None, cwd: str | None) -> Iterator[Problem]:
    """All that can be told without a look at agents and files."""
    if agent is None:
        given = [name for name in Options.__slots__ if getattr(options, name) != getattr(NO_OPTIONS, name)]
        for name in (name for name in given if name != "label"):
            yield Problem(name, "is of an agent, and the session has none", "remove it, or give the session an agent")
        if options.label is not None:
            yield from _label(options.label)
        return
    for name in ("model", "mode"):
        value = getattr(options, name)
        if value is not None and (not value.strip() or not value.isprintable() or len(value) > _WORD_CHARS):
            yield Problem(name, f"should be a name of at most {_WORD_CHARS} characters", "write it as the agent has it")
    for name, most in _MOST.items():
        if len(getattr(options, name)) > most:
            yield Problem(name, f"has more than {most}", "leave some out")
    if options.preamble is not None:
        yield from _preamble(options.preamble)
    yield from _servers(options.servers)
    for file in options.files:
        yield from _file(file)
    if options.safe and cwd is None:
        yield Problem("safe", "takes a working directory: your home holds your configuration", "add a cwd")
    if options.label is not None:
        yield from _label(options.label)
    if agent in options.fallback or len({*options.fallback}) < len(options.fallback):
        yield Problem("fallback", "names an agent twice", "name each once, and not the session's own")


def check(options: Options, *, agent: str | None, cwd: str | None) -> None:
    """Raises `invalid_request` for the first problem."""
    for one in problems(options, agent=agent, cwd=cwd):
        remedy = f"{one.remedy[0].upper()}{one.remedy[1:]}."
        raise Refused(Code.INVALID_REQUEST, f"{one.option} {one.what}", remedy=remedy)


def _preamble(text: str) -> Iterator[Problem]:
    if not text.strip():
        yield Problem("preamble", "is empty", "leave it out")
    elif text.lstrip().startswith("/"):
        yield Problem("preamble", "begins with /, which agents take for a command", "begin it with a word")
    elif len(text) > _PREAMBLE_CHARS:
        remedy = "put the rest into a file, and name that in files"
        yield Problem("preamble", f"has more than {_PREAMBLE_CHARS} characters", remedy)


def _servers(servers: tuple[Server, ...]) -> Iterator[Problem]:
    names = [server.name for server in servers]
    if len({*names}) < len(names):
        yield Problem("servers", "names a server twice", "give each a name of its own")
    for server in servers:
        if server.name == TOOL_SERVER:
            yield Problem("servers", f"names one {TOOL_SERVER}, as the bridge's own is named", "name it otherwise")
        elif not _NAME.match(server.name):
            yield Problem("servers", f"has {server.name[:80]!r}, which is no name", "use a-z, 0-9 and -")
        if not server.command or not server.command[0].strip() or "\0" in "".join(server.command):
            yield Problem("servers", f"has no command for {server.name[:80]}", "name the program that it is")
        for name in server.env_pass:
            if not _VARIABLE.match(name) or name.startswith("TIELINE_"):
                what = f"would pass {name[:80]!r} to {server.name[:80]}"
                yield Problem("servers", what, "name variables of the agent's own environment")


def _file(path: str) -> Iterator[Problem]:
    outside = not path.strip("./ ") or path.startswith(("/", "~")) or ".." in path.split("/")
    if outside or not path.isprintable() or len(path) > 4 * _WORD_CHARS:
        yield Problem(
            "files", f"has {path[:80]!r}, which is no path within the working directory", "write docs/plan.md"
        )


def _label(label: str) -> Iterator[Problem]:
    if not _NAME.match(label):
        yield Problem("label", f"{label[:80]!r} is no label", "use 1 to 63 of a-z, 0-9 and -")
