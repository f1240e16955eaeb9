"""Running a turn: agent, prompt, what happens in it, and its end (DESIGN §5)."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from bridge import wording
from bridge.flow.agents import Agents
from bridge.flow.ledger import Ledger
from bridge.flow.progress import Progress
from bridge.flow.prompting import prompt_of
from bridge.flow.questions import Questions
from bridge.flow.replay import replayed_doubt
from bridge.flow.settlement import show_status
from bridge.flow.showing import show
from bridge.flow.turn_end import end_turn, lose_turn
from bridge.flow.unheard import Unheard
from bridge.flow.work import Work
from bridge.history import digest
from bridge.ids import SessionId
from bridge.message import Intent, Message
from bridge.ports.runtime import (
    Agent,
    Compressed,
    Context,
    Event,
    Execution,
    Listener,
    Prompt,
    Result,
    StartFailed,
    ToolBegun,
    ToolEnded,
)
from bridge.post import PostKind
from bridge.question import Answer, Question
from bridge.results import bounded_event
from bridge.session import Session
from bridge.trace import StepKind
from bridge.turn import Failure, FailureKind, Process, Turn, TurnState

_T = TypeVar("_T")
STOPPED = Result("", "cancelled", cancelled=True)
TRACED = 1_000
"""So many events of tools are traced of one turn."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Run:
    """A turn under way, from before it is stored until its end is. `stopped` is set once it is to come to its end,
    whatever it is doing then, and `ended` once that is stored."""

    turn: Turn | None = None
    task: "asyncio.Task[object] | None" = None
    agent: Agent | None = None
    stopped: bool = False
    ended: bool = False
    over: asyncio.Event = field(default_factory=asyncio.Event)


