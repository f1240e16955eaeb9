"""The directory: sessions as they are looked up and shown, and who may see whom."""

from collections.abc import Sequence
from dataclasses import replace

from bridge.admission import unknown_session
from bridge.caller import Caller
from bridge.errors import Code, Refused
from bridge.flow.agents import Agents
from bridge.flow.current import Current
from bridge.flow.governance import Governance
from bridge.flow.kin import line_of, lines_among
from bridge.flow.ledger import Ledger
from bridge.flow.steering import in_effect
from bridge.flow.terminals import Terminals
from bridge.ids import Place, SessionId, address, profile_of
from bridge.launching import HIDDEN_LABELS
from bridge.lineage import kin, seen
from bridge.message import Origin
from bridge.session import Kind, Session
from bridge.turn import Turn
from bridge.views import SessionView


class Directory:
    """`profile` is the one whose sessions it tells of, but for those of others that a rule lets a caller see."""

    def __init__(
        self,
        ledger: Ledger,
        governance: Governance,
        agents: Agents,
        current: Current,
        profile: str,
        terminals: Terminals,
    ) -> None:
        self._ledger = ledger
        self._governance = governance
        self._agents = agents
        self._current = current
        self._terminals = terminals
        self.profile = profile

    async def sessions(
        self,
        caller: Caller,
        *,
        active: bool = False,
        every: bool = False,
        limit: int = 50,
        cursor: str | None = None,
        children: bool = True,
    ) -> tuple[list[SessionView], str | None]:
        """The sessions that the caller may discover, by id, with `children` or without, and the cursor of the next page
        if there is one. People are not shown those whose label says that nobody looks for them, unless `every` one is
        asked for."""
        limit = max(1, min(limit, 500))
        idents = await self.discoverable(caller)
        views = [
            view
            for view in await self._views(idents)
            if (children or view.parent is None)
            and (not active or view.live or view.activity != "idle" or view.unsettled)
        ]
        if caller.origin is Origin.USER and not every:
            views = [view for view in views if view.label not in HIDDEN_LABELS]
        start = next((index for index, view in enumerate(views) if cursor is not None and view.id > cursor), None)
        if cursor is not None:
            views = views[start:] if start is not None else []
        page = views[:limit]
        return page, page[-1].id if len(views) > limit else None

    async def find(self, name: str) -> Session:
        """For people: by id, handle or title. Raises `unknown_session`, or `invalid_request` with the choices
        where several have that title."""
        session, rest = await self.addressed(name)
        if rest:
            raise _unknown()
        return session

    async def addressed(self, text: str) -> tuple[Session, str]:
        """The session with whose id, handle or title a text begins, and what follows. Raises as `find` does."""
        name, rest = _split(text.strip().removeprefix("@").removeprefix("session:"), 1)
        ident = address(name, self.profile)
        session = await self._ledger.store.session(ident) if ident else None
        if session is not None and profile_of(session.id) == self.profile:
            return session, rest
        titled = await self._titled(text.strip().removeprefix("@"))
        if not titled:
            raise _unknown()
        if len(titled) > 1:
            choices, title = ", ".join(one.id for one, _ in titled), titled[0][0].title
            raise Refused(Code.INVALID_REQUEST, f"several sessions are called {title!r}", remedy=f"Choose: {choices}")
        return titled[0]

    async def _titled(self, text: str) -> list[tuple[Session, str]]:
        """The open sessions with whose title a text begins; of titles that begin alike the longest are meant. An agent
        that chose the title of a child so that people's words came to it would find none."""
        found: dict[int, list[tuple[Session, str]]] = {}
        for session in await self._ledger.store.sessions():
            words = session.title.casefold().split()
            begin, rest = _split(text, len(words))
            mine = profile_of(session.id) == self.profile and session.closed_at is None and session.parent is None
            if mine and words and begin.casefold().split() == words:
                found.setdefault(len(words), []).append((session, rest))
        return found[max(found)] if found else []

    async def view(self, session: SessionId) -> SessionView:
        return (await self._views([session]))[0]

    def preview(self, session: Session, places: Sequence[Place]) -> SessionView:
        """As it would be shown, before it is there: nothing reaches it yet."""
        return replace(self._view(session, None, places, 0), reachable="none")

    async def open_sessions(self) -> list[SessionId]:
        """Those of the profile that are not closed, by id."""
        every = await self._ledger.store.sessions()
        return [one.id for one in every if one.closed_at is None and profile_of(one.id) == self.profile]

    async def outdated(self, idents: Sequence[SessionId]) -> int:
        """How many of these run on older settings."""
        wanted = set(idents)
        every = await self._ledger.store.sessions()
        return sum(one.id in wanted and self._current.outdated(one) for one in every)

    async def discoverable(self, caller: Caller) -> list[SessionId]:
        """The open sessions that the caller is shown, its own among them, by id: hidden ones to people only."""
        if caller.origin is Origin.USER:
            return await self.open_sessions()
        viewer = await self._ledger.store.session(caller.session)
        if viewer is None:
            return []
        every = [one for one in await self._ledger.store.sessions() if one.closed_at is None]
        policy = await self._governance.policy(await self._ledger.regime())
        line = await line_of(self._ledger.store.session, viewer)
        found = seen(policy, line, lines_among(every), self._ledger.clock.now())
        shown = (one for one in every if one.id in found and (not one.habits.hidden or kin(one, viewer)))
        return sorted({viewer.id, *(one.id for one in shown)})

    async def _views(self, idents: Sequence[SessionId]) -> list[SessionView]:
        turns = {turn.session: turn for turn in await self._ledger.store.live_turns()}
        unsettled = await self._ledger.store.unsettled()
        wanted = set(idents)
        views = []
        for session in await self._ledger.store.sessions():
            if session.id in wanted:
                bound = await self._ledger.store.places(session.id)
                places = [binding.place for binding in bound if binding.gone_at is None]
                views.append(self._view(session, turns.get(session.id), places, unsettled.get(session.id, 0)))
        return views

    def _view(self, session: Session, turn: Turn | None, places: Sequence[Place], unsettled: int) -> SessionView:
        if turn is not None:
            activity = "tool_running" if turn.tools_begun else "thinking"
        else:
            activity = "errored" if session.paused is not None else self._terminals.activity(session.id)
        if session.closed_at is not None:
            reachable = "none"
        else:
            starts = (session.runs and self._agents.present(session)) or self._terminals.listens(session.id)
            reachable = "wake" if starts and session.habits.accept_wake else "pull"
        in_terminal = session.kind is Kind.TERMINAL and not session.runs
        return SessionView(
            id=session.id,
            title=session.title,
            kind=session.kind,
            activity=activity,
            live=self._agents.live(session.id) or self._terminals.live(session.id),
            task=None,
            cwd=session.cwd,
            project=session.project,
            branch=None,
            places=tuple(places),
            last_seen=session.last_seen,
            unsettled=unsettled,
            reachable=reachable,
            busy=self._terminals.busy(session) if in_terminal else in_effect(session, self._agents),
            agent=session.answers,
            label=session.options.label,
            outdated=self._current.outdated(session),
            parent=session.parent,
        )


def _split(text: str, words: int) -> tuple[str, str]:
    """So many words, with single spaces, and what follows them."""
    parts = text.split(maxsplit=words)
    return " ".join(parts[:words]), parts[words].strip() if len(parts) > words else ""


def _unknown() -> Refused:
    return Refused(Code.UNKNOWN_SESSION, unknown_session().reason, remedy="See /sessions.")
