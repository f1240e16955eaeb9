"""The roster: how sessions are made and closed, by the operator's file or at run time, and where they are bound."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count

from bridge.errors import Code, Refused
from bridge.flow.agents import Agents
from bridge.flow.closing import close_session
from bridge.flow.control import hasten
from bridge.flow.current import Current
from bridge.flow.ledger import Ledger
from bridge.flow.tokens import end_tokens
from bridge.flow.work import Work
from bridge.ids import SHELL, Place, SessionId, profile_of, session_id
from bridge.ids import place as parse_place
from bridge.launching import NO_OPTIONS, Creation, Options
from bridge.launching import check as check_options
from bridge.lineage import caps_of, for_child
from bridge.session import Binding, Declared, Habits, Kind, NewSession, Session, Source


class Roster:
    def __init__(self, ledger: Ledger, agents: Agents, current: Current, profile: str) -> None:
        self._ledger = ledger
        self._agents = agents
        self._current = current
        self.profile = profile

    async def declare(self, declared: Sequence[Declared]) -> None:
        """Brings the store to what the file says: sessions in it are open, those that have left it are closed,
        and its places are bound. What was made at run time stays. Whatever was paused is tried again: the file, or
        what it stands on, may have been set right."""
        shell = Declared(session_id(self.profile, SHELL), "Shell", Kind.SHELL)
        named = {one.id: one for one in declared}
        named.setdefault(shell.id, shell)
        self._current.declare(named)
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
            known_or_new = known or Session(ident, one.title, one.kind, Source.FILE, work.now, caps=caps)
            session = self._as_declared(known_or_new, one)
            if known is not None and (known.closed_at is not None or known.parent is not None):
                session = replace(session, caps=caps, parent=None, spawned_in=None)
            if session != known:
                work.put(session)
            if known is not None and session.runs and not known.runs:
                await end_tokens(work, ident, "its session got an agent")
            if known is not None and _hours(known.habits) != _hours(session.habits):
                await hasten(work, ident)  # What has to wait by the new hours is put off again.
        await self._declare_places(work, {place: ident for ident, one in named.items() for place in one.places})
        for session in stored.values():
            if session.source is not Source.FILE and session.id not in named and session.parent is None:
                tried = self._current.completed(session)
                if session.paused is not None or session.frozen is None:
                    tried = replace(self._current.applied(session), paused=None)
                if tried != session:
                    work.put(tried)
            elif session.source is Source.FILE and session.id not in named and session.closed_at is None:
                await close_session(work, session, f"session_closed: {session.id} was closed")

    async def _declare_places(self, work: Work, places: Mapping[Place, SessionId]) -> None:
        bound = {one.place: one for one in await work.store.bindings()}
        # What the file names by its own name now is not led there by an older one.
        places = {**{work.means.led(place): ident for place, ident in places.items()}, **_as_they_are(work, places)}
        for place, ident in places.items():
            _bind(work, bound.get(place), place, ident, Source.FILE)
        for binding in bound.values():
            mine = binding.session is not None and profile_of(binding.session) == self.profile
            if mine and binding.source is Source.FILE and binding.place not in places:
                work.unbind(binding.place)

    def _as_declared(self, session: Session, declared: Declared) -> Session:
        return replace(
            self._current.held_to(session, declared),
            title=declared.title,
            kind=declared.kind,
            source=Source.FILE,
            project=declared.project,
            tags=declared.tags,
            habits=declared.habits,
            closed_at=None,
            paused=None,
        )

    def new(
        self,
        handle: str,
        *,
        agent: str | None,
        cwd: str | None,
        place: str | None,
        title: str | None,
        options: Options = NO_OPTIONS,
    ) -> NewSession:
        """Raises `invalid_request` for a handle, a place or an option of another form."""
        ident = session_id(self.profile, handle)
        where = parse_place(place) if place is not None else None
        check_options(options, agent=agent, cwd=cwd)
        return NewSession(ident, title or handle, agent, cwd, where, options)

    async def check(self, work: Work, new: NewSession) -> None:
        """Raises `invalid_request` where no such agent is configured, where the handle is or was another session's, and
        where the key is another's; `not_permitted` for a place that the operator's file binds."""
        for agent in (new.agent, *new.options.fallback):
            if agent is not None and not self._agents.configured(agent):
                raise Refused(
                    Code.INVALID_REQUEST,
                    f"no agent named {agent!r} is configured",
                    remedy="Name one of the [agents.*] of tieline.toml.",
                )
        if new.options.hooks and new.agent is not None:
            definition = self._agents.definition(new.agent)
            if definition is None or not definition.hooks_env:
                raise Refused(
                    Code.INVALID_REQUEST,
                    f"nothing tells the agent {new.agent!r} of a consent to hooks",
                    remedy=f"Leave hooks out, or set hooks_env in [agents.{new.agent}] of tieline.toml.",
                )
        if await work.session(new.id) is not None or for_child(new.id):
            raise Refused(Code.INVALID_REQUEST, f"{new.id} exists; a handle is never given to another session")
        if new.creation is not None and await self._made_by(work, new.creation) is not None:
            raise other_body(new.creation)
        if new.place is not None:
            _bindable(await work.store.binding(work.means.led(new.place)), Source.RUNTIME)

    async def free(self, work: Work, handle: str) -> SessionId:
        return await free_id(work, self.profile, handle)

    async def made(self, work: Work, creation: Creation | None) -> SessionId | None:
        """The session that was made under that key. Raises `invalid_request` where it was another one that was asked
        for."""
        known = await self._made_by(work, creation) if creation is not None else None
        if known is None or creation is None:
            return None
        if known.creation != creation:
            raise other_body(creation)
        return known.id

    async def _made_by(self, work: Work, creation: Creation) -> Session | None:
        def same(one: Creation | None) -> bool:
            return one is not None and (one.by, one.key) == (creation.by, creation.key)

        return next((one for one in await work.store.sessions() if same(one.creation)), None)

    async def make(self, work: Work, new: NewSession) -> None:
        """Makes a session at run time, where nothing is against it: see `check`."""
        await self.check(work, new)
        if new.creation is not None:
            # Put as it is: of two that are made under one key at once, the second is planned anew.
            work.put_regime(await work.regime())
        work.put(self._current.frozen(new.made(work.now, caps_of(work.limits)), new.options))
        if new.place is not None:
            place = work.means.led(new.place)
            _bind(work, await work.store.binding(place), place, new.id, Source.RUNTIME)

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

    async def unbind(self, place: Place) -> SessionId:
        """Frees a place, and returns the session that it was bound to. Raises `unknown_session` where it was bound to
        none, and `not_permitted` where the operator's file binds it."""

        async def body(work: Work) -> SessionId:
            known = await work.store.binding(place)
            if known is None or known.session is None:
                raise Refused(
                    Code.UNKNOWN_SESSION,
                    f"no session is bound to this place, {place}",
                    remedy="There is nothing to do.",
                )
            _bindable(known, Source.RUNTIME)
            work.unbind(place)
            return known.session

        return await self._ledger.do(body)


