"""The directory: which sessions there are, where people reach them, and who may see whom."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from bridge.admission import unknown_session
from bridge.caller import Caller
from bridge.decision import party
from bridge.errors import Code, Refused
from bridge.flow.agents import Agents
from bridge.flow.control import hasten
from bridge.flow.governance import Governance
from bridge.flow.ledger import Ledger, Work
from bridge.flow.settlement import close, settle
from bridge.flow.steering import in_effect
from bridge.flow.turns import Turns
from bridge.ids import Place, SessionId, address, profile_of, session_id
from bridge.ids import place as parse_place
from bridge.message import Origin, Outcome
from bridge.request import Answer
from bridge.session import Binding, Busy, Kind, PeerTools, Session, Source
from bridge.turn import Turn
from bridge.views import SessionView

SHELL = "shell"
"""The handle of the session that every profile has for its shells."""


@dataclass(frozen=True, slots=True)
class Declared:
    """A session as the operator's file declares it."""

    handle: str
    title: str
    kind: Kind
    agent: str | None = None
    cwd: str | None = None
    project: str | None = None
    tags: tuple[str, ...] = ()
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
    places: tuple[Place, ...] = ()


class Directory:
    def __init__(self, ledger: Ledger, governance: Governance, agents: Agents, turns: Turns, profile: str) -> None:
        self._ledger = ledger
        self._governance = governance
        self._agents = agents
        self._turns = turns
        self.profile = profile

    # Making and closing

    async def declare(self, declared: Sequence[Declared]) -> None:
        """Brings the store to what the file says: sessions in it are open, those that have left it are closed,
        and its places are bound. What was made at run time stays. Whatever was paused is tried again: the file, or
        what it stands on, may have been set right."""
        shell = Declared(SHELL, "Shell", Kind.SHELL)
        every = [*declared, *([] if any(one.handle == SHELL for one in declared) else [shell])]
        attempts = count()
        await self._ledger.do(lambda work: self._declare(work, every, again=next(attempts) > 0))

    async def _declare(self, work: Work, declared: Sequence[Declared], *, again: bool) -> None:
        named = {session_id(self.profile, one.handle): one for one in declared}
        stored = {one.id: one for one in await work.store.sessions() if profile_of(one.id) == self.profile}
        for ident, one in named.items():
            known = stored.get(ident)
            if known is None and again:
                # It is there, for it could not be made, but in no list: it is unreadable, and this says so.
                known = await work.session(ident)
            session = _as_declared(known or Session(ident, one.title, one.kind, Source.FILE, work.now), one)
            if session != known:
                work.put(session)
            if known is not None and (known.quiet, known.timezone) != (session.quiet, session.timezone):
                await hasten(work, ident)  # What has to wait by the new hours is put off again.
        await self._declare_places(work, {place: ident for ident, one in named.items() for place in one.places})
        for session in stored.values():
            if session.source is not Source.FILE and session.id not in named and session.paused is not None:
                work.put(replace(session, paused=None))
            elif session.source is Source.FILE and session.id not in named and session.closed_at is None:
                await self._close(work, session)

    async def _declare_places(self, work: Work, places: Mapping[Place, SessionId]) -> None:
        bound = {one.place: one for one in await work.store.bindings()}
        for place, ident in places.items():
            _bind(work, bound.get(place), place, ident, Source.FILE)
        for binding in bound.values():
            mine = binding.session is not None and profile_of(binding.session) == self.profile
            if mine and binding.source is Source.FILE and binding.place not in places:
                work.unbind(binding.place)

    async def new(
        self,
        handle: str,
        *,
        agent: str | None,
        cwd: str | None = None,
        place: str | None = None,
        title: str | None = None,
    ) -> SessionView:
        """Makes a session at run time. Raises `invalid_request` where the handle is or was another session's."""
        ident = session_id(self.profile, handle)
        where = parse_place(place) if place is not None else None
        if agent is not None and not self._agents.configured(agent):
            raise Refused(
                Code.INVALID_REQUEST,
                f"no agent named {agent!r} is configured",
                remedy="Name one of the [agents.*] of tieline.toml.",
            )

        async def body(work: Work) -> None:
            if await work.session(ident) is not None:
                raise Refused(Code.INVALID_REQUEST, f"{ident} exists; a handle is never given to another session")
            kind = Kind.CHAT if agent is not None else Kind.SHELL
            work.put(Session(ident, title or handle, kind, Source.RUNTIME, created_at=work.now, agent=agent, cwd=cwd))
            if where is not None:
                _bind(work, await work.store.binding(where), where, ident, Source.RUNTIME)

        await self._ledger.do(body)
        return await self.view(ident)

    async def bind(self, place: Place, session: SessionId) -> None:
        """Raises `not_permitted` for a place that the operator's file binds to another session."""

        async def body(work: Work) -> None:
            _bind(work, await work.store.binding(place), place, session, Source.RUNTIME)

        await self._ledger.do(body)

    async def _close(self, work: Work, session: Session) -> None:
        """Its mail goes back to its senders, requests to it fail, and its own are withdrawn (DESIGN §7)."""
        work.put(replace(session, closed_at=work.now))
        reason = f"session_closed: {session.id} was closed"
        for message in await work.store.unsettled_of(session.id):
            await settle(work, message, Outcome.FAILED, reason=reason)
        for request in await work.store.open_requests_to(session.id):
            newest = await work.request(request.id)
            if newest is not None and newest.open:
                await close(work, newest, Answer.FAILED, reason=reason)
        for request in await work.store.open_requests_of(session.id):
            newest = await work.request(request.id)
            if newest is not None and newest.open:
                await close(work, newest, Answer.CANCELLED, reason=reason, by_asker=True)

    # Who may speak as whom

    async def caller(self, name: str | None, *, origin: Origin, bound: SessionId | None) -> Caller:
        """The caller that a channel has established: `bound` by a capability to one session, else a person (`user`),
        who may speak as any session of the profile, or a program (`peer`), which may speak as a shell only."""
        if bound is not None and name and address(name, profile_of(bound)) != bound:
            raise Refused(
                Code.NOT_PERMITTED,
                f"this caller is {bound} and can speak as no other session",
                remedy="Leave out the session to speak as: --from and TIELINE_SESSION.",
            )
        if bound is not None:
            turn = self._turns.current(bound)
            if turn is not None:
                return Caller(bound, Origin.PEER, bound=True, turn=turn.id, epoch=turn.epoch)
            elsewhere = await self._ledger.store.live_turn(bound)
            if elsewhere is not None and elsewhere.node != self._ledger.node:
                raise Refused(Code.STALE_EPOCH, f"{bound} is run by another bridge now")
            return Caller(bound, Origin.PEER, bound=True)
        ident = address(name, self.profile) if name else session_id(self.profile, SHELL)
        session = await self._ledger.store.session(ident) if ident else None
        if session is not None and profile_of(session.id) != self.profile:
            session = None
        if origin is not Origin.USER and (session is None or session.kind is not Kind.SHELL):
            # The same where there is no such session: a program learns of none by guessing names.
            raise Refused(
                Code.NOT_PERMITTED,
                "a program without a terminal may speak as a session of kind shell only",
                remedy="Name a session of kind shell, or none.",
            )
        if session is None:
            raise unknown_session()
        if origin is Origin.USER:
            return Caller(session.id, Origin.USER, person="shell", operator=True)
        return Caller(session.id, Origin.PEER)

    # Seeing

    async def sessions(
        self, caller: Caller, *, active: bool = False, limit: int = 50, cursor: str | None = None
    ) -> tuple[list[SessionView], str | None]:
        """The sessions that the caller may discover, by id, and the cursor of the next page if there is one."""
        limit = max(1, min(limit, 500))
        idents = await self.discoverable(caller)
        views = [
            view
            for view in await self._views(idents)
            if not active or (view.live or view.activity != "idle" or view.unsettled)
        ]
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
        """The open sessions with whose title a text begins; of titles that begin alike the longest are meant."""
        found: dict[int, list[tuple[Session, str]]] = {}
        for session in await self._ledger.store.sessions():
            words = session.title.casefold().split()
            begin, rest = _split(text, len(words))
            mine = profile_of(session.id) == self.profile and session.closed_at is None
            if mine and words and begin.casefold().split() == words:
                found.setdefault(len(words), []).append((session, rest))
        return found[max(found)] if found else []

    async def view(self, session: SessionId) -> SessionView:
        return (await self._views([session]))[0]

    async def open_sessions(self) -> list[SessionId]:
        """Those of the profile that are not closed, by id."""
        every = await self._ledger.store.sessions()
        return [one.id for one in every if one.closed_at is None and profile_of(one.id) == self.profile]

    async def discoverable(self, caller: Caller) -> list[SessionId]:
        """The open sessions that the caller is shown, its own among them, by id: hidden ones to people only."""
        if caller.origin is Origin.USER:
            return await self.open_sessions()
        viewer = await self._ledger.store.session(caller.session)
        if viewer is None:
            return []
        every = [one for one in await self._ledger.store.sessions() if one.closed_at is None]
        policy = await self._governance.policy(await self._ledger.regime())
        seen = policy.visible(party(viewer), [party(one) for one in every], self._ledger.clock.now())
        return [one.id for one in every if (one.id in seen and not one.hidden) or one.id == viewer.id]

    async def _views(self, idents: Sequence[SessionId]) -> list[SessionView]:
        turns = {turn.session: turn for turn in await self._ledger.store.live_turns()}
        unsettled = await self._ledger.store.unsettled()
        wanted = set(idents)
        views = []
        for session in await self._ledger.store.sessions():
            if session.id in wanted:
                places = [binding.place for binding in await self._ledger.store.places(session.id)]
                views.append(self._view(session, turns.get(session.id), places, unsettled.get(session.id, 0)))
        return views

    def _view(self, session: Session, turn: Turn | None, places: Sequence[Place], unsettled: int) -> SessionView:
        if turn is not None:
            activity = "tool_running" if turn.tools_begun else "thinking"
        else:
            activity = "errored" if session.paused is not None else "idle"
        if session.closed_at is not None:
            reachable = "none"
        else:
            reachable = "wake" if session.runs and session.accept_wake else "pull"
        return SessionView(
            id=session.id,
            title=session.title,
            kind=session.kind,
            activity=activity,
            live=self._agents.live(session.id),
            task=None,
            cwd=session.cwd,
            project=session.project,
            branch=None,
            places=tuple(places),
            last_seen=session.last_seen,
            unsettled=unsettled,
            reachable=reachable,
            busy=in_effect(session, self._agents),
        )


