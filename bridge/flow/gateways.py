"""Gateways: who may link itself with the bridge, and what it tells of its sessions (DESIGN §6).

A gateway's session is one by its key, which is its place: the same after every restart. What its own people begin there
is a turn like any other, so that what is asked, read and settled in it goes by the same rules.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from bridge.approval import Subject
from bridge.audit import ActKind
from bridge.caller import Caller
from bridge.errors import Code, Refused
from bridge.flow.attempts import record_attempt
from bridge.flow.closing import close_session
from bridge.flow.control import Control
from bridge.flow.current import Current
from bridge.flow.dispatch import Dispatch
from bridge.flow.ledger import Ledger
from bridge.flow.proposals import Effects, Proposals
from bridge.flow.roster import free_id
from bridge.flow.saying import accept
from bridge.flow.unheard import Unheard
from bridge.flow.work import Work
from bridge.gateway import Gateway, Standing, agent_of, handle_from, name_of_gateway, place_of
from bridge.ids import MessageId, Place, SessionId, TurnId, session_id
from bridge.launching import NO_OPTIONS
from bridge.lineage import caps_of
from bridge.message import Origin, State
from bridge.phrases import one_line, short
from bridge.ports.chat import Heard, Person
from bridge.proposed import gateway_proposed
from bridge.session import Binding, Kind, Session, Source
from bridge.token import digest_of
from bridge.views import GatewayView, PairedView

_TITLE_CHARS = 120
_SAID = "(said in the gateway's own chat)"
"""What stands for a person's words: they are the gateway's, and the bridge needs none of them."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A turn that a gateway's people have begun. `turn` is the bridge's, once there is one, and `over` says that it has
    come to its end here."""

    input: MessageId
    turn: TurnId | None
    over: bool


class Gateways:
    """`standing` tells how a gateway is now, and `dropped` is called once one may not be there any more."""

    def __init__(
        self,
        ledger: Ledger,
        current: Current,
        lanes: Dispatch,
        control: Control,
        proposals: Proposals,
        unheard: Unheard,
        profile: str,
    ) -> None:
        self._ledger = ledger
        self._current = current
        self._lanes = lanes
        self._control = control
        self._proposals = proposals
        self._unheard = unheard
        self._profile = profile
        self._standing: Callable[[str], Standing] = lambda name: Standing()
        self._dropped: Callable[[str], None] = lambda name: None
        proposals.register(Subject.GATEWAY, Effects(self._apply))

    def attach(self, standing: Callable[[str], Standing], dropped: Callable[[str], None]) -> None:
        self._standing = standing
        self._dropped = dropped

    # What people decide

    async def pair(self, caller: Caller, name: str) -> PairedView:
        """A token for the gateway, told this once. One that it had before is dead from then on. Where operators must
        accept it in a chat first, it opens nothing until then."""
        await self._person(caller, f"pair the gateway {name[:80]}")
        name_of_gateway(name)
        token = f"{self._ledger.randomness.getrandbits(256):064x}"
        content = {"name": name, "digest": digest_of(token)}
        if not self._proposals.must_wait(caller):
            await self._ledger.do(lambda work: self._apply(work, caller, content))
            return PairedView(name, token)
        about, text = gateway_proposed(name, caller.session)
        life_s = self._ledger.limits.held_life_s
        await self._proposals.propose(caller, Subject.GATEWAY, about, content, text, life_s)
        return PairedView(name, token, waits_for=self._proposals.asked_at())

    async def _apply(self, work: Work, by: Caller, content: Mapping[str, Any]) -> None:
        name, digest = content["name"], content["digest"]
        known = await work.gateway(name)
        paired = Gateway(name, digest, work.now, by.name)
        work.put(replace(paired, version=known.version, seen_at=known.seen_at) if known is not None else paired)
        work.act(ActKind.PAIRED, by, name)
        work.then(lambda: self._dropped(name))

    async def remove(self, caller: Caller, name: str) -> GatewayView:
        """At once: its link is cut, its token opens nothing, and its sessions are closed until it is paired again."""
        await self._person(caller, f"remove the gateway {name[:80]}")
        known = await self._ledger.store.gateway(name)
        if known is None or not known.paired:
            raise unknown_gateway(name)

        async def body(work: Work) -> Gateway:
            gateway = await work.gateway(name)
            if gateway is None:
                raise unknown_gateway(name)
            removed = replace(gateway, removed_at=work.now)
            work.put(removed)
            work.act(ActKind.UNPAIRED, caller, name)
            work.then(lambda: self._dropped(name))
            return removed

        removed = await self._ledger.do(body)
        sessions = await self._sessions_of(name)
        for session in sessions:
            await self.close(session.id, f"session_closed: the gateway {name} was removed")
        return _view(removed, Standing(), sessions=0)

    async def every(self, caller: Caller) -> list[GatewayView]:
        await self._person(caller, "list the gateways")
        return await self.views()

    async def views(self) -> list[GatewayView]:
        """Those that are paired."""
        paired = [one for one in await self._ledger.store.gateways() if one.paired]
        return [_view(one, self._standing(one.id), len(await self._sessions_of(one.id))) for one in paired]

    # What a gateway tells

    async def admitted(self, token: str) -> str | None:
        """The gateway with that token. None where no paired one has it."""
        digest = digest_of(token)
        every = await self._ledger.store.gateways()
        return next((one.id for one in every if one.digest == digest and one.paired), None)

    async def seen(self, name: str) -> None:
        """It is linked, or was until now."""

        async def body(work: Work) -> None:
            known = await work.gateway(name)
            if known is not None:
                work.put(replace(known, seen_at=work.now))

        await self._ledger.surely(body)

    async def turned_away(self, wish: str, refused: Refused) -> None:
        shell = session_id(self._profile, "shell")
        await record_attempt(self._ledger, Caller(shell, Origin.PEER, person="nobody"), wish, refused)

    async def paired(self) -> list[str]:
        return [one.id for one in await self._ledger.store.gateways() if one.paired]

    async def register(self, gateway: str, key: str, title: str, alias: str | None) -> SessionId:
        """The session that the gateway has under that key: the one that it has had before, or a new one with a handle
        made of its title. Raises `Refused` for a place that is another session's."""
        place = place_of(gateway, key)
        named = short(one_line(title).strip() or key, _TITLE_CHARS)

        async def body(work: Work) -> SessionId:
            binding = await work.store.binding(place)
            known = await work.session(binding.session) if binding is not None and binding.session else None
            if known is not None and known.agent != agent_of(gateway):
                raise Refused(
                    Code.NOT_PERMITTED,
                    f"{place} is bound to {known.id}, which is not the gateway's",
                    remedy="Bind the place to nothing else, or declare the session with kind gateway.",
                )
            if known is None:
                ident = await free_id(work, self._profile, handle_from(title))
                made = Session(ident, named, Kind.GATEWAY, Source.RUNTIME, work.now, agent=agent_of(gateway))
                made = replace(made, caps=caps_of(work.limits), alias=alias)
                work.put(self._current.frozen(made, NO_OPTIONS))
                base = binding or Binding(place, None, Source.RUNTIME, work.now)
                work.put(replace(base, session=ident, bound_at=work.now))
                return ident
            title_now = known.title if known.source is Source.FILE else named
            now = replace(known, title=title_now, alias=alias or known.alias, closed_at=None)
            if now != known:
                work.put(now)
            work.then(lambda: work.wake.lane(known.id))
            return known.id

        return await self._ledger.surely(body)

    async def begun(self, session: SessionId, place: Place, own: str, person: str | None) -> Begun | None:
        """A person has begun a turn in the gateway, known there as `own`. None where the session is closed."""
        key = digest_of(f"{place} {own}")  # A key is bounded, and what a gateway names need not be.

        async def body(work: Work) -> Begun | None:
            known = await work.store.key(session, key)
            if known is not None:
                message = await work.message(known.message)
                over = message is None or message.state in (State.SETTLED, State.PARKED)
                return Begun(known.message, message.turn if message is not None else None, over)
            at = await work.session(session)
            if at is None or at.closed_at is not None:
                return None
            who = Person(f"{place.partition(':')[0]}:{person or 'person'}", "", operator=False)
            message = accept(work, Heard(place, who, _SAID, key), at)
            # The gateway has begun it, so that whatever had paused the session holds it up no more.
            work.put(replace(at, rested=False, paused=None, last_seen=work.now))
            await self._lanes.hand_over(work, session)
            return Begun(message.id, None, over=False)

        return await self._ledger.surely(body)

    async def returned(self, turn: TurnId) -> None:
        """The gateway is back, perhaps as another process, in the middle of a turn: what was read in it is shown again
        to whoever asks."""
        read = await self._ledger.surely(lambda work: work.store.read_in(turn))
        self._unheard.doubt(turn, {one.id for one in read if not one.from_person})

    async def stopped(self, session: SessionId) -> None:
        """A person has stopped the session's turn in the gateway: it rests for its peers, as after `/stop`."""

        async def body(work: Work) -> None:
            at = await work.session(session)
            if at is not None and not at.rested:
                work.put(replace(at, rested=True))

        await self._ledger.surely(body)

    async def reset(self, session: SessionId) -> None:
        """The gateway has given the session a fresh context."""
        await self._control.renew(session)

    async def close(self, session: SessionId, reason: str) -> None:
        """The gateway has the session no more."""
        await self._control.halt(session)

        async def body(work: Work) -> None:
            at = await work.session(session)
            if at is not None and at.closed_at is None:
                await close_session(work, at, reason)

        await self._ledger.do(body)

    async def hint(self, name: str) -> None:
        """The gateway is there, so that what waits for its sessions may begin."""
        for session in await self._sessions_of(name):
            self._ledger.wake.lane(session.id)
        self._ledger.wake.outbox()

    async def _sessions_of(self, name: str) -> list[Session]:
        every = await self._ledger.store.sessions()
        return [one for one in every if one.agent == agent_of(name) and one.closed_at is None]

    async def _person(self, caller: Caller, what: str) -> None:
        if caller.origin is not Origin.USER or not caller.operator:
            refused = Refused(
                Code.NOT_PERMITTED,
                "only an operator may decide about gateways",
                remedy="Type it in a terminal of your own.",
            )
            await record_attempt(self._ledger, caller, what, refused)
            raise refused


def unknown_gateway(name: str) -> Refused:
    remedy = "See: tieline gateway list"
    return Refused(Code.INVALID_REQUEST, f"no gateway {name[:80]!r} is paired", remedy=remedy)


def _view(gateway: Gateway, now: Standing, sessions: int) -> GatewayView:
    return GatewayView(
        name=gateway.id,
        paired_at=gateway.paired_at,
        paired_by=gateway.paired_by,
        seen_at=gateway.seen_at,
        linked=now.linked,
        sessions=sessions,
        software=now.software,
        trouble=now.trouble,
        advice=now.advice,
    )