class Turns:
    def __init__(self, ledger: Ledger, agents: Agents, questions: Questions, unheard: Unheard) -> None:
        self._ledger = ledger
        self._agents = agents
        self._questions = questions
        self._unheard = unheard
        self._runs: dict[SessionId, Run] = {}
        self._expected: dict[SessionId, Turn] = {}
        self._held: set[SessionId] = set()

    @contextmanager
    def opening(self, session: SessionId) -> Iterator[Run]:
        """Makes the session's next turn known before it is stored, so that no stop can miss it."""
        run = self._runs[session] = Run()
        try:
            yield run
        finally:
            del self._runs[session]
            run.over.set()

    async def run(self, run: Run, turn: Turn) -> None:
        """Runs a turn that has been stored as starting, to its stored end."""
        run.turn = turn
        try:
            result = await self._kept(run, turn, self._guarded(run, turn, self._result(run, turn)))
            await self._end(run, turn, STOPPED if result is None else result)
        finally:
            await self._let_go(run, turn)

    async def expect(self, turn: Turn) -> None:
        """A turn whose agent was adopted goes on soon: what the agent does until then is of that turn. What it was
        reading may have been on its way when the earlier bridge ended."""
        read = await self._ledger.surely(lambda work: work.store.read_in(turn.id))
        self._unheard.doubt(turn.id, {one.id for one in read})
        self._expected[turn.session] = turn

    async def go_on(self, run: Run, turn: Turn, agent: Agent) -> None:
        """Goes on with a turn at which an earlier bridge has left its agent, to its stored end."""
        run.turn, run.agent = turn, agent
        self._expected.pop(turn.session, None)
        log.info("%s: its turn goes on where an earlier bridge left it", turn.session)
        try:
            telling = self._told(turn, lambda listener: agent.rejoin(listener, turn.heard))
            result = await self._kept(run, turn, self._guarded(run, turn, telling))
            if run.stopped and run.task is None:
                # It was stopped before anybody listened to it again: nobody else would end it.
                await self._agents.retire(turn.session)
            if result is not None or run.stopped:
                await self._end(run, turn, STOPPED if result is None else result)
                return
        finally:
            await self._let_go(run, turn)
        run.agent = None
        now = await self._ledger.surely(lambda work: work.turn(turn.id))
        await self.decide(run, now or turn)
        await agent.forget()

    async def decide(self, run: Run, turn: Turn) -> None:
        """Decides what becomes of a turn that an earlier bridge has left in the middle, once its agent is gone."""
        run.turn = turn
        try:
            doubt: str | None = "it had begun to use tools"
            if not turn.tools_begun:
                asking = replayed_doubt(self._ledger, self._agents, turn, partial(self._born, turn))
                doubt = await self._kept(run, turn, asking)
            if run.stopped:
                await self._end(run, turn, STOPPED)
            else:
                await self._ledger.surely(lambda work: lose_turn(work, turn, doubt=doubt))
        finally:
            self._agents.release(turn.session)

    async def _kept(self, run: Run, turn: Turn, working: Coroutine[Any, Any, _T]) -> _T | None:
        """What the work on a turn comes to, while its lease is kept. None where it was stopped."""
        if run.stopped:
            working.close()
            return None
        async with asyncio.TaskGroup() as group:
            keeping = group.create_task(self._keep(run, turn))
            task = run.task = group.create_task(working)
            task.add_done_callback(lambda _: keeping.cancel())
        return None if run.stopped or task.cancelled() else task.result()

    async def stop(self, session: SessionId) -> bool:
        """Ends the running turn, also while its agent is starting, and returns once its end is stored. False
        where none ran."""
        run = self._runs.get(session)
        if run is None:
            return False
        run.stopped = True
        if run.turn is not None:
            self._questions.drop(run.turn.id)
        if run.agent is not None:
            await run.agent.cancel(self._ledger.limits.stop_grace_s)
        elif run.task is not None:
            run.task.cancel()
        await run.over.wait()
        return run.turn is not None

    def leave(self) -> None:
        """The bridge ends: what is cut off from now on is left to the next one."""
        self._questions.leave()

    @contextmanager
    def held(self, session: SessionId) -> Iterator[None]:
        """Lets no turn of the session begin meanwhile. Whoever holds hints its lane afterwards."""
        self._held.add(session)
        try:
            yield
        finally:
            self._held.discard(session)

    def may_begin(self, session: SessionId) -> bool:
        return session not in self._held

    def embeds(self, session: Session) -> bool:
        """Whether the session's agent has no tools to read with, and gets peers' text in its prompt."""
        return self._agents.embeds(session)

    def current(self, session: SessionId) -> Turn | None:
        """The turn that this node runs for the session, as it was when it began."""
        run = self._runs.get(session)
        return run.turn if run is not None and run.turn is not None else self._expected.get(session)

    def opened(self, session: SessionId) -> bool:
        """Whether a turn of the session is under way here, or its lane looks whether one may be."""
        return session in self._runs

    def running(self) -> int:
        return sum(run.turn is not None for run in self._runs.values())

    async def _keep(self, run: Run, turn: Turn) -> None:
        """Renews the lease at half-life while the turn runs. Once another node has taken it over, the agent must not
        go on: what it does might be done a second time."""
        renewed = True
        while renewed:
            await self._ledger.clock.sleep(self._ledger.limits.lease_s / 2)
            renewed = await self._ledger.surely(lambda work: renew(work, turn))
        log.warning("%s: its turn was taken over by another bridge, or its parent's is over: it ends", turn.session)
        run.stopped = True
        self._questions.drop(turn.id)
        if run.agent is not None:
            await self._agents.retire(turn.session)
        elif run.task is not None:
            run.task.cancel()

    async def _let_go(self, run: Run, turn: Turn) -> None:
        """A turn that is cut off, since the bridge ends, is left to the next one with its agent."""
        self._unheard.forget(turn.id)
        self._questions.drop(turn.id)
        if run.ended and run.agent is not None and not run.agent.alive:
            await self._agents.retire(turn.session)
        self._agents.release(turn.session)

    async def _end(self, run: Run, turn: Turn, result: Result) -> None:
        if result.failure is not None:
            log.warning("%s: its turn failed (%s): %s", turn.session, result.failure.kind, result.failure.detail)
        try:
            await self._ledger.surely(lambda work: end_turn(work, turn, result, self._unheard.by(turn.id)))
        except Exception:
            # What cannot be settled as it ended must not hold its session for ever: its people decide.
            log.exception("%s: the end of its turn could not be stored", turn.session)
            await self._ledger.surely(lambda work: lose_turn(work, turn, "the end of the turn could not be stored"))
        run.ended = True
        if run.agent is not None:
            await run.agent.forget()

    async def _guarded(self, run: Run, turn: Turn, working: Coroutine[Any, Any, _T]) -> _T | Result:
        try:
            return await working
        except Exception as defect:
            # A defect of ours or of a runtime must leave neither the lane nor the turn behind as they are.
            log.exception("%s: its turn ended by a defect", turn.session)
            if run.agent is not None:
                await self._agents.retire(turn.session)
            return Result("", "failed", Failure(FailureKind.CRASH, f"an internal error: {type(defect).__name__}"))

    async def _result(self, run: Run, turn: Turn) -> Result:
        session = await self._ledger.surely(lambda work: work.session(turn.session))
        if session is None:
            return Result("", "failed", Failure(FailureKind.CONFIG, f"{turn.session} does not exist"))
        if self._agents.deaf(session.id) and await self._ledger.surely(lambda work: _announced_before(work, turn)):
            log.warning("%s: its agent is without its tools, and is started again", session.id)
            await self._agents.retire(session.id)
        try:
            agent = await self._agents.ready(session, partial(self._born, turn))
        except StartFailed as failed:
            return Result("", "failed", failed.failure)
        run.agent = agent
        prompt = await self._ledger.surely(lambda work: self._prompted(work, turn, agent))
        if run.stopped or prompt is None:
            return STOPPED
        prompt = replace(prompt, execution=Execution(turn.id, turn.epoch))
        return await self._told(turn, partial(agent.prompt, prompt))

    async def _told(self, turn: Turn, working: Callable[[Listener], Awaitable[_T]]) -> _T:
        """What a prompt comes to, while its people see what it does."""
        listener = _Listener(self._ledger, self._questions, turn)
        async with asyncio.TaskGroup() as group:
            showing = group.create_task(listener.progress.run())
            try:
                return await working(listener)
            finally:
                showing.cancel()

    async def _born(self, turn: Turn, process: Process) -> None:
        """Stores the process before it can act, so that a later bridge is sure to end it."""

        async def body(work: Work) -> None:
            current = await work.held(turn.id, turn.epoch)
            if current is not None:
                work.put(replace(current, process=process))

        await self._ledger.surely(body)

    async def _prompted(self, work: Work, turn: Turn, agent: Agent) -> Prompt | None:
        """Stores what a later bridge must know before the agent is at work: its process, and that it was prompted.
        None where the turn is over already."""
        current = await work.held(turn.id, turn.epoch)
        session = await work.session(turn.session)
        inputs = [message for one in turn.inputs if (message := await work.message(one)) is not None]
        if current is None or session is None:
            return None
        if agent.context is Context.LOST and session.alias != agent.alias:
            await show(work, f"lost:{turn.id}", turn.place, PostKind.NOTICE, wording.CONTEXT_LOST, session=session.id)
        if session.alias != agent.alias:
            work.put(replace(session, alias=agent.alias))
        embeds = self._agents.embeds(session)
        prompt = prompt_of(inputs, embeds=embeds, peer_mode=session.habits.peer_mode)
        if agent.left:
            running = wording.left_running(agent.left)
            prompt = replace(prompt, notice="\n".join(filter(None, (running, prompt.notice))))
            await show(work, f"left:{turn.id}", turn.place, PostKind.NOTICE, running, session=session.id)
        if current.state is TurnState.RUNNING:  # stored by an attempt whose success was not heard of
            return prompt
        sent = digest([*agent.opening, *prompt.parts])
        for message in inputs:
            if message.from_person or embeds:
                work.put(replace(message, read_at=work.now))
                work.step(StepKind.READ, message)
        work.put(
            replace(
                current.moved(TurnState.RUNNING),
                process=agent.process,
                prompt_sent=True,
                prompt=sent,
                occurrence=agent.history.prompts.count(sent) + 1,
                peer_read=current.peer_read or (embeds and not all(one.from_person for one in inputs)),
            )
        )
        return prompt