def _as_declared(session: Session, declared: Declared) -> Session:
    return replace(
        session,
        title=declared.title,
        kind=declared.kind,
        source=Source.FILE,
        agent=declared.agent,
        cwd=declared.cwd,
        project=declared.project,
        tags=declared.tags,
        accept_wake=declared.accept_wake,
        busy=declared.busy,
        inbox_limit=declared.inbox_limit,
        max_chars=declared.max_chars,
        reply_wake=declared.reply_wake,
        peer_tools=declared.peer_tools,
        peer_mode=declared.peer_mode,
        hidden=declared.hidden,
        quiet=declared.quiet,
        timezone=declared.timezone,
        closed_at=None,
        paused=None,
    )


def _bind(work: Work, known: Binding | None, place: Place, session: SessionId, source: Source) -> None:
    """`known` is what the place is bound to so far."""
    if known is not None and known.session == session and source in (known.source, Source.RUNTIME):
        return
    if known is not None and known.source is Source.FILE and source is Source.RUNTIME:
        raise Refused(
            Code.NOT_PERMITTED,
            f"{place} is bound to {known.session} by the operator's file",
            remedy="Change the places of the session in tieline.toml.",
        )
    base = known or Binding(place, None, source, work.now)
    work.put(replace(base, session=session, source=source, bound_at=work.now))


def _split(text: str, words: int) -> tuple[str, str]:
    """So many words, with single spaces, and what follows them."""
    parts = text.split(maxsplit=words)
    return " ".join(parts[:words]), parts[words].strip() if len(parts) > words else ""


def _unknown() -> Refused:
    return Refused(Code.UNKNOWN_SESSION, unknown_session().reason, remedy="See /sessions.")
