"""Questions of agents for permission, put to the people at the session's place (DESIGN §4)."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from bridge import wording
from bridge.errors import Code, Refused
from bridge.flow.ledger import Ledger
from bridge.flow.showing import show
from bridge.flow.terms import BEHIND, terms_of
from bridge.flow.work import Work
from bridge.ids import Place, TurnId
from bridge.ports.runtime import Option, Question
from bridge.post import Button, PostKind
from bridge.turn import Turn


@dataclass(slots=True)
class _Open:
    turn: TurnId
    options: Sequence[Option]
    chosen: "asyncio.Future[str | None]"


class Questions:
    """An open question lives as long as the turn that asks it, so it is kept in memory only."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._open: dict[str, _Open] = {}

    async def ask(self, turn: Turn, question: Question) -> str | None:
        """The id of the option that an operator chose, or None: refused. On which terms is told by `terms_of`; where
        they deny it, or nobody answers in time, the place is told why."""
        terms = await self._ledger.surely(lambda work: terms_of(work, turn, question))
        tell = partial(self._telling, turn, terms.place)
        ident = self._ledger.ids.new()
        if terms.denied is not None:
            said = wording.permission_asked(turn.session, question.title, denied=True)
            await self._ledger.surely(tell(f"{said}\n· denied: {terms.denied}", ident))
            return None
        options = terms.options(question)
        entry = _Open(turn.id, options, asyncio.get_running_loop().create_future())
        self._open[ident] = entry
        buttons = [Button(option.label[:40], f"answer:{ident}:{number}") for number, option in enumerate(options)]
        asked = wording.permission_asked(turn.session, question.title) + (f"\n· {BEHIND}" if terms.by_peer else "")
        try:
            await self._ledger.surely(tell(asked, ident, buttons))
            if not await self._decided(entry):
                await self._ledger.surely(tell(f"{asked}\n· denied: no answer in time", ident))
                return None
            chosen = entry.chosen.result()
        except asyncio.CancelledError:
            # Who is cancelled waits for no store that is out of reach.
            with suppress(Refused):
                await self._ledger.do(tell(f"{asked}\n· withdrawn", ident))
            raise
        finally:
            del self._open[ident]
        label = next((option.label for option in options if option.id == chosen), "withdrawn: stopped")
        await self._ledger.surely(tell(f"{asked}\n· {label}", ident))
        return chosen

    def answer(self, ident: str, number: int) -> str:
        """An operator pressed a button. Returns what to tell that person; raises `Refused`."""
        entry = self._open.get(ident)
        if entry is None or entry.chosen.done():
            return "This has been decided, or is no longer asked."
        if not 0 <= number < len(entry.options):
            raise Refused(Code.INVALID_REQUEST, "there is no such option")
        option = entry.options[number]
        entry.chosen.set_result(option.id)
        return option.label

    def drop(self, turn: TurnId) -> None:
        """The turn was stopped: its questions need no answer."""
        for entry in self._open.values():
            if entry.turn == turn and not entry.chosen.done():
                entry.chosen.set_result(None)

    async def _decided(self, entry: _Open) -> bool:
        """Waits for an operator's word, for `question_timeout_s` at most; 0 or less waits without end."""
        life_s = self._ledger.limits.question_timeout_s
        if life_s <= 0:
            await entry.chosen
            return True
        over = asyncio.ensure_future(self._ledger.clock.sleep(life_s))
        either: list[asyncio.Future[Any]] = [entry.chosen, over]
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            over.cancel()
        return entry.chosen.done()

    def _telling(
        self, turn: Turn, place: Place | None, text: str, ident: str, buttons: Sequence[Button] = ()
    ) -> Callable[[Work], Awaitable[None]]:
        key = f"question:{ident}"
        return lambda work: show(work, key, place, PostKind.NOTICE, text, buttons=buttons, session=turn.session)
