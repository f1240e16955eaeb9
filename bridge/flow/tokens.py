"""The capability tokens that people make for clients of their own, and take back (DESIGN §7)."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from bridge.admission import closed_session
from bridge.audit import ActKind
from bridge.caller import Caller
from bridge.errors import Code, Refused
from bridge.flow.ledger import Ledger
from bridge.flow.work import Work
from bridge.ids import SessionId
from bridge.session import Kind
from bridge.token import PREFIX, Token, TokenId, check_name, digest_of

log = logging.getLogger(__name__)

MOST = 20
"""So many tokens of a session hold at once, at most."""

_USE_S = 60.0
"""When one was last used is stored so often at most."""


@dataclass(slots=True)
class _Held:
    token: Token
    used_at: float | None
    over: asyncio.Event = field(default_factory=asyncio.Event)


class Tokens:
    """Those that hold are known here, so that a call costs no look at the store; what is revoked is unknown as soon as
    that is stored."""

    def __init__(self, ledger: Ledger, tasks: asyncio.TaskGroup) -> None:
        self._ledger = ledger
        self._tasks = tasks
        self._held: dict[str, _Held] = {}

    async def load(self) -> None:
        for token in await self._ledger.store.tokens():
            self._hold(token)

    def session_of(self, token: str) -> SessionId | None:
        """The session that a token stands for, which counts as a use of it."""
        held = self._held.get(digest_of(token))
        if held is None:
            return None
        now = self._ledger.clock.now()
        if held.used_at is None or now - held.used_at >= _USE_S:
            held.used_at = now
            self._note(held.token, now)
        return held.token.session

    def ended(self, token: str) -> asyncio.Event | None:
        """Set once the token is revoked. None where there is no such token."""
        held = self._held.get(digest_of(token))
        return held.over if held is not None else None

    def new(self) -> str:
        return f"{PREFIX}{self._ledger.randomness.getrandbits(256):064x}"

    async def every(self, session: SessionId) -> list[Token]:
        """Those of a session that hold, by name."""
        return await self._ledger.store.tokens(session)

    async def make(self, by: Caller, content: Mapping[str, Any]) -> Token:
        return await self._ledger.do(lambda work: self.put(work, by, content))

    async def put(self, work: Work, by: Caller, content: Mapping[str, Any]) -> Token:
        """Makes one in the change of `work`; it holds from its commit on. Raises as `check` does."""
        await self.check(work, content)
        token = Token(
            id=TokenId(work.new_id()),
            session=SessionId(content["session"]),
            name=content["name"],
            digest=content["digest"],
            by=by.name,
            via=by.place or by.session,
            made_at=work.now,
        )
        work.put(token)
        work.act(ActKind.MADE, by, token.id, what="token", session=token.session, name=token.name)
        work.then(lambda: self._hold(token))
        return token

    async def check(self, work: Work, content: Mapping[str, Any]) -> None:
        """Raises `invalid_request` for a session whose mail is its agent's or its gateway's to read, a name that is
        taken, and one token too many; `session_closed`."""
        ident, name = SessionId(content["session"]), content["name"]
        check_name(name)
        session = await work.session(ident)
        if session is None or session.closed_at is not None:
            raise closed_session(ident)
        work.guard(session)
        if session.runs or session.kind is Kind.GATEWAY:
            # Whoever held it would act in the turns of that agent, read their inputs and answer for it.
            raise Refused(
                Code.INVALID_REQUEST,
                f"{ident} has an agent, which has a token of its own",
                remedy="Make a session without an agent for your client: tieline session new HANDLE",
            )
        held = await work.store.tokens(ident)
        if any(one.name == name for one in held):
            raise Refused(
                Code.INVALID_REQUEST,
                f"{ident} has a token named {name!r}",
                remedy="Choose another name (--name), or revoke that one: tieline session revoke.",
            )
        if len(held) >= MOST:
            raise Refused(
                Code.INVALID_REQUEST,
                f"{ident} has {MOST} tokens already",
                remedy="Revoke those that are not needed: tieline session tokens lists them.",
            )

    async def revoke(self, by: Caller, session: SessionId, name: str) -> Token:
        """Dead at once: what is open by it ends too. Raises `invalid_request` where none of that name holds."""

        async def body(work: Work) -> Token:
            held = next((one for one in await work.store.tokens(session) if one.name == name), None)
            if held is None:
                raise Refused(
                    Code.INVALID_REQUEST,
                    f"{session} has no token named {name[:80]!r}",
                    remedy="See: tieline session tokens.",
                )
            work.act(ActKind.REVOKED, by, held.id, what="token", session=session, name=name)
            return _revoke(work, held, by.name)

        return await self._ledger.do(body)

    def forget(self, digest: str) -> None:
        """It was revoked."""
        held = self._held.pop(digest, None)
        if held is not None:
            held.over.set()

    def _hold(self, token: Token) -> None:
        self._held[token.digest] = _Held(token, token.used_at)

    def _note(self, token: Token, at: float) -> None:
        async def body(work: Work) -> None:
            current = next((one for one in await work.store.tokens(token.session) if one.id == token.id), None)
            if current is not None:
                work.put(replace(current, used_at=at))

        async def noting() -> None:
            try:
                await self._ledger.do(body)
            except Exception:
                # A task of its own: that a use cannot be noted must not end the others.
                log.exception("%s: the use of a token could not be noted", token.session)

        note = noting()
        try:
            self._tasks.create_task(note)
        except RuntimeError:
            # The group takes no more tasks: the bridge is ending.
            note.close()


async def end_tokens(work: Work, session: SessionId, why: str) -> None:
    """The tokens of a session that is closed, or gets an agent, end with that change."""
    for token in await work.store.tokens(session):
        _revoke(work, token, why)


def _revoke(work: Work, token: Token, by: str) -> Token:
    revoked = token.revoked(work.now, by)
    work.put(revoked)
    work.then(lambda: work.wake.revoked(token.digest))
    return revoked
