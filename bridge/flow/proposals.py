"""Proposals: what a shell asks for and an operator must accept in a chat, for a shell may be an agent's (DESIGN §7)."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bridge import phrases, wording
from bridge.approval import Approval, ApprovalId, Subject
from bridge.audit import ActKind
from bridge.caller import Caller
from bridge.errors import Code, Refused
from bridge.flow.ledger import Ledger
from bridge.flow.showing import revise, show
from bridge.flow.work import Work
from bridge.ids import Place
from bridge.post import Button, PostKind
from bridge.proposed import kept

_EXPIRED = "This has expired: nobody had decided in time."

Apply = Callable[[Work, Caller, Mapping[str, Any]], Awaitable[None]]
"""Does what was proposed, in the change that accepts it. The caller is the operator who has accepted it."""

Check = Callable[[Work, Mapping[str, Any]], Awaitable[None]]
"""Raises `Refused` where what was proposed cannot be done, and changes nothing."""


@dataclass(frozen=True, slots=True)
class Effects:
    """What comes of a proposal. It is checked before operators are asked, and again in the change that accepts it;
    `refuse` does what is to be done where an operator refuses."""

    apply: Apply
    check: Check | None = None
    refuse: Apply | None = None


class Proposals:
    """With `confirm`, what a shell would widen waits for an operator's word in a chat, where there is one: a terminal
    that a person once started cannot be told from one that an agent of the same user drives."""

    def __init__(self, ledger: Ledger, *, confirm: bool) -> None:
        self._ledger = ledger
        self._confirm = confirm
        self._effects: dict[Subject, Effects] = {}

    def register(self, subject: Subject, effects: Effects) -> None:
        self._effects[subject] = effects

    def must_wait(self, caller: Caller) -> bool:
        """Whether what this caller would widen takes an operator's word in a chat."""
        return self._confirm and caller.place is None and bool(self.places())

    def places(self) -> list[Place]:
        """Where operators are asked: their own chats. None where no chat has any."""
        return [place for chat in self._ledger.chats.values() for place in chat.reports()]

    def asked_at(self) -> tuple[Place, ...]:
        """Where whoever has to wait is told that it waits: at the first of `places`."""
        return tuple(self.places()[:1])

    async def propose(
        self, by: Caller, subject: Subject, about: str, content: Mapping[str, Any], text: str, life_s: float | None
    ) -> Approval:
        """Asks the operators once: the same again is the same proposal still. Text is what they are shown. Raises
        `Refused` where what is proposed could not be done."""

        async def body(work: Work) -> Approval:
            check = self._effects[subject].check
            if check is not None:
                await check(work, content)
            earlier = await work.open_approval(subject, about)
            if earlier is not None and _lapsed(earlier, work.now):
                await self.expire(work, earlier)
                earlier = None
            if earlier is not None and earlier.content == json.dumps(content):
                return earlier
            if earlier is not None:
                work.put(earlier.closed(work.now, "replaced"))
                await self._tell(work, earlier, phrases.short(text, 300) + "\n· replaced by a newer one")
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
            buttons = _buttons(approval)
            for place in self.places():
                await show(work, _key(approval, place), place, PostKind.QUESTION, text, buttons=buttons)
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
                return _over(approval, work.means.named(approval.decided_by or ""))
            if _lapsed(approval, work.now):
                await self.expire(work, approval)
                return _EXPIRED
            if accepted and (refused := await self._obstacle(work, approval)) is not None:
                await self._tell(work, approval, kept(approval.about, refused), _buttons(approval))
                return wording.refused_text(refused)
            name = by.name
            outcome = "accepted" if accepted else "refused"
            work.put(approval.closed(work.now, outcome, name))
            work.act(ActKind.APPROVED if accepted else ActKind.DENIED, by, approval.id, what=approval.subject.value)
            effects = self._effects.get(approval.subject)
            if effects is not None and (effect := effects.apply if accepted else effects.refuse) is not None:
                await effect(work, by, json.loads(approval.content))
            await self._tell(work, approval, f"{approval.about}\n· {outcome} by {work.means.named(name)}")
            return f"{outcome.capitalize()}."

        return await self._ledger.do(body)

    async def _obstacle(self, work: Work, approval: Approval) -> Refused | None:
        """What keeps it from being done by now."""
        effects = self._effects.get(approval.subject)
        if effects is None or effects.check is None:
            return None
        try:
            await effects.check(work, json.loads(approval.content))
        except Refused as refused:
            if refused.code is Code.UNAVAILABLE:
                raise
            return refused
        return None

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

    async def _tell(self, work: Work, approval: Approval, text: str, buttons: Sequence[Button] = ()) -> None:
        for place in self.places():
            await revise(work, _key(approval, place), text, buttons=buttons)


def _buttons(approval: Approval) -> tuple[Button, ...]:
    return Button("Accept", f"yes:{approval.id}"), Button("Refuse", f"nay:{approval.id}")


def _key(approval: Approval, place: Place) -> str:
    return f"proposal:{approval.id}:{place}"


def _lapsed(approval: Approval, now: float) -> bool:
    """Though the timekeeper may not have come by yet."""
    return approval.expires_at is not None and now >= approval.expires_at


def _over(approval: Approval, decided_by: str) -> str:
    if approval.outcome == "expired":
        return _EXPIRED
    by = f" by {decided_by}" if decided_by else ""
    return f"This was {approval.outcome}{by} already."
