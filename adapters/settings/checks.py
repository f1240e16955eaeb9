"""What must fit between the keys.

These checks read the sources as they are, so that they also speak when other keys are wrong; what has the
wrong form is the schema's to report, and is passed over here.
"""

from collections.abc import Iterator

from adapters.settings.addresses import telegram_chat
from adapters.settings.command_checks import command_problems
from adapters.settings.explain import dotted
from adapters.settings.problems import Problem, choice
from adapters.settings.sources import Key, Sources
from bridge.ids import SHELL
from bridge.quiet import leave_time
from bridge.session import Kind

_OF_ITS_AGENT = (
    "agent", "peer_tools", "peer_mode", "model", "mode", "preamble", "servers", "files", "hooks", "safe", "fallback"
)  # fmt: skip
"""What a session whose agent the bridge starts may have, and a gateway's not."""


def problems_between(sources: Sources) -> Iterator[Problem]:
    for check in (
        _agents_start,
        command_problems,
        _agents_exist,
        _shell_is_a_shell,
        _gateways_run_their_own,
        _agents_are_there,
        _quiet_ends,
        _places_are_bound_once,
        _chats_are_heard,
        _one_token,
    ):
        yield from check(sources)


def _agents_start(sources: Sources) -> Iterator[Problem]:
    for name in sources.keys("agents"):
        if not {"preset", "command"} & set(sources.keys("agents", name)):
            yield _problem(
                sources, ("agents", name), "has neither preset nor command", 'write preset = "…" or command = ["…"]'
            )


def _agents_exist(sources: Sources) -> Iterator[Problem]:
    known = sources.keys("agents")
    for handle in sources.keys("sessions"):
        agent = sources.get("sessions", handle, "agent")
        if isinstance(agent, str) and agent not in known:
            remedy = choice(agent, known) if known else f"add a table [agents.{agent}]"
            yield _problem(sources, ("sessions", handle, "agent"), f"has the unknown agent {agent!r}", remedy)


def _shell_is_a_shell(sources: Sources) -> Iterator[Problem]:
    path = ("sessions", SHELL)
    if SHELL in sources.keys("sessions"):
        agent, kind = sources.get(*path, "agent"), sources.get(*path, "kind")
        if agent is not None or kind not in (None, Kind.SHELL):
            yield _problem(sources, path, "always exists, for commands in a shell", "choose another handle")


def _gateways_run_their_own(sources: Sources) -> Iterator[Problem]:
    for handle in sources.keys("sessions"):
        path = ("sessions", handle)
        if sources.get(*path, "kind") != Kind.GATEWAY:
            continue
        for key in _OF_ITS_AGENT:
            if sources.get(*path, key) is not None:
                what = "is of agents that the bridge runs, and a gateway runs its sessions itself"
                yield _problem(sources, (*path, key), what, "remove it; its own settings may have one like it")
        if sources.get(*path, "places") is None:
            what = "names no place, and a gateway's session is told by its place"
            yield _problem(sources, path, what, 'add places = ["NAME:KEY"], as tieline sessions --json shows it')


def _agents_are_there(sources: Sources) -> Iterator[Problem]:
    for handle in sources.keys("sessions"):
        if sources.get("sessions", handle, "kind") == Kind.GATEWAY:
            continue
        for key in ("busy", "peer_tools", "peer_mode"):
            if sources.get("sessions", handle, key) is not None and sources.get("sessions", handle, "agent") is None:
                what = "is of turns, and the session has no agent"
                yield _problem(sources, ("sessions", handle, key), what, "remove it, or give the session an agent")


def _quiet_ends(sources: Sources) -> Iterator[Problem]:
    for handle in sources.keys("sessions"):
        given = [each for _, each in sources.items("sessions", handle, "quiet") if isinstance(each, str)]
        try:
            ends = leave_time(given)
        except ValueError:
            continue
        if not ends:
            what = "leaves no time of the day"
            yield _problem(sources, ("sessions", handle, "quiet"), what, "shorten it, or write accept_wake = false")


def _places_are_bound_once(sources: Sources) -> Iterator[Problem]:
    bound: dict[str, str] = {}
    for path, place in _places(sources):
        if place in bound:
            yield _problem(sources, path, f"binds {place} again", f"remove it here or {bound[place]}")
        bound.setdefault(place, f"at {sources.where(*path)}")


def _chats_are_heard(sources: Sources) -> Iterator[Problem]:
    heard = {str(number) for key in ("chats", "operators", "users") for _, number in sources.items("telegram", key)}
    for path, place in _places(sources):
        chat = telegram_chat(place)
        if chat is None or str(chat) in heard:
            continue
        if sources.get("telegram") is None:
            yield _problem(sources, path, f"has {place}, but Telegram is not set up", "add [telegram] with a token")
        else:
            listed = "chats" if chat < 0 else "users"
            yield _problem(sources, path, f"has {place}, where nobody is heard", f"add {chat} to telegram.{listed}")


def _one_token(sources: Sources) -> Iterator[Problem]:
    if sources.get("telegram") is None:
        return
    if not {"token", "token_file"} & set(sources.keys("telegram")):
        yield _problem(sources, ("telegram",), "has no token", "write token_file, or set TIELINE_TELEGRAM__TOKEN")
    for table, name in ((("telegram",), "token"), (("telegram", "webhook"), "secret")):
        named = (*table, f"{name}_file")
        if sources.line(*table, name) and sources.line(*named):
            yield _problem(sources, named, f"is there beside {name}", "remove one of them")


def _places(sources: Sources) -> Iterator[tuple[Key, str]]:
    for handle in sources.keys("sessions"):
        for index, place in sources.items("sessions", handle, "places"):
            if isinstance(place, str):
                yield ("sessions", handle, "places", index), place


def _problem(sources: Sources, path: Key, what: str, remedy: str) -> Problem:
    return Problem(sources.where(*path), f"{dotted(path)} {what}", remedy)
