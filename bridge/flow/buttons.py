"""What the buttons under posts do. `from.id` was checked by the chat; who may decide is checked here."""

from dataclasses import replace

from bridge.caller import Caller
from bridge.errors import Code, Refused
from bridge.flow import deciding, long_answers, picking
from bridge.flow.approvals import Approvals
from bridge.flow.attempts import record_attempt
from bridge.flow.commands.deleting import Deleting
from bridge.flow.commands.queue import Queue
from bridge.flow.control import Control
from bridge.flow.ledger import Ledger
from bridge.flow.long_answers import LongAnswers
from bridge.flow.picking import Picking
from bridge.flow.progress import unfold
from bridge.flow.proposals import Proposals
from bridge.flow.questions import Questions
from bridge.flow.work import Work
from bridge.grant import Scope
from bridge.ids import SYSTEM, Place, TurnId, scheme_of
from bridge.message import Origin
from bridge.ports.chat import Heard, Pressed
from bridge.post import Post, PostState

_APPROVES = {"ok": Scope.ONCE, "okc": Scope.CONVERSATION, "okp": Scope.PAIR}


class Buttons:
    def __init__(
        self,
        ledger: Ledger,
        control: Control,
        questions: Questions,
        approvals: Approvals,
        proposals: Proposals,
        picking: Picking,
        queue: Queue,
        deleting: Deleting,
    ) -> None:
        self._ledger = ledger
        self._control = control
        self._questions = questions
        self._approvals = approvals
        self._proposals = proposals
        self._picking = picking
        self._queue = queue
        self._deleting = deleting
        self._long_answers = LongAnswers(ledger)

    async def press(self, pressed: Pressed) -> str:
        """Returns what to tell the person. Raises `Refused`; that somebody else has tried is in the audit."""
        post = await self._post(pressed.place, pressed.receipt)
        try:
            return await self._press(pressed, post)
        finally:
            if post is not None:
                await self._ledger.do(lambda work: _show_again(work, post.key, pressed.action))

    async def asked(self, heard: Heard) -> bool:
        """Whether it replies to a post that asks for a decision, and can be nothing but that."""
        post = await self._post(heard.place, heard.reply_to)
        return post is not None and deciding.asks(post)

    async def said(self, heard: Heard) -> str | None:
        """What came of a text that presses a button of the post that it replies to. None where it presses none. Raises
        as `press` does."""
        post = await self._post(heard.place, heard.reply_to)
        button = deciding.meant(post, heard.text) if post is not None and not heard.passed_on else None
        if button is None:
            return None
        return await self.press(Pressed(heard.place, heard.person, button.action, heard.reply_to))

    async def _press(self, pressed: Pressed, post: Post | None) -> str:
        verb, _, ident = pressed.action.partition(":")
        if verb in ("tools", "fold"):
            return await self._unfold(pressed.place, TurnId(ident), folded_again=verb == "fold")
        if verb in long_answers.VERBS:
            return await self._long_answers.press(pressed, verb, ident)
        if verb in picking.VERBS:
            return await self._picking.press(pressed, post)
        by = Caller(
            SYSTEM, Origin.USER, place=pressed.place, person=pressed.person.id, operator=pressed.person.operator
        )
        if not by.operator:
            refused = Refused(Code.NOT_PERMITTED, "only an operator may decide this", remedy="Ask one of them.")
            await record_attempt(self._ledger, by, f"press {pressed.action}", refused)
            raise refused
        match verb:
            case "stop":
                return await self._control.stop_turn(ident)
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
            case "clear" | "keep":
                return await self._queue.decide(post, pressed)
            case "delete" | "stay":
                return await self._deleting.decide(post, pressed)
            case "answer":
                ident, _, number = ident.rpartition(":")
                return await self._questions.answer(ident, int(number) if number.isdecimal() else -1)
            case _:
                raise Refused(Code.INVALID_REQUEST, "this button is not known any more")

    async def _post(self, place: Place, receipt: str | None) -> Post | None:
        if receipt is None:
            return None
        post = await self._ledger.store.sent_post(scheme_of(place), receipt)
        return post if post is not None and post.place == place else None

    async def _unfold(self, place: Place, turn: TurnId, *, folded_again: bool) -> str:
        """Whoever is at the place has seen it all before."""
        return await self._ledger.do(lambda work: unfold(work, turn, place, folded_again=folded_again))


async def _show_again(work: Work, key: str, action: str) -> None:
    """Whoever pressed a button that its post does not have any more looks at something older than what happened."""
    post = await work.post(key)
    if post is not None and post.state is PostState.SENT and all(one.action != action for one in post.buttons):
        work.put(replace(post, state=PostState.PENDING))
        work.then(work.wake.outbox)
