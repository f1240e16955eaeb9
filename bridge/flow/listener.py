"""What a running agent tells of its turn: stored, traced, shown while it works, and asked (DESIGN §5)."""

from collections.abc import Set
from dataclasses import replace

from bridge.flow.ledger import Ledger
from bridge.flow.progress import Progress
from bridge.flow.questions import Questions
from bridge.flow.unheard import Unheard
from bridge.flow.work import Work
from bridge.ids import MessageId
from bridge.message import State
from bridge.ports.runtime import Compressed, Event, ToolBegun, ToolEnded
from bridge.question import Answer, Question
from bridge.results import bounded_event
from bridge.trace import Step, StepKind
from bridge.turn import Turn

TRACED = 1_000
"""So many events of tools are traced of one turn."""

_READS = "peer_receive"
"""How the name ends under which agents announce the tool that reads mail."""


class TurnListener:
    """`bridge.ports.runtime.Listener` of one turn."""

    def __init__(self, ledger: Ledger, questions: Questions, unheard: Unheard, turn: Turn) -> None:
        self._ledger = ledger
        self._unheard = unheard
        self._questions = questions
        self._turn = turn
        self._begun = False
        self._traced = 0
        self._names: dict[str, str] = {}
        self.progress = Progress(ledger, turn)

    async def happened(self, event: Event, number: int = 0) -> None:
        event = bounded_event(event)
        self.progress.note(event)
        if isinstance(event, Compressed):
            await self._ledger.surely(lambda work: self._compressed(work, event, number))
        if not isinstance(event, ToolBegun | ToolEnded):
            return
        if isinstance(event, ToolBegun) and self._traced < TRACED:
            self._names[event.id] = event.name
        begins = isinstance(event, ToolBegun) and not event.reading and not self._begun
        self._begun = self._begun or begins
        self._traced += 1
        if begins or _read_in_vain(event) or self._traced <= TRACED:
            await self._ledger.surely(lambda work: self._tool(work, event, number, begins))

    async def asked(self, question: Question) -> Answer:
        return await self._questions.ask(self._turn, question)

    async def _tool(self, work: Work, event: ToolBegun | ToolEnded, number: int, begins: bool) -> None:
        """What it was called with, and what it gave, is in no trace: that may be anything."""
        current = await self._fresh(work, number)
        if current is None:
            return
        if number > 0 or (begins and not current.tools_begun):
            heard = max(current.heard, number)
            work.put(replace(current, heard=heard, tools_begun=current.tools_begun or begins))
        if _read_in_vain(event):
            await self._unread(work, current)
        ok = event.ok if isinstance(event, ToolEnded) else None
        name = event.name or self._names.get(event.id, event.id)
        for ident in current.inputs:
            message = await work.message(ident)
            if message is not None:
                work.step(
                    StepKind.TOOL,
                    message,
                    name=name,
                    title=event.title or None,
                    ok=ok,
                )

    async def _unread(self, work: Work, turn: Turn) -> None:
        """What such a call was to give has not been seen, whatever is stored of it, unless an earlier one had given it.
        That holds for later bridges too, and so it is stored itself."""
        for ident in self._unheard.shown_again(turn.id) - await _seen(work, turn):
            message = await work.message(ident)
            if message is not None and message.state is State.LEASED and message.turn == turn.id:
                work.put(replace(message, read_at=None))

    async def _compressed(self, work: Work, event: Compressed, number: int) -> None:
        current, session = await self._fresh(work, number), await work.session(self._turn.session)
        if current is not None and session is not None:
            work.put(replace(current, heard=max(current.heard, number)))
            work.put(replace(session, alias=event.alias))

    async def _fresh(self, work: Work, number: int) -> Turn | None:
        """The turn, unless it is over, or has heard that number."""
        current = await work.held(self._turn.id, self._turn.epoch)
        return None if current is None or 0 < number <= current.heard else current


def _read_in_vain(event: ToolBegun | ToolEnded) -> bool:
    return isinstance(event, ToolEnded) and not event.ok and event.name.endswith(_READS)


async def _seen(work: Work, turn: Turn) -> Set[MessageId]:
    """What the first call gave, where one has ended well by the word of the agent: inputs come before other mail."""
    read_at: dict[MessageId, float] = {}
    well = False
    for ident in turn.inputs:
        steps = [one for one in await work.store.steps(ident) if one.message == ident and one.at >= turn.started_at]
        well = well or any(one.step is StepKind.TOOL and _read_well(one) for one in steps)
        if reads := [one.at for one in steps if one.step is StepKind.READ]:
            read_at[ident] = min(reads)
    return {ident for ident, at in read_at.items() if well and at == min(read_at.values())}


def _read_well(step: Step) -> bool:
    return bool(step.detail.get("ok")) and str(step.detail.get("name")).endswith(_READS)
