"""The settings that hold now: new sessions get them, and others with their next fresh context (DESIGN §8)."""

from collections.abc import Mapping
from dataclasses import replace

from bridge.flow.agents import Agents
from bridge.ids import SessionId
from bridge.launching import Frozen, Options
from bridge.session import Declared, Session


class Current:
    """What the operator's file says last of sessions and agents. Only what it takes away reaches a session at once."""

    def __init__(self, agents: Agents) -> None:
        self._agents = agents
        self._declared: Mapping[SessionId, Declared] = {}

    def declare(self, declared: Mapping[SessionId, Declared]) -> None:
        self._declared = declared

    def applied(self, session: Session) -> Session:
        """The session with the settings of now, whatever it was made with."""
        said = self._declared.get(session.id)
        if said is not None:
            return self.frozen(replace(session, agent=said.agent, cwd=said.cwd), said.options)
        return self.frozen(session, session.options)

    def frozen(self, session: Session, options: Options) -> Session:
        """The session with these options, and its agents as they are defined now. Of one that is unknown now, what was
        known of it stays: it cannot be started by that."""
        earlier = session.frozen or Frozen()
        names = (session.agent, *options.fallback) if session.agent is not None else ()
        known = (self._agents.definition(name) or earlier.definition(name) for name in names)
        return replace(session, frozen=Frozen(options, tuple(one for one in known if one is not None)))

    def outdated(self, session: Session) -> bool:
        """Whether it would get other settings with a fresh context."""
        now = self.applied(session)
        return session.runs and (now.agent, _compared(now)) != (session.agent, _compared(session))

    def held_to(self, session: Session, declared: Declared) -> Session:
        """The session after the file was read again: as it was made, less what the file has taken away since, and in
        the directory of now. What cannot run as it was made is set right at once."""
        session = replace(session, cwd=declared.cwd)
        stands = session.frozen is not None and session.runs and declared.agent is not None and session.paused is None
        if session.frozen is None or not stands:
            return self.frozen(replace(session, agent=declared.agent), declared.options)
        said, options = declared.options, session.frozen.options
        servers = {server.name for server in said.servers}
        left = replace(
            options,
            label=said.label,
            hooks=options.hooks and said.hooks,
            servers=tuple(one for one in options.servers if one.name in servers),
            fallback=tuple(one for one in options.fallback if one in said.fallback),
        )
        return self.completed(replace(session, frozen=replace(session.frozen, options=left)))

    def completed(self, session: Session) -> Session:
        """With the definition of each agent of its that was not known so far, as one that had to be accepted first."""
        if session.frozen is None:
            return session
        known = {one.agent for one in session.frozen.definitions}
        every = (session.agent, *session.options.fallback) if session.agent is not None else ()
        found = [self._agents.definition(name) for name in every if name not in known]
        more = tuple(one for one in found if one is not None)
        if not more:
            return session
        return replace(session, frozen=replace(session.frozen, definitions=(*session.frozen.definitions, *more)))


def _compared(session: Session) -> object:
    """Whatever became of its agents' order meanwhile."""
    frozen = session.frozen or Frozen()
    return replace(frozen.options, label=None), frozenset(frozen.definitions)
