"""The life of messages, requests and turns in a whole bridge, whatever agents, people, time and crashes do in whatever
order: every move is one that there is, ends come once, and in the end everything has one (invariants 2, 3 and 4)."""

import asyncio
from collections import deque
from collections.abc import Coroutine
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from adapters.memory.store import MemoryStore
from bridge.history import Called, History
from bridge.ids import MessageId
from bridge.limits import Limits
from bridge.message import OUTCOMES, TRANSITIONS, Intent, Message, Origin, Outcome, State
from bridge.ports.chat import Pressed
from bridge.ports.runtime import Prompt, Result, ToolBegun
from bridge.ports.store import Change
from bridge.request import Answer, Request
from bridge.turn import TURN_TRANSITIONS, Failure, FailureKind, Turn
from tests.fakes.chat import FakeChat
from tests.fakes.clock import ManualClock
from tests.fakes.runtime import FakeAgent, FakeRuntime
from tests.flow.stage import OPERATOR, Stage, ident, room, session, stage

_R = TypeVar("_R")
DAY_S = 86_400.0
CAREER = ident("career")
MANY = 10_000
LIMITS = Limits(stop_grace_s=0, retention_s=MANY * DAY_S, pair_messages=MANY, inbox=MANY, open_requests=MANY)
PLANS = ["answer", "nothing", "unread", "crash", "busy", "refuse", "act", "hang"]
FAILURES = {
    "crash": Failure(FailureKind.CRASH, "it died", retryable=True),
    "busy": Failure(FailureKind.CAPACITY, "HTTP 503", retryable=True),
    "refuse": Failure(FailureKind.REFUSAL, "it will not"),
    "act": Failure(FailureKind.CRASH, "it died after it had acted", retryable=True),
}


class Witness(MemoryStore):
    """Sees every change before it is stored."""

    async def commit(self, change: Change) -> None:
        for entity in change.puts:
            match entity:
                case Message():
                    message_moves(await self.message(entity.id), entity)
                case Request():
                    request_moves(await self.request(entity.id), entity)
                case Turn():
                    turn_moves(await self.turn(entity.id), entity)
        await super().commit(change)


def message_moves(before: Message | None, after: Message) -> None:
    if before is None or before.version != after.version:
        return  # new, or a change that is planned again
    if before.state is State.SETTLED:
        assert (after.state, after.outcome, after.settled_at) == (before.state, before.outcome, before.settled_at)
    assert leads(before.state, before.epoch, after)
    assert after.attempts >= before.attempts or before.state is State.PARKED


def leads(state: State, epoch: int, to: Message, moves: int = 3) -> bool:
    """Whether moves that there are, some of which one change may make at once, lead from a state to a message."""
    if (state, epoch) == (to.state, to.epoch):
        return True
    nexts = [one for one in TRANSITIONS[state] if one is not State.SETTLED or to.outcome in OUTCOMES[state]]
    return moves > 0 and any(leads(one, epoch + (one is State.LEASED), to, moves - 1) for one in nexts)


def request_moves(before: Request | None, after: Request) -> None:
    if before is not None and before.version == after.version and not before.open:
        assert (before.state, before.closed_at, before.closing) == (after.state, after.closed_at, after.closing)


def turn_moves(before: Turn | None, after: Turn) -> None:
    if before is not None and before.version == after.version and before.state is not after.state:
        assert after.state in TURN_TRANSITIONS[before.state]
        assert after.epoch == before.epoch


