"""Running a turn: agent, prompt, what happens in it, and its end (DESIGN §5)."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from bridge.flow.agents import Agents
from bridge.flow.beginning import announced_before, prompted
from bridge.flow.ledger import Ledger
from bridge.flow.listener import TurnListener
from bridge.flow.questions import Questions
from bridge.flow.replay import replayed_doubt
from bridge.flow.turn_end import end_turn, lose_turn
from bridge.flow.unheard import Unheard
from bridge.flow.work import Work
from bridge.ids import SessionId, TurnId
from bridge.ports.runtime import Agent, Execution, Listener, Result, StartFailed
from bridge.session import Session
from bridge.turn import Failure, FailureKind, Process, Turn

_T = TypeVar("_T")
STOPPED = Result("", "cancelled", cancelled=True)
_LEFT = "the bridge stopped in the middle of the turn"

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
        await self._to_its_end(run, turn, self._result(run, turn))

    async def expect(self, turn: Turn) -> None:
        """A turn whose agent was adopted goes on soon: what the agent does until then is of that turn. What it was
        reading may have been on its way when the earlier bridge ended."""
        everything = await self._ledger.surely(lambda work: work.store.read_in(turn.id))
        read = [one for one in everything if not one.from_person]  # whose words were in the prompt
        # An answer to a wait that the death cut off has come to nobody, and there is no other that would tell of it.
        beside = [one for one in read if one.id not in turn.inputs]
        answers = {one.id for one in beside if not one.takes_room}
        self._unheard.add(turn.id, answers)
        # Who asked for more had come by what was given before.
        last = max((one.read_at or 0 for one in read), default=0)
        self._unheard.doubt(turn.id, {one.id for one in read if one.read_at == last} - answers)
        self._expected[turn.session] = turn

    def expect_no_more(self, turn: Turn) -> None:
        """It has ended before it went on."""
        self._expected.pop(turn.session, None)
        self._unheard.forget(turn.id)

    async def go_on(self, run: Run, turn: Turn, agent: Agent) -> None:
        """Goes on with a turn at which an earlier bridge has left its agent, to its stored end."""
        run.turn, run.agent = turn, agent
        self._expected.pop(turn.session, None)
        if run.stopped:
            # Before there was an agent to be told of it.
            await self._agents.retire(turn.session)
        log.info("%s: its turn goes on where an earlier bridge left it", turn.session)
        await self._to_its_end(run, turn, self._told(turn, lambda listener: agent.rejoin(listener, turn.heard)))

    async def _to_its_end(self, run: Run, turn: Turn, working: Coroutine[Any, Any, Result | None]) -> None:
        """Does the work on a turn, and stores what came of it. Where that is unknown, it is decided once the agent is
        gone."""
        if run.stopped:
            working.close()
        try:
            result = await self._kept(run, turn, self._guarded(run, turn, working))
            if result is not None and result.unbegun:
                await self._give_back(run, turn, result)
                return
            if run.stopped or (result is not None and not result.unsure):
                await self._end(run, turn, STOPPED if result is None else result)
                return
            now = await self._ledger.surely(lambda work: work.held(turn.id, turn.epoch))
            if now is None or not now.prompt_sent:
                await self._end(run, turn, STOPPED if result is None else result)
                return
            await self._agents.retire(turn.session)
        finally:
            await self._let_go(run, turn)
        agent, run.agent = run.agent, None
        reason = result.failure.detail if result is not None and result.failure is not None else _LEFT
        log.warning("%s: nobody knows how far its turn came: %s", turn.session, reason)
        await self.decide(run, now, reason)
        if agent is not None:
            await agent.forget()

    async def _give_back(self, run: Run, turn: Turn, result: Result) -> None:
        """Its agent has not begun with it, and will not. Unless a person has stopped it, what it was about waits."""
        if run.stopped:
            await self._end(run, turn, STOPPED)
            return
        reason = result.final or "its agent had not begun with it"
        await self._ledger.surely(lambda work: lose_turn(work, turn, reason, unbegun=True))
        run.ended = True
        if run.agent is not None:
            await run.agent.forget()

    async def decide(self, run: Run, turn: Turn, reason: str = _LEFT) -> None:
        """Decides what becomes of a turn of which nobody knows how far it came, once its agent is gone."""
        run.turn = turn
        try:
            doubt: str | None = "it had begun to use tools"
            if not turn.tools_begun:
                asking = replayed_doubt(self._ledger, self._agents, turn, partial(self._born, turn))
                doubt = await self._kept(run, turn, asking)
            if run.stopped:
                await self._end(run, turn, STOPPED)
            else:
                await self._ledger.surely(lambda work: lose_turn(work, turn, reason, doubt=doubt))
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

    async def stop(self, session: SessionId, *, only: TurnId | None = None) -> bool:
        """Ends the running turn, also while its agent is starting, and returns once its end is stored. False
        where none ran, or another than the `only` one that is meant."""
        run = self._runs.get(session)
        if run is None or (only is not None and (run.turn is None or run.turn.id != only)):
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

    def present(self, session: Session) -> bool:
        """As `Agents.present`."""
        return self._agents.present(session)

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
        if self._agents.deaf(session.id) and await self._ledger.surely(lambda work: announced_before(work, turn)):
            log.warning("%s: its agent is without its tools, and is started again", session.id)
            await self._agents.retire(session.id)
        try:
            agent = await self._agents.ready(session, partial(self._born, turn))
        except StartFailed as failed:
            return Result("", "failed", failed.failure)
        run.agent = agent
        prompt = await self._ledger.surely(lambda work: prompted(work, turn, agent, embeds=self._agents.embeds))
        if run.stopped or prompt is None:
            return STOPPED
        prompt = replace(prompt, execution=Execution(turn.id, turn.epoch))
        return await self._told(turn, partial(agent.prompt, prompt))

    async def _told(self, turn: Turn, working: Callable[[Listener], Awaitable[_T]]) -> _T:
        """What a prompt comes to, while its people see what it does."""
        listener = TurnListener(self._ledger, self._questions, self._unheard, turn)
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


async def renew(work: Work, turn: Turn) -> bool:
    """Holds the lease of a turn for another `lease_s`. False where it is over, or was taken over, or is that of a child
    that has been closed."""
    current = await work.held(turn.id, turn.epoch)
    session = await work.session(turn.session)
    retired = session is not None and session.parent is not None and session.closed_at is not None
    if current is not None and not retired:
        work.put(current.renewed(work.now + work.limits.lease_s))
    return current is not None and not retired