async def free_id(work: Work, profile: str, handle: str) -> SessionId:
    """That handle, or where it is or was another session's, the next one with a number."""
    for number in count(1):
        ident = session_id(profile, handle if number == 1 else f"{handle}-{number}")
        if await work.session(ident) is None and not for_child(ident):
            return ident
    raise AssertionError("numbers do not end")


def other_body(creation: Creation) -> Refused:
    return Refused(
        Code.INVALID_REQUEST,
        f"the key {creation.key[:80]!r} has made a session with other settings",
        remedy="Ask for the same again, or use another key.",
    )


def _as_they_are(work: Work, places: Mapping[Place, SessionId]) -> Mapping[Place, SessionId]:
    return {place: ident for place, ident in places.items() if work.means.led(place) == place}


def _hours(habits: Habits) -> tuple[object, ...]:
    return habits.quiet, habits.timezone


def _bind(work: Work, known: Binding | None, place: Place, session: SessionId, source: Source) -> None:
    """`known` is what the place is bound to so far."""
    if known is not None and known.session == session and source in (known.source, Source.RUNTIME):
        return
    _bindable(known, source)
    base = known or Binding(place, None, source, work.now)
    work.put(replace(base, session=session, source=source, bound_at=work.now, gone_at=None))


def _bindable(known: Binding | None, source: Source) -> None:
    if known is not None and known.source is Source.FILE and source is Source.RUNTIME:
        raise Refused(
            Code.NOT_PERMITTED,
            f"{known.place} is bound to {known.session} by the operator's file",
            remedy="Change the places of the session in tieline.toml.",
        )
