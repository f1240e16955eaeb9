"""What the buttons under posts do. `from.id` was checked by the chat; who may decide is checked here."""

from bridge.caller import Caller
from bridge.errors import Code, Refused
from bridge.flow.approvals import Approvals
from bridge.flow.attempts import record_attempt
from bridge.flow.control import Control
from bridge.flow.ledger import Ledger
from bridge.flow.long_answers import LongAnswers
from bridge.flow.proposals import Proposals
from bridge.flow.questions import Questions
from bridge.grant import Scope
from bridge.ids import SYSTEM
from bridge.message import Origin
from bridge.ports.chat import Pressed

_APPROVES = {"ok": Scope.ONCE, "okc": Scope.CONVERSATION, "okp": Scope.PAIR}


class Buttons:
    def __init__(
        self, ledger: Ledger, control: Control, questions: Questions, approvals: Approvals, proposals: Proposals
    ) -> None:
        self._ledger = ledger
        self._control = control
        self._questions = questions
        self._approvals = approvals
        self._proposals = proposals
        self._long_answers = LongAnswers(ledger)

    async def press(self, pressed: Pressed) -> str:
        """Returns what to tell the person. Raises `Refused`; that somebody else has tried is in the audit."""
        verb, _, ident = pressed.action.partition(":")
        match verb:
            case "rest":
                return await self._long_answers.rest(pressed, ident)
            case "file":
                return await self._long_answers.file(pressed, ident)
            case _:
                return await self._decide(pressed, verb, ident)

    async def _decide(self, pressed: Pressed, verb: str, ident: str) -> str:
        by = Caller(
            SYSTEM, Origin.USER, place=pressed.place, person=pressed.person.id, operator=pressed.person.operator
        )
        if not by.operator:
            refused = Refused(Code.NOT_PERMITTED, "only an operator may decide this", remedy="Ask one of them.")
            await record_attempt(self._ledger, by, f"press {pressed.action}", refused)
            raise refused
        match verb:
            case "ok" | "okc" | "okp":
                return (await self._approvals.approve(by, ident, _APPROVES[verb], with_earlier=True)).said
            case "no":
                return (await self._approvals.deny(by, ident, with_earlier=True)).said
            case "yes" | "nay":
                return await self._proposals.decide(by, ident, accepted=verb == "yes")
            case "retry":
                return await self._control.retry(ident)
            case "discard":
                return await self._control.discard(ident)
            case "more":
                return await self._control.extend(by, ident)
            case "answer":
                ident, _, number = ident.rpartition(":")
                return await self._questions.answer(ident, int(number) if number.isdecimal() else -1)
            case _:
                raise Refused(Code.INVALID_REQUEST, "this button is not known any more")
