"""Agents' processes: they outlive the bridge that has started them, until somebody ends them."""

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
from bridge.ports.runtime import Event, Launch, Prompt, Result, ToolBegun
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
    """One prompt at work. `acting` is what its final text is about;
    `inputs` are those of its turn, `shown` what the agent has been shown in it, `acted` whether it has used a tool."""

    inputs: tuple[MessageId, ...] = ()
    acting: MessageId | None = None
    shown: list[MessageId] = field(default_factory=list)
    acted: bool = False
    asked: int = 0
    happens: "asyncio.Queue[Event | Asked | Result]" = field(default_factory=asyncio.Queue)


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
        self.session = launch.session
        self.token = launch.secrets["TIELINE_TOKEN"]
        self.process = Process(number, f"birth-{number}")
        self.chance = chance
        self.owner = Owner(f"agent-{number}")
        self.memory = Memory(replays=False)
        self.alive = True
        self.connected = True
        self.run: Run | None = None
        self._cancelled = False
        self._task: asyncio.Task[None] | None = None

    # What the bridge does with it

    def begin(self, prompt: Prompt) -> Run:
        self._judge(prompt)
        self._cancelled = False
        self.memory.prompts.append(digest(prompt.parts))
        self.memory.calls.clear()
        self._task = self.world.loop.create_task(self._work(self.run or Run(), prompt), context=self.owner.context)
        assert self.run is not None
        return self.run

    async def cancel(self, grace_s: float) -> None:
        if self.run is None or self._task is None:
            return
        if self.world.suffers(Misfortune.AGENTS) and self.chance.random() < 0.2:
            await asyncio.sleep(grace_s)
            self.kill("cancelled", cancelled=True)
        else:
            self._cancelled = True
            self._task.cancel()

    def kill(self, why: str, *, cancelled: bool = False) -> None:
        if not self.alive:
            return
        self.alive = self.connected = False
        self.world.note(f"{self.owner.name} of {self.session} is gone: {why}")
        failure = Failure(FailureKind.CRASH, why, retryable=True)
        self._over(Result("", "cancelled", cancelled=True) if cancelled else Result("", "failed", failure))
        self.owner.kill()

    # What a script does

    async def tool(self, do: Callable[[Exchange, Caller], Awaitable[T]], *, reads: bool = False) -> T:
        """Calls the bridge as this agent's session. Raises `Refused`, or `Disconnected`. What is read does not get
        lost on its way: between an agent and its bridge that takes the death of one of them."""

        async def body(exchange: Exchange) -> T:
            bound = exchange.token_session(self.token)
            if bound is None:
                raise Disconnected
            caller = await exchange.caller(None, origin=Origin.PEER, bound=bound)
            result = await do(exchange, caller)
            with suppress(Refused):
                await exchange.mail_waits(caller)  # the hint that stands beside what a tool returns
            return result

        if not self.connected:
            raise Disconnected
        return await self.life.call(body, breaks=not reads)

    def tell(self, event: Event) -> None:
        if isinstance(event, ToolBegun):
            self.memory.calls.append(Called(event.name, event.reading))
        if self.run is not None:
            self.run.happens.put_nowait(event)

    async def ask(self, question: Question) -> Answer:
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        if self.run is not None:
            self.run.asked += 1
            self.run.happens.put_nowait(Asked(replace(question, number=self.run.asked), answer))
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

    async def _work(self, run: Run, prompt: Prompt) -> None:
        try:
            self._over(await Script(self, prompt).play())
        except asyncio.CancelledError:
            self._over(Result("", "cancelled", cancelled=self._cancelled))
            raise

    def _over(self, result: Result) -> None:
        run, self.run = self.run, None
        self.world.at_work[self.session].pop(self.process.pid, None)
        if run is not None:
            self.world.note(f"{self.owner.name} of {self.session} ends: {result.stop_reason} {result.final!r}")
            run.happens.put_nowait(result)

    def _judge(self, prompt: Prompt) -> None:
        """What a bridge must not do, whatever it believes to be so."""
        world, session = self.world, self.session
        self.run = run = Run()
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