class Life(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.store = Witness()
        self.chat = FakeChat()
        self.clock = ManualClock()
        self.plans: deque[str] = deque()
        self.sent: list[str] = []

    def wait(self, work: Coroutine[Any, Any, _R]) -> _R:
        return self.runner.run(work)

    # Bridges

    @initialize()
    def begin(self) -> None:
        self.wait(self.up(FakeRuntime()))

    async def up(self, runtime: FakeRuntime) -> None:
        self.over = asyncio.Event()
        self.ready: asyncio.Future[Stage] = asyncio.get_running_loop().create_future()
        self.bridge = asyncio.create_task(self.run_bridge(runtime))
        self.on = await self.ready
        await self.on.quiet()

    async def run_bridge(self, runtime: FakeRuntime) -> None:
        runtime.behaviours[CAREER] = self.behave
        async with stage(
            session("career"), store=self.store, chat=self.chat, clock=self.clock, runtime=runtime, limits=LIMITS
        ) as on:
            self.ready.set_result(on)
            await self.over.wait()

    async def down(self) -> None:
        self.over.set()
        await self.bridge

    @rule(proven=st.booleans())
    def die_and_come_back(self, proven: bool) -> None:
        self.wait(self.die(proven))

    async def die(self, proven: bool) -> None:
        live = await self.store.live_turn(CAREER)
        await self.down()
        runtime = FakeRuntime()
        if proven and live is not None and live.prompt is not None:
            received = Called("mcp__tieline__peer_receive", reading=True)
            runtime.histories[CAREER] = History((live.prompt,) * live.occurrence, (received,))
        await self.up(runtime)

    # Agents

    async def behave(self, agent: FakeAgent, prompt: Prompt) -> str | Result:
        plan = self.plans.popleft() if self.plans else "answer"
        assert await self.store.live_turn(CAREER) is not None
        if plan != "unread" and prompt.words is None:
            await self.on.tools(agent).receive()
        if plan == "act":
            assert agent.listener is not None
            await agent.listener.happened(ToolBegun("1", "bash", reading=False))
        if plan == "hang":
            await asyncio.Event().wait()
        if plan in FAILURES:
            return Result("", "error", FAILURES[plan])
        return "" if plan == "nothing" else "done"

    @rule(plan=st.sampled_from(PLANS))
    def plan(self, plan: str) -> None:
        self.plans.append(plan)

    # Senders

    @rule(intent=st.sampled_from([Intent.REQUEST, Intent.INFORM]), wake=st.booleans())
    def send(self, intent: Intent, wake: bool) -> None:
        receipt = self.wait(self.quietly(self.on.send("career", "work", intent=intent, wake=wake)))
        self.sent.append(receipt.message_id)

    @precondition(lambda self: self.sent)
    @rule(number=st.integers(0, 50))
    def withdraw(self, number: int) -> None:
        self.wait(self.quietly(self.withdrawn(self.sent[number % len(self.sent)])))

    async def withdrawn(self, ident: str) -> None:
        if await self.store.request(MessageId(ident)) is not None:
            await self.on.exchange.cancel(await self.on.shell(), ident)

    # People

    @rule(text=st.sampled_from(["what is left?", "/stop", "/stop all", "/resume", "/new"]))
    def say(self, text: str) -> None:
        self.wait(self.quietly(self.on.say("career", text)))

    @rule(label=st.sampled_from(["Retry", "Discard"]), twice=st.booleans())
    def press(self, label: str, twice: bool) -> None:
        self.wait(self.quietly(self.pressed(label, twice)))

    async def pressed(self, label: str, twice: bool) -> None:
        buttons = [button for post in self.chat.posts.values() for button in post.buttons if button.label == label]
        for button in buttons[-1:]:
            presses = [Pressed(room("career"), OPERATOR, button.action)] * (1 + twice)
            told = await asyncio.gather(*(self.on.exchange.inbound.press(press) for press in presses))
            assert sum("decided already" not in one for one in told) <= 1

    @rule(seconds=st.sampled_from([1.0, 70.0, 3_600.0, 8 * DAY_S]))
    def advance(self, seconds: float) -> None:
        self.wait(self.passes(seconds))

    async def passes(self, seconds: float) -> None:
        """Everything that sleeps is woken at the end, and what falls due is looked for once more after it."""
        self.clock.jump(max(0.0, seconds - 1))
        await self.clock.advance(31)

    async def quietly(self, work: Coroutine[Any, Any, _R]) -> _R:
        result = await work
        await self.on.quiet()
        return result

    # The end

    def teardown(self) -> None:
        try:
            self.wait(self.everything_ends())
        finally:
            self.wait(self.down())
            self.runner.close()

    async def everything_ends(self) -> None:
        """Once the agent does as it should and time goes by, nothing is left over, and whoever waits has heard."""
        self.plans.clear()
        await self.on.exchange.control.stop(CAREER)
        await self.on.exchange.control.resume(CAREER)
        for _ in range(8):
            await self.passes(DAY_S)
        assert await self.store.live_turns() == []
        assert await self.store.unsettled_of(CAREER) == []
        shell = await self.on.shell(origin=Origin.USER)
        heard = {mail.in_reply_to for mail in await self.on.exchange.inbox(shell, None, take=False)}
        for one in self.sent:
            message = await self.on.message(one)
            request = await self.store.request(message.id)
            assert message.state is State.SETTLED
            if request is None:
                assert message.outcome is Outcome.ACKED or one in heard
            else:
                assert not request.open
                assert request.closing is not None or request.state is Answer.CANCELLED


TestLife = Life.TestCase
if settings.get_current_profile_name() != "deep":
    TestLife.settings = settings(max_examples=12, stateful_step_count=15)