async def renew(work: Work, turn: Turn) -> bool:
    """Holds the lease of a turn for another `lease_s`. False where it is over, or was taken over, or is that of a child
    that has been closed."""
    current = await work.held(turn.id, turn.epoch)
    session = await work.session(turn.session)
    retired = session is not None and session.parent is not None and session.closed_at is not None
    if current is not None and not retired:
        work.put(current.renewed(work.now + work.limits.lease_s))
    return current is not None and not retired


async def _announced_before(work: Work, turn: Turn) -> bool:
    """Whether an earlier turn over the same input ended without its being read."""
    inputs = [await work.message(one) for one in turn.inputs]
    return any(message.unread for message in inputs if message is not None)


class _Listener:
    """What the running agent tells, as `bridge.ports.runtime.Listener`."""

    def __init__(self, ledger: Ledger, questions: Questions, turn: Turn) -> None:
        self._ledger = ledger
        self._questions = questions
        self._turn = turn
        self._begun = False
        self._traced = 0
        self.progress = Progress(ledger, turn)

    async def happened(self, event: Event, number: int = 0) -> None:
        event = bounded_event(event)
        self.progress.note(event)
        if isinstance(event, Compressed):
            await self._ledger.surely(lambda work: self._compressed(work, event, number))
        if not isinstance(event, ToolBegun | ToolEnded):
            return
        begins = isinstance(event, ToolBegun) and not event.reading and not self._begun
        self._begun = self._begun or begins
        self._traced += 1
        if begins or self._traced <= TRACED:
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
        ok = event.ok if isinstance(event, ToolEnded) else None
        for ident in current.inputs:
            message = await work.message(ident)
            if message is not None:
                work.step(StepKind.TOOL, message, name=event.name or event.id, title=event.title or None, ok=ok)

    async def _compressed(self, work: Work, event: Compressed, number: int) -> None:
        current, session = await self._fresh(work, number), await work.session(self._turn.session)
        if current is not None and session is not None:
            work.put(replace(current, heard=max(current.heard, number)))
            work.put(replace(session, alias=event.alias))

    async def _fresh(self, work: Work, number: int) -> Turn | None:
        """The turn, unless it is over, or has heard that number."""
        current = await work.held(self._turn.id, self._turn.epoch)
        return None if current is None or 0 < number <= current.heard else current


async def start_turn(work: Work, session: Session, turn: Turn, inputs: Sequence[Message]) -> None:
    """Leases the inputs to a new turn, in one change with the turn itself."""
    work.put(turn)
    work.put(replace(session, last_seen=work.now))
    for message in inputs:
        leased = replace(message.to_leased(turn.id), woken_at=message.woken_at or work.now)
        work.put(leased)
        work.step(StepKind.LEASED, leased, epoch=leased.epoch)
        if message.woken_at is None:
            work.step(StepKind.WOKEN, leased, turn=turn.id, agent=session.answers)
        if message.intent is not Intent.INPUT:
            await show_status(work, leased, wording.WOKEN if message.woken_at is None else "woken again")
