"""Agents' processes, each with the worker that hosts it: they outlive the bridge that has started them, until somebody
ends them, or nobody goes on with them in time."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from bridge.caller import Caller
from bridge.errors import Refused
from bridge.flow.exchange import Exchange
from bridge.history import Called, History, digest
from bridge.ids import MessageId
from bridge.message import Intent, Message, Origin
from bridge.ports.runtime import Event, Execution, Launch, Prompt, Result, ToolBegun
from bridge.question import Answer, Question
from bridge.turn import Failure, FailureKind, Process
from bridge.views import Mail
from tests.simulation.journal import brief
from tests.simulation.loop import Owner
from tests.simulation.scenario import Misfortune
from tests.simulation.script import Script
from tests.simulation.world import Disconnected, World

if TYPE_CHECKING:
    from tests.simulation.node import Life

T = TypeVar("T")

PEER, PERSON = "peer said", "person said"


@dataclass(frozen=True, slots=True)
class Asked:
    question: Question
    answer: "asyncio.Future[Answer]"


@dataclass(slots=True)
class Run:
    """One prompt at work, and what is on record of it until its end is stored. `acting` is what its final text is
    about; `inputs` are those of its turn, `shown` what the agent has been shown in it, `acted` whether it has used a
    tool. What it has `told` is numbered from 1 on, and heard of up to `heard`. It may be `over` without a result."""

    execution: Execution
    inputs: tuple[MessageId, ...] = ()
    acting: MessageId | None = None
    shown: list[MessageId] = field(default_factory=list)
    acted: bool = False
    asked: int = 0
    told: list[Event | Asked] = field(default_factory=list)
    heard: int = 0
    result: Result | None = None
    over: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self, what: Event | Asked) -> None:
        self.told.append(what)
        self.changed.set()

    def end(self, result: Result | None) -> None:
        self.result, self.over = result, True
        self.changed.set()


@dataclass(slots=True)
class Memory:
    """What an agent's context holds. It outlives processes; not every agent replays it."""

    replays: bool
    prompts: list[str] = field(default_factory=list)
    calls: list[Called] = field(default_factory=list)

    def told(self) -> History:
        return History(tuple(self.prompts), tuple(self.calls)) if self.replays else History()


