"""The sessions that a settings file declares, as the rules know them."""

from collections.abc import Mapping
from difflib import get_close_matches

from adapters.settings.model import Settings
from bridge.decision import Effect, Party, Verb
from bridge.errors import Code, Refused
from bridge.ids import SHELL, SessionId, address, handle_of, profile_of, session_id
from bridge.session import AGENT_TAG, Kind, agent_tag
from policy.selectors import by_name, within_profile


def parties(settings: Settings) -> dict[SessionId, Party]:
    """Those that the file declares, and the shell's. Those made at run time are in no file."""
    shell = session_id(settings.profile, SHELL)
    declared = {one.id: Party(one.id, one.kind, one.project, frozenset(one.tags)) for one in settings.sessions}
    return {shell: Party(shell, Kind.SHELL), **declared}


def children(settings: Settings) -> list[Party]:
    """What rules are about that is still to be spawned: of every agent, in every project that there is. What is denied
    to all is not about children."""
    about = {
        each
        for rule in settings.rules
        for each in rule.recipients
        if Verb.SPAWN in rule.verbs and (rule.effect is not Effect.DENY or ":" in each)
    }
    projects = dict.fromkeys(one.project for one in settings.sessions)
    every = [child(agent, settings.profile, project) for agent in settings.agents for project in projects]
    return [one for one in every if about.intersection((*by_name(one), *within_profile(one)))]


def child(agent: str, profile: str, project: str | None) -> Party:
    """A child that is to be spawned for that agent. Its id is not known before, and no selector can name it."""
    return Party(SessionId(f"{profile}/{agent}-*"), Kind.TOOL, project, frozenset({agent_tag(agent)}))


def spawned(text: str, settings: Settings, sender: Party) -> Party | None:
    """What `agent:NAME` names: the child that the sender would spawn. Raises `Refused` for an agent that is none."""
    if not text.startswith(AGENT_TAG):
        return None
    agent = text.removeprefix(AGENT_TAG)
    if agent not in settings.agents:
        remedy = f"It has {', '.join(sorted(settings.agents)) or 'none'}."
        raise Refused(Code.INVALID_REQUEST, f"the file declares no agent {agent!r}", remedy=remedy)
    return child(agent, settings.profile, sender.project)


def named(text: str, profile: str, known: Mapping[SessionId, Party]) -> Party:
    """The session of that id or handle. Of one of another profile nothing but its id counts, for nothing else is
    matched from there. Raises `Refused`."""
    ident = address(text, profile)
    if ident is not None and ident in known:
        return known[ident]
    if ident is not None and profile_of(ident) != profile:
        return Party(ident, Kind.CHAT)
    close = get_close_matches(text, [name for one in known for name in (one, handle_of(one))], n=1)
    remedy = f"Did you mean {close[0]}?" if close else f"It has {', '.join(sorted(map(handle_of, known)))}."
    raise Refused(Code.UNKNOWN_SESSION, f"the file declares no session {text!r}", remedy=remedy)
