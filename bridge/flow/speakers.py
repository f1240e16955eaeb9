"""Who may speak as whom, once a channel has established who it is that speaks (DESIGN §7)."""

from bridge.admission import unknown_session
from bridge.caller import Caller
from bridge.errors import Code, Refused
from bridge.flow.ledger import Ledger
from bridge.flow.turns import Turns
from bridge.ids import SHELL, SessionId, address, profile_of, session_id
from bridge.message import Origin
from bridge.session import Kind


class Speakers:
    def __init__(self, ledger: Ledger, turns: Turns, profile: str) -> None:
        self._ledger = ledger
        self._turns = turns
        self._profile = profile

    async def caller(self, name: str | None, *, origin: Origin, bound: SessionId | None) -> Caller:
        """The caller that a channel has established: `bound` by a capability, else a person (`user`), who may
        speak as any session of the profile, or a program (`peer`), which may speak as a shell only."""
        if bound is not None:
            turn = self._turns.current(bound)
            if turn is not None:
                return Caller(bound, Origin.PEER, bound=True, turn=turn.id, epoch=turn.epoch)
            elsewhere = await self._ledger.store.live_turn(bound)
            if elsewhere is not None and elsewhere.node != self._ledger.node:
                raise Refused(Code.STALE_EPOCH, f"{bound} is run by another bridge now")
            return Caller(bound, Origin.PEER, bound=True)
        ident = address(name, self._profile) if name else session_id(self._profile, SHELL)
        session = await self._ledger.store.session(ident) if ident else None
        if session is not None and profile_of(session.id) != self._profile:
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
