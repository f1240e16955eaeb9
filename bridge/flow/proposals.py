"""Proposals: what a shell asks for and an operator must accept in a chat, for a shell may be an agent's (DESIGN §7)."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from bridge import wording
from bridge.approval import Approval, ApprovalId, Subject
from bridge.audit import ActKind
from bridge.caller import Caller
from bridge.errors import Code, Refused
from bridge.flow.ledger import Ledger
from bridge.flow.showing import revise, show
from bridge.flow.work import Work
from bridge.ids import Place
from bridge.post import Button, PostKind

_EXPIRED = "This has expired: nobody had decided in time."

Apply = Callable[[Work, Caller, Mapping[str, Any]], Awaitable[None]]
"""Does what was proposed, in the change that accepts it. The caller is the operator who has accepted it."""


class Proposals:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._appliers: dict[Subject, Apply] = {}
        self._refusers: dict[Subject, Apply] = {}

    def register(self, subject: Subject, apply: Apply, refused: Apply | None = None) -> None:
        """`refused` does what is to be done where an operator refuses."""
        self._appliers[subject] = apply
        if refused is not None:
            self._refusers[subject] = refused

    def places(self) -> list[Place]:
        """Where operators are asked: their own chats. None where no chat has any."""
        return [place for chat in self._ledger.chats.values() for place in chat.reports()]

    async def propose(
        self, by: Caller, subject: Subject, about: str, content: Mapping[str, Any], text: str, life_s: float | None
    ) -> Approval:
        """Asks the operators once: the same again is the same proposal still. Text is what they are shown."""

        async def body(work: Work) -> Approval:
            earlier = await work.open_approval(subject, about)
            if earlier is not None and _lapsed(earlier, work.now):
                await self.expire(work, earlier)
                earlier = None
            if earlier is not None and earlier.content == json.dumps(content):
                return earlier
            if earlier is not None:
                work.put(earlier.closed(work.now, "replaced"))
                await self._tell(work, earlier, wording.short(text, 300) + "\n· replaced by a newer one")
            approval = Approval(
                id=ApprovalId(work.new_id()),
                subject=subject,
                about=about,
                content=json.dumps(content),
                by=by.name,
                opened_at=work.now,
                expires_at=work.now + life_s if life_s is not None else None,
            )
            work.act(ActKind.PROPOSED, by, approval.id, what=subject.value, about=about)
            work.put(approval)
            buttons = (Button("Accept", f"yes:{approval.id}"), Button("Refuse", f"nay:{approval.id}"))
            for place in self.places():
                await show(work, _key(approval, place), place, PostKind.NOTICE, text, buttons=buttons)
            if approval.expires_at is not None:
                ends = approval.expires_at
                work.then(lambda: work.wake.at(ends))
            return approval

        return await self._ledger.do(body)

    async def decide(self, by: Caller, ident: str, *, accepted: bool) -> str:
        """Returns what to tell the operator."""

        async def body(work: Work) -> str:
            approval = await work.approval(ApprovalId(ident))
            if approval is None:
                raise Refused(Code.UNKNOWN_MESSAGE, "that is not known any more")
            if not approval.open:
                return _over(approval)
            if _lapsed(approval, work.now):
                await self.expire(work, approval)
                return _EXPIRED
            name = by.name
            outcome = "accepted" if accepted else "refused"
            work.put(approval.closed(work.now, outcome, name))
            work.act(ActKind.APPROVED if accepted else ActKind.DENIED, by, approval.id, what=approval.subject.value)
            effects = self._appliers if accepted else self._refusers
            if approval.subject in effects:
                await effects[approval.subject](work, by, json.loads(approval.content))
            await self._tell(work, approval, f"{approval.about}\n· {outcome} by {name}")
            return f"{outcome.capitalize()}."

        return await self._ledger.do(body)

    async def withdraw(self, work: Work, subject: Subject, about: str) -> bool:
        """It is wanted no more, so that nobody can accept it later. False where it was not open."""
        approval = await work.open_approval(subject, about)
        if approval is None:
            return False
        work.put(approval.closed(work.now, "withdrawn"))
        await self._tell(work, approval, f"{approval.about}\n· withdrawn: it is not wanted any more")
        return True

    async def expire(self, work: Work, approval: Approval) -> None:
        work.put(approval.closed(work.now, "expired"))
        await self._tell(work, approval, f"{approval.about}\n· expired: nobody decided in time")

    async def _tell(self, work: Work, approval: Approval, text: str) -> None:
        for place in self.places():
            await revise(work, _key(approval, place), text)


def _key(approval: Approval, place: Place) -> str:
    return f"proposal:{approval.id}:{place}"


def _lapsed(approval: Approval, now: float) -> bool:
    """Though the timekeeper may not have come by yet."""
    return approval.expires_at is not None and now >= approval.expires_at


def _over(approval: Approval) -> str:
    if approval.outcome == "expired":
        return _EXPIRED
    by = f" by {approval.decided_by}" if approval.decided_by else ""
    return f"This was {approval.outcome}{by} already."