class AgentProcess:
    """What a script runs in. Only its own end, or somebody who ends it, stops it."""

    def __init__(self, world: World, life: "Life", launch: Launch, number: int, chance: random.Random) -> None:
        self.world = world
        self.life = life
        self.launch = launch
        self.session = launch.session
        self.token = launch.secrets["TIELINE_TOKEN"]
        self.process = Process(number, f"birth-{number}")
        self.chance = chance
        self.owner = Owner(f"agent-{number}")
        self.memory = Memory(replays=False)
        self.alive = True
        self.connected = True
        self.run: Run | None = None
        self.record: Run | None = None
        self.calls = 0
        self._claims = 0
        self._cancelled = False
        self._task: asyncio.Task[None] | None = None

    # What the bridge does with it

    def begin(self, prompt: Prompt) -> Run:
        self._judge(prompt)
        self._cancelled = False
        self.memory.prompts.append(digest(prompt.parts))
        self.memory.calls.clear()
        assert self.run is not None
        self._task = self.world.loop.create_task(self._work(prompt), context=self.owner.context)
        return self.run

    def claim(self, life: "Life", execution: Execution) -> Run | None:
        """A bridge wants to go on with a turn. None where the worker has another one on record, or none."""
        run = self.record
        if run is None or run.execution.turn != execution.turn:
            return None
        if execution.epoch <= run.execution.epoch:
            self.world.broke("4 epoch", f"{life.name} adopts {execution} over {run.execution}", execution.turn)
        if self.world.is_child(self.session):
            self.world.broke("child", f"{self.session} is a child, and is adopted", self.session)
        run.execution = execution
        self.life = life
        self._claims += 1
        return run

    def abandon(self) -> None:
        """The bridge is gone. Without another one in the grace time, it ends."""
        grace_s = self.world.scenario.limits.worker_grace_s
        self.world.loop.call_later(grace_s, self._unclaimed, self._claims, context=self.owner.context)

    def _unclaimed(self, claims: int) -> None:
        if self._claims == claims and self.alive:
            if self.run is not None:
                self.world.counted["ended alone"] += 1
            self.kill("nobody has adopted it")

    def forget(self) -> None:
        if self.run is None:
            self.record = None

    def lose_worker(self) -> None:
        """The worker dies, and with it what the agent has told last, and its agent."""
        run = self.run
        if run is not None:
            del run.told[max(run.heard, len(run.told) - self.chance.choice((0, 1, 3))) :]
        self.kill("its worker has died")

    async def cancel(self, grace_s: float) -> None:
        if self.run is None or self._task is None:
            return
        if self.world.suffers(Misfortune.AGENTS) and self.chance.random() < 0.2:
            await asyncio.sleep(grace_s)
            self.kill("cancelled", Result("", "cancelled", cancelled=True))
        else:
            self._cancelled = True
            self._task.cancel()

    def crash(self, why: str) -> None:
        """The agent ends, and its worker has heard all that it had to say."""
        self.kill(why, Result("", "failed", Failure(FailureKind.CRASH, why, retryable=True)))

    def kill(self, why: str, result: Result | None = None) -> None:
        if not self.alive:
            return
        self.alive = self.connected = False
        self.world.note(f"{self.owner.name} of {self.session} is gone: {why}")
        self._over(result)
        self.owner.kill()

    # What a script does

    async def tool(
        self, do: Callable[[Exchange, Caller], Awaitable[T]], *, reads: bool = False, again: bool = False
    ) -> T:
        """Calls the bridge as this agent's session. Raises `Refused`, or `Disconnected`. What is read does not get
        lost on its way: between an agent and its bridge that takes the death of one of them. With `again` it is asked
        of the next bridge where that happens, and the agent does not notice."""

        async def body(exchange: Exchange) -> T:
            bound = exchange.token_session(self.token)
            if bound is None:
                raise Disconnected
            caller = await exchange.caller(None, origin=Origin.PEER, bound=bound)
            result = await do(exchange, caller)
            with suppress(Refused):
                await exchange.mail_waits(caller)  # the hint that stands beside what a tool returns
            return result

        while True:
            if not self.connected:
                raise Disconnected
            try:
                return await self.life.call(body, breaks=not reads)
            except Disconnected:
                if not again:
                    raise
            await self.world.loop.sleep(0.5)

    def tell(self, event: Event) -> None:
        if isinstance(event, ToolBegun):
            self.memory.calls.append(Called(event.name, event.reading))
        if self.run is not None:
            self.run.tell(event)

    async def ask(self, question: Question) -> Answer:
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        if self.run is not None:
            self.run.asked += 1
            self.run.tell(Asked(replace(question, number=self.run.asked), answer))
        return await answer

    def act(self) -> None:
        """An effect on the world outside: it cannot be undone."""
        if self.run is not None:
            self.run.acted = True
            self._remember(self.run)

    def read(self, mail: tuple[Mail, ...]) -> None:
        run = self.run
        for one in mail:
            self.world.seen.add(one.message_id)
            if one.origin == Origin.USER and PERSON not in one.text:
                self.world.broke("7 origin", f"{one.message_id} of a peer was shown as a person's", one.message_id)
            if run is not None:
                run.shown.append(one.message_id)
        if run is not None:
            self._remember(run)

    # How it ends, and what it may begin with

    async def _work(self, prompt: Prompt) -> None:
        try:
            self._over(await Script(self, prompt).play())
        except asyncio.CancelledError:
            self._over(Result("", "cancelled", cancelled=self._cancelled))
            raise

    def _over(self, result: Result | None) -> None:
        run, self.run = self.run, None
        self.world.at_work[self.session].pop(self.process.pid, None)
        if run is not None:
            told = f"{result.stop_reason} {result.final!r}" if result is not None else "without a result"
            self.world.note(f"{self.owner.name} of {self.session} ends: {told}")
            run.end(result)

    def _judge(self, prompt: Prompt) -> None:
        """What a bridge must not do, whatever it believes to be so."""
        world, session = self.world, self.session
        assert prompt.execution is not None
        self.run = self.record = run = Run(prompt.execution)
        if prompt.execution.turn in world.prompted:
            world.broke("4 one prompt", f"{prompt.execution} is prompted a second time", prompt.execution.turn, session)
        world.prompted.add(prompt.execution.turn)
        if others := list(world.at_work[session]):
            world.broke(
                "4 one turn", f"{session} is prompted in {self.process.pid}, and is at work in {others}", session
            )
        world.at_work[session][self.process.pid] = None
        turn = world.archive.running(session)
        if turn is None or turn.process != self.process or not turn.prompt_sent:
            world.broke("5 known before", f"{session} is prompted without a turn that says so", session)
            return
        run.inputs = turn.inputs
        world.note(f"{self.owner.name} of {session} begins {' '.join(map(brief, run.inputs))}")
        for ident in run.inputs:
            if ident in world.acted_on:
                world.broke("5 second run", f"{ident} is run again though tools had begun", ident)
        if PEER in f"{prompt.words} {prompt.notice}":
            world.broke("7 origin", f"peer text is prompted as words: {prompt}", session)
        inputs = [one for ident in run.inputs if (one := world.archive.get(Message, ident)) is not None]
        given = [prompt.words or "", *prompt.embedded]
        for one in inputs:
            run.acting = self._about(one) if len(inputs) == 1 else turn.acts_for
            if any(one.text in text for text in given):
                world.seen.add(one.id)
                run.shown.append(one.id)
            elif one.from_person and one.intent is Intent.INPUT:
                world.broke("1 lost", f"{one.id} is not in its own prompt", one.id)

    def _about(self, one: Message) -> MessageId | None:
        """What a final text over this input is about: where it closes a request, what that had been asked for."""
        closes = one.in_reply_to is not None and (one.intent is Intent.REPLY or one.origin is Origin.SYSTEM)
        return self.world.acting_for.get(one.in_reply_to) if closes and one.in_reply_to else one.id

    def _remember(self, run: Run) -> None:
        if run.acted:
            self.world.acted_on.update(one for one in run.inputs if one in run.shown)
