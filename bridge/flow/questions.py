"""Questions of agents, put to the people at the session's place (DESIGN §4, §8)."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from bridge.errors import Code, Refused
from bridge.flow.asking import DECLINE, SKIP, Sheet, key_of, sheet_of, sheets
from bridge.flow.ledger import Ledger
from bridge.flow.showing import show
from bridge.flow.terms import Terms, terms_of
from bridge.flow.work import Work
from bridge.ids import Place, TurnId
from bridge.post import Button, PostKind
from bridge.question import Answer, Asked, Choice, Question, Value
from bridge.turn import Turn

DECIDED = "This has been decided, or is no longer asked."
KEPT = "Your answer is passed on as soon as the agent can be reached."


@dataclass(slots=True)
class _Open:
    """`chosen` is None where the turn was stopped, and cancelled where it is too late to choose."""

    turn: TurnId
    place: Place | None
    sheet: Sheet
    chosen: "asyncio.Future[Choice | None]"


class Questions:
    """An open question lives as long as the turn that asks it, so it is kept in memory only. A bridge that goes on with
    another's turn asks again in the same posts; what people answer there before it does is kept for it."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._open: dict[str, _Open] = {}
        self._early: dict[str, int | str] = {}
        self._left = False

    async def ask(self, turn: Turn, question: Question) -> Answer:
        """What an operator says to it. On which terms is told by `terms_of`; where they deny it, or nobody answers in
        time, the place is told why."""
        life_s = self._ledger.limits.question_timeout_s
        until = (question.asked_at or self._ledger.clock.now()) + life_s if life_s > 0 else None
        values: dict[str, Value] = {}
        for number in sheets(question):
            # For each anew: mail may have been read since the last one.
            terms = await self._ledger.surely(lambda work: terms_of(work, turn, question))
            sheet = sheet_of(turn, question, number, terms)
            denied = terms.denied or question.unfit
            if denied is not None:
                await self._tell(turn, terms, sheet, f"{sheet.refused}: {denied}")
                return Answer(Asked.UNDELIVERED, reason=denied)
            outcome, choice = await self._put(turn, terms, sheet, until)
            if choice is None or choice is DECLINE:
                return Answer(outcome)
            if question.form is None:
                return Answer(outcome, choice=str(choice.value))
            if sheet.field is not None and choice is not SKIP:
                values[sheet.field.name] = choice.value
        return Answer(Asked.ANSWERED, values=values)

    async def answer(self, ident: str, given: int | str) -> str:
        """An operator has pressed the button of that number, or typed a text. Returns what to tell that person; raises
        `Refused`."""
        entry = self._open.get(ident)
        if entry is None:
            return KEPT if await self._keep(ident, given) else DECIDED
        if entry.chosen.done():
            return DECIDED
        choice = entry.sheet.choice(given)
        entry.chosen.set_result(choice)
        return choice.label

    def at(self, place: Place) -> str:
        """What is asked at a place for the longest time. Raises `Refused`."""
        for ident, entry in self._open.items():
            if entry.place is not None and self._ledger.led(entry.place) == place and not entry.chosen.done():
                return ident
        raise Refused(Code.INVALID_REQUEST, "no agent asks anything here now", remedy="There is nothing to do.")

    def drop(self, turn: TurnId) -> None:
        """The turn is stopped, or has ended: its questions need no answer."""
        for entry in self._open.values():
            if entry.turn == turn and not entry.chosen.done():
                entry.chosen.set_result(None)
        for ident in [ident for ident in self._early if _turn_of(ident) == turn]:
            del self._early[ident]

    def leave(self) -> None:
        """The bridge ends: what is open stays as it stands, for the next one to ask again."""
        self._left = True

    async def _put(self, turn: Turn, terms: Terms, sheet: Sheet, until: float | None) -> tuple[Asked, Choice | None]:
        entry = _Open(turn.id, terms.place, sheet, asyncio.get_running_loop().create_future())
        self._open[sheet.ident] = entry
        try:
            with suppress(Refused):
                if (early := self._early.pop(sheet.ident, None)) is not None:
                    entry.chosen.set_result(sheet.choice(early))
            if not entry.chosen.done():
                await self._tell(turn, terms, sheet, buttons=sheet.buttons)
            outcome, choice = await self._outcome(entry, until)
            late = "withdrawn: stopped" if outcome is Asked.CANCELLED else f"{sheet.refused}: no answer in time"
            await self._tell(turn, terms, sheet, late if choice is None else choice.label)
        except asyncio.CancelledError:
            # Who is cancelled waits for no store that is out of reach.
            entry.chosen.cancel()
            if not self._left:
                with suppress(Refused):
                    await self._ledger.do(lambda work: _show(work, turn, terms, sheet, "withdrawn"))
            raise
        finally:
            if self._open.get(sheet.ident) is entry:
                del self._open[sheet.ident]
        return outcome, choice

    async def _outcome(self, entry: _Open, until: float | None) -> tuple[Asked, Choice | None]:
        """Waits for an operator's word, or for the turn's end, `until` then at most."""
        if until is not None and not entry.chosen.done():
            life_s = self._ledger.limits.question_timeout_s
            left_s = min(max(until - self._ledger.clock.now(), 0), life_s)
            over = asyncio.ensure_future(self._ledger.clock.sleep(left_s))
            either: list[asyncio.Future[Any]] = [entry.chosen, over]
            try:
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            finally:
                over.cancel()
            if not entry.chosen.done():
                entry.chosen.cancel()
                return Asked.TIMED_OUT, None
        choice = await entry.chosen
        return (Asked.CANCELLED if choice is None else Asked.ANSWERED), choice

    async def _keep(self, ident: str, given: int | str) -> bool:
        """Keeps what is answered to a question that this bridge has still to ask again; its post shows whether it is
        open. One answer is kept, the first."""

        async def awaited(work: Work) -> bool:
            turn, post = await work.turn(_turn_of(ident)), await work.post(key_of(ident))
            if turn is None or not turn.live or turn.node != work.means.node or post is None:
                return False
            return any(isinstance(given, str) or one.action.endswith(f":{given}") for one in post.buttons)

        if not await self._ledger.do(awaited) or ident in self._early:
            return False
        if ident in self._open:
            return await self.answer(ident, given) != DECIDED
        self._early[ident] = given
        return True

    async def _tell(
        self, turn: Turn, terms: Terms, sheet: Sheet, ended: str | None = None, buttons: Sequence[Button] = ()
    ) -> None:
        await self._ledger.surely(lambda work: _show(work, turn, terms, sheet, ended, buttons))


async def _show(
    work: Work, turn: Turn, terms: Terms, sheet: Sheet, ended: str | None, buttons: Sequence[Button] = ()
) -> None:
    said = sheet.hint if ended is None else ended
    text = f"{sheet.text}\n· {said}" if said else sheet.text
    await show(work, sheet.key, terms.place, PostKind.QUESTION, text, buttons=buttons, session=turn.session)


def _turn_of(ident: str) -> TurnId:
    return TurnId(ident.partition(".")[0])
