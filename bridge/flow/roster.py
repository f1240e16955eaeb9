"""The roster: how sessions are made and closed, by the operator's file or at run time, and where they are bound."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count

from bridge.errors import Code, Refused
from bridge.flow.agents import Agents
from bridge.flow.closing import close_session
from bridge.flow.control import hasten
from bridge.flow.ledger import Ledger
from bridge.flow.work import Work
from bridge.ids import SHELL, Place, SessionId, profile_of, session_id
from bridge.ids import place as parse_place
from bridge.lineage import caps_of, for_child
from bridge.session import Binding, Declared, Habits, Kind, NewSession, Session, Source


class Roster:
    def __init__(self, ledger: Ledger, agents: Agents, profile: str) -> None:
        self._ledger = ledger
        self._agents = agents
        self.profile = profile

    async def declare(self, declared: Sequence[Declared]) -> None:
        """Brings the store to what the file says: sessions in it are open, those that have left it are closed,
        and its places are bound. What was made at run time stays. Whatever was paused is tried again: the file, or
        what it stands on, may have been set right."""
        shell = Declared(session_id(self.profile, SHELL), "Shell", Kind.SHELL)
        named = {one.id: one for one in declared}
        named.setdefault(shell.id, shell)
        attempts = count()
        await self._ledger.do(lambda work: self._declare(work, named, again=next(attempts) > 0))

    async def _declare(self, work: Work, named: Mapping[SessionId, Declared], *, again: bool) -> None:
        stored = {one.id: one for one in await work.store.sessions() if profile_of(one.id) == self.profile}
        for ident, one in named.items():
            known = stored.get(ident)
            if known is None and again:
                # It is there, for it could not be made, but in no list: it is unreadable, and this says so.
                known = await work.session(ident)
            caps = caps_of(work.limits)
            session = _as_declared(known or Session(ident, one.title, one.kind, Source.FILE, work.now, caps=caps), one)
            if known is not None and (known.closed_at is not None or known.parent is not None):
                session = replace(session, caps=caps, parent=None, spawned_in=None)
            if session != known:
                work.put(session)
            if known is not None and _hours(known.habits) != _hours(session.habits):
                await hasten(work, ident)  # What has to wait by the new hours is put off again.
        await self._declare_places(work, {place: ident for ident, one in named.items() for place in one.places})
        for session in stored.values():
            lasts = session.source is not Source.FILE and session.id not in named and session.parent is None
            if lasts and session.paused is not None:
                work.put(replace(session, paused=None))
            elif session.source is Source.FILE and session.id not in named and session.closed_at is None:
                await close_session(work, session, f"session_closed: {session.id} was closed")

    async def _declare_places(self, work: Work, places: Mapping[Place, SessionId]) -> None:
        bound = {one.place: one for one in await work.store.bindings()}
        for place, ident in places.items():
            _bind(work, bound.get(place), place, ident, Source.FILE)
        for binding in bound.values():
            mine = binding.session is not None and profile_of(binding.session) == self.profile
            if mine and binding.source is Source.FILE and binding.place not in places:
                work.unbind(binding.place)

    def new(
        self, handle: str, *, agent: str | None, cwd: str | None, place: str | None, title: str | None
    ) -> NewSession:
        """Raises `invalid_request` for a handle or a place of another form."""
        ident = session_id(self.profile, handle)
        where = parse_place(place) if place is not None else None
        return NewSession(ident, title or handle, agent, cwd, where)

    async def check(self, work: Work, new: NewSession) -> None:
        """Raises `invalid_request` where no such agent is configured and where the handle is or was another session's,
        `not_permitted` for a place that the operator's file binds."""
        if new.agent is not None and not self._agents.configured(new.agent):
            raise Refused(
                Code.INVALID_REQUEST,
                f"no agent named {new.agent!r} is configured",
                remedy="Name one of the [agents.*] of tieline.toml.",
            )
        if await work.session(new.id) is not None or for_child(new.id):
            raise Refused(Code.INVALID_REQUEST, f"{new.id} exists; a handle is never given to another session")
        if new.place is not None:
            _bindable(await work.store.binding(new.place), Source.RUNTIME)

    async def make(self, work: Work, new: NewSession) -> None:
        """Makes a session at run time, where nothing is against it: see `check`."""
        await self.check(work, new)
        work.put(new.made(work.now, caps_of(work.limits)))
        if new.place is not None:
            _bind(work, await work.store.binding(new.place), new.place, new.id, Source.RUNTIME)

    async def bind(self, place: Place, session: SessionId) -> None:
        """Raises `not_permitted` for a place that the operator's file binds to another session, and for a child."""

        async def body(work: Work) -> None:
            known = await work.session(session)
            if known is not None and known.parent is not None:
                raise Refused(
                    Code.NOT_PERMITTED,
                    f"{session} is a child, and has no place of its own",
                    remedy="Bind the place to a session that lasts.",
                )
            _bind(work, await work.store.binding(place), place, session, Source.RUNTIME)

        await self._ledger.do(body)


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
        habits=declared.habits,
        closed_at=None,
        paused=None,
    )


def _hours(habits: Habits) -> tuple[object, ...]:
    return habits.quiet, habits.timezone


def _bind(work: Work, known: Binding | None, place: Place, session: SessionId, source: Source) -> None:
    """`known` is what the place is bound to so far."""
    if known is not None and known.session == session and source in (known.source, Source.RUNTIME):
        return
    _bindable(known, source)
    base = known or Binding(place, None, source, work.now)
    work.put(replace(base, session=session, source=source, bound_at=work.now))


def _bindable(known: Binding | None, source: Source) -> None:
    if known is not None and known.source is Source.FILE and source is Source.RUNTIME:
        raise Refused(
            Code.NOT_PERMITTED,
            f"{known.place} is bound to {known.session} by the operator's file",
            remedy="Change the places of the session in tieline.toml.",
        )
