"""Turns are leased to one bridge: renewed while it runs them, taken over once it does not, and fenced from then on.

A bridge that was stopped past its lease and goes on is a node whose clock stands still.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from adapters.memory.store import MemoryStore
from bridge.errors import Code, Refused
from bridge.ids import SessionId
from bridge.limits import Limits
from bridge.message import Intent, Message, Outcome, State
from bridge.ports.chat import NotDelivered
from bridge.ports.runtime import Prompt, ToolBegun
from bridge.ports.store import Change, Store
from bridge.request import Answer
from bridge.turn import Process, Turn, TurnState
from bridge.views import Receipt
from tests.fakes.clock import ManualClock, settled
from tests.fakes.fragile import FragileStore
from tests.fakes.runtime import FakeAgent, FakeRuntime
from tests.flow.stage import Stage, Tools, ident, session, stage

LEASE_S = Limits().lease_s


@dataclass
class Worker:
    """An agent that works until it is told to go on, and then does `then`."""

    on: Stage
    then: Callable[[Tools], Awaitable[object]] | None = None
    began: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    outcome: "asyncio.Future[object]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    agent: FakeAgent | None = None

    async def __call__(self, agent: FakeAgent, prompt: Prompt) -> str:
        self.agent = agent
        tools = self.on.tools(agent)
        await tools.receive()
        self.began.set()
        await self.go_on.wait()
        if self.then is not None:
            try:
                self.outcome.set_result(await self.then(tools))
            except Refused as refused:
                self.outcome.set_result(refused)
        return "what I found"


async def at_work(on: Stage) -> tuple[Worker, Receipt]:
    """The agent of `career` in the midst of a task, and what was sent to it."""
    worker = Worker(on)
    on.agent("career", worker)
    sent = await on.send("career", "a long task")
    await worker.began.wait()
    return worker, sent


@asynccontextmanager
async def two_bridges(*, held: bool = False) -> AsyncIterator[tuple[Stage, Stage]]:
    store = MemoryStore()
    sessions = [session("desk"), session("career")]
    first = FakeRuntime(held={ident("career"): asyncio.Event()} if held else {})
    async with (
        stage(*sessions, store=store, node="first", clock=ManualClock(), runtime=first) as one,
        stage(*sessions, store=store, node="second", clock=ManualClock()) as other,
    ):
        yield one, other


async def live(on: Stage) -> Turn:
    turn = await on.store.live_turn(ident("career"))
    assert turn is not None
    return turn


async def test_a_lease_is_renewed_at_half_its_life_for_as_long_as_the_turn_runs() -> None:
    async with stage(session("career")) as on:
        worker, _ = await at_work(on)
        began = on.clock.now()
        assert (await live(on)).leased_until == began + LEASE_S
        await on.clock.advance(LEASE_S / 2 - 1)
        assert (await live(on)).leased_until == began + LEASE_S
        await on.clock.advance(1)
        assert (await live(on)).leased_until == began + 1.5 * LEASE_S
        await on.clock.advance(10 * LEASE_S)
        assert (await live(on)).epoch == 1
        worker.go_on.set()


async def test_nobody_takes_over_a_turn_that_is_renewed() -> None:
    async with two_bridges() as (one, other):
        worker, sent = await at_work(one)
        for _ in range(10):
            await one.clock.advance(LEASE_S / 2)
            await other.clock.advance(LEASE_S / 2)
        worker.go_on.set()
        view = await one.exchange.answer(await one.shell(), sent.message_id, 5)
        assert view.reply is not None
        assert view.reply.text == "what I found"


@pytest.mark.parametrize(("after_s", "taken"), [(LEASE_S - 1, False), (LEASE_S, True), (LEASE_S + 1, True)])
async def test_a_lease_is_over_at_its_end_and_not_before(after_s: float, taken: bool) -> None:
    async with two_bridges() as (one, other):
        await at_work(one)
        await other.clock.advance(after_s)
        assert (await one.store.live_turn(ident("career")) is None) is taken


async def test_the_second_bridge_fences_the_first_before_it_ends_the_agent_and_ends_it_before_it_decides() -> None:
    seen: list[tuple[str, int, State]] = []

    class Witness(FakeRuntime):
        async def end(self, process: Process) -> None:
            turn = await live(one)
            (message,) = await one.store.taken(turn.id)
            seen.append((turn.node, turn.epoch, message.state))

    store = MemoryStore()
    async with (
        stage(session("career"), store=store, node="first", clock=ManualClock()) as one,
        stage(session("career"), store=store, node="second", clock=ManualClock(), runtime=Witness()) as other,
    ):
        _, sent = await at_work(one)
        await other.clock.advance(LEASE_S)
        assert seen == [("second", 2, State.LEASED)]
        assert (await one.message(sent.message_id)).state is State.PARKED


async def test_nothing_of_a_turn_is_heard_while_the_second_bridge_still_ends_its_agent() -> None:
    class Stubborn(FakeRuntime):
        async def end(self, process: Process) -> None:
            ending.set()
            await gone.wait()

    store, ending, gone = MemoryStore(), asyncio.Event(), asyncio.Event()
    async with (
        stage(session("desk"), session("career"), store=store, node="first", clock=ManualClock()) as one,
        stage(session("career"), store=store, node="second", clock=ManualClock(), runtime=Stubborn()) as other,
    ):
        worker = Worker(one, then=lambda tools: tools.send("desk", "late"))
        one.agent("career", worker)
        sent = await one.send("career", "a long task")
        await worker.began.wait()
        await other.clock.advance(LEASE_S)
        await ending.wait()
        worker.go_on.set()
        refused = await worker.outcome
        assert isinstance(refused, Refused)
        assert refused.code is Code.STALE_EPOCH
        await settled()
        assert (await live(one)).epoch == 2
        assert (await one.message(sent.message_id)).state is State.LEASED
        gone.set()
        await settled()
        assert (await one.message(sent.message_id)).state is State.PARKED


async def test_a_write_that_was_planned_before_the_taking_over_is_not_stored_after_it() -> None:
    store = MemoryStore()
    slow = Slow(store)
    async with (
        stage(session("career"), store=slow.store, node="first", clock=ManualClock()) as one,
        stage(session("career"), store=store, node="second", clock=ManualClock()) as other,
    ):

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            assert agent.listener is not None
            await agent.listener.happened(ToolBegun("1", "look", reading=True))
            slow.may_commit.clear()
            began.set()
            await agent.listener.happened(ToolBegun("2", "look again", reading=True))
            return ""

        began = asyncio.Event()
        one.agent("career", career)
        sent = await one.send("career", "a long task")
        await began.wait()
        await settled()
        await other.clock.advance(LEASE_S)
        slow.may_commit.set()
        await settled()
        tools = [step.detail["name"] for step in await store.steps(sent.message_id) if "name" in step.detail]
        assert tools == ["look"]


async def test_a_lease_that_is_renewed_at_the_last_moment_is_not_taken_over() -> None:
    store = MemoryStore()
    slow = Slow(store)
    async with (
        stage(session("career"), store=store, node="first", clock=ManualClock()) as one,
        stage(session("career"), store=slow.store, node="second", clock=ManualClock()) as other,
    ):
        worker, _ = await at_work(one)
        await one.clock.advance(LEASE_S / 2 - 1)
        await other.clock.advance(LEASE_S - 1)
        slow.may_tell.clear()
        await other.clock.advance(1)
        await one.clock.advance(1)
        slow.may_tell.set()
        await settled()
        assert ((await live(one)).node, other.runtime.ended_processes) == ("first", [])
        worker.go_on.set()


class Slow:
    """A store whose commits wait for `may_commit`, and which tells of lapsed turns once it `may_tell`."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self.may_commit, self.may_tell = asyncio.Event(), asyncio.Event()
        self.may_commit.set()
        self.may_tell.set()
        self.store = cast(Store, self)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def commit(self, change: Change) -> None:
        await self.may_commit.wait()
        await self._store.commit(change)

    async def lapsed_turns(self, now: float) -> list[Turn]:
        found = await self._store.lapsed_turns(now)
        await self.may_tell.wait()
        return found


async def test_a_turn_that_was_taken_over_before_its_prompt_runs_once_and_elsewhere() -> None:
    async with two_bridges(held=True) as (one, other):
        ran: list[str] = []

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            ran.append("second")
            await other.tools(agent).receive()
            return "from the second"

        async def stale(agent: FakeAgent, prompt: Prompt) -> str:
            ran.append("first")
            return "from the first"

        one.agent("career", stale)
        other.agent("career", career)
        sent = await one.send("career", "a task")
        await one.quiet()
        await other.clock.advance(LEASE_S)
        view = await other.exchange.answer(await other.shell(), sent.message_id, 5)
        assert view.reply is not None
        assert view.reply.text == "from the second"
        one.runtime.held[ident("career")].set()
        await settled()
        assert ran == ["second"]


async def test_what_a_stopped_bridge_makes_of_its_turn_afterwards_is_not_stored() -> None:
    async with two_bridges() as (one, other):
        worker, sent = await at_work(one)
        turn = await live(one)
        await other.clock.advance(LEASE_S)
        before = await whole(one, sent.message_id, turn)
        worker.go_on.set()
        await settled()
        assert await whole(one, sent.message_id, turn) == before
        assert before[0].state is State.PARKED
        assert (await one.request(sent.message_id)).state is Answer.OPEN


async def whole(on: Stage, message_id: str, turn: Turn) -> tuple[Message, Turn | None, int]:
    return await on.message(message_id), await on.store.turn(turn.id), len(await on.store.steps(message_id))


CALLS: dict[str, Callable[[Tools, str], Awaitable[object]]] = {
    "receive": lambda tools, message: tools.receive(),
    "ack": lambda tools, message: tools.ack(message),
    "reply": lambda tools, message: tools.reply(message, "late"),
    "defer": lambda tools, message: tools.defer(message),
    "send": lambda tools, message: tools.send("desk", "late"),
    "cancel": lambda tools, message: tools.cancel(message),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("run_again", [False, True])
async def test_a_tool_call_in_a_turn_that_was_taken_over_is_stale(call: str, run_again: bool) -> None:
    async with two_bridges() as (one, other):
        sent_by_first: list[str] = []
        worker = Worker(one, then=lambda tools: CALLS[call](tools, sent_by_first[0]))
        again = Worker(other)
        one.agent("career", worker)
        other.agent("career", again)
        sent_by_first.append((await one.send("career", "a long task")).message_id)
        await worker.began.wait()
        await other.clock.advance(LEASE_S)
        if run_again:
            await other.press("career", "Retry")
            await again.began.wait()
        before = await one.message(sent_by_first[0])
        worker.go_on.set()
        refused = await worker.outcome
        assert isinstance(refused, Refused)
        assert refused.code is Code.STALE_EPOCH
        await settled()
        assert await one.message(sent_by_first[0]) == before
        assert await one.store.unsettled_of(ident("desk")) == []
        again.go_on.set()


async def test_an_agent_whose_session_runs_elsewhere_speaks_no_more() -> None:
    async with two_bridges() as (one, other):
        worker, elsewhere = Worker(one), Worker(other)
        one.agent("career", worker)
        await one.send("career", "a task")
        await worker.began.wait()
        worker.go_on.set()
        await settled()
        assert worker.agent is not None
        other.agent("career", elsewhere)
        await other.send("career", "another task")
        await elsewhere.began.wait()
        with pytest.raises(Refused) as refused:
            await one.tools(worker.agent).send("desk", "from an earlier life")
        assert refused.value.code is Code.STALE_EPOCH
        elsewhere.go_on.set()


async def test_a_bridge_that_goes_on_ends_its_agent_and_lets_its_lane_go_on() -> None:
    async with two_bridges() as (one, other):
        worker, sent = await at_work(one)
        await other.clock.advance(LEASE_S)
        await one.clock.advance(LEASE_S / 2)
        assert worker.agent is not None
        assert worker.agent.closed
        assert (await one.message(sent.message_id)).state is State.PARKED
        after = await one.send("career", "something else")
        async with asyncio.timeout(5):
            while (await one.message(after.message_id)).state is not State.SETTLED:
                worker.go_on.set()
                await one.quiet()
        assert (await one.message(after.message_id)).outcome is Outcome.ACKED


async def test_a_machine_that_slept_past_its_lease_keeps_its_turn() -> None:
    async with stage(session("career")) as on:
        worker, sent = await at_work(on)
        on.clock.jump(20 * LEASE_S)
        # What is put off makes the timekeeper look before the renewal is awake.
        on.chat.fault = lambda post: NotDelivered("busy", retry_at=on.clock.now())
        await on.say("career", "/status")
        await on.quiet()
        on.chat.fault = lambda post: None
        await on.clock.advance(LEASE_S)
        worker.go_on.set()
        view = await on.exchange.answer(await on.shell(), sent.message_id, 5)
        assert view.reply is not None
        assert view.reply.text == "what I found"


@pytest.mark.parametrize(("node", "taken"), [("first", True), ("third", False)])
async def test_a_restart_frees_the_leases_of_its_own_node_at_once_and_no_others(node: str, taken: bool) -> None:
    store, clock = MemoryStore(), ManualClock()
    began: list[SessionId] = []

    async with stage(session("career"), store=store, node="first", clock=clock) as one:

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            await one.tools(agent).receive()
            began.append(agent.session)
            await asyncio.Event().wait()
            return ""

        one.agent("career", career)
        await one.send("career", "a long task")
        await one.quiet()
        assert began
        async with stage(session("career"), store=store, node=node, clock=clock) as other:
            await other.quiet()
            turn = await store.live_turn(ident("career"))
            assert (turn is None) is taken
            assert (other.runtime.ended_processes == one.runtime.born) is taken


@pytest.mark.parametrize(("node", "ended"), [("first", 1), ("second", 0)])
async def test_a_start_ends_the_idle_agents_of_its_own_node_only(node: str, ended: int) -> None:
    store = MemoryStore()
    async with stage(session("career"), store=store, node="first") as one:
        sent = await one.send("career", "a task", intent=Intent.INFORM)
        await one.quiet()
        assert (await one.message(sent.message_id)).state is not State.LEASED
        async with stage(session("career"), store=store, node=node) as other:
            assert len(other.runtime.ended_processes) == ended


async def test_what_the_agent_of_a_stopped_bridge_does_is_not_traced_as_that_of_the_turn() -> None:
    async with two_bridges() as (one, other):

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            await one.tools(agent).receive()
            began.set()
            await go_on.wait()
            assert agent.listener is not None
            await agent.listener.happened(ToolBegun("1", "rm", reading=False))
            return ""

        began, go_on = asyncio.Event(), asyncio.Event()
        one.agent("career", career)
        sent = await one.send("career", "a long task")
        await began.wait()
        turn = await live(one)
        await other.clock.advance(LEASE_S)
        go_on.set()
        await settled()
        stored = await one.store.turn(turn.id)
        assert stored is not None
        assert (stored.state, stored.tools_begun) == (TurnState.LOST, False)
        assert "rm" not in [step.detail.get("name") for step in await one.store.steps(sent.message_id)]


@pytest.mark.parametrize(("after_s", "state"), [(LEASE_S - 1, State.LEASED), (LEASE_S, State.QUEUED)])
async def test_what_a_reader_took_and_did_not_acknowledge_waits_again_once_its_lease_is_over(
    after_s: float, state: State
) -> None:
    async with stage(session("tool", agent=None)) as on:
        sent = await on.send("tool", "take me")
        (first,) = await on.exchange.inbox(await on.shell("tool"), None, take=True)
        assert not first.redelivered
        assert await on.exchange.inbox(await on.shell("tool"), None, take=True) == []
        await on.clock.advance(after_s)
        assert (await on.message(sent.message_id)).state is state
        again = await on.exchange.inbox(await on.shell("tool"), None, take=True)
        assert [mail.redelivered for mail in again] == ([True] if state is State.QUEUED else [])


async def test_a_reader_that_acknowledges_late_is_heard_while_nobody_else_has_it() -> None:
    async with stage(session("tool", agent=None)) as on:
        sent = await on.send("tool", "take me")
        await on.exchange.inbox(await on.shell("tool"), None, take=True)
        await on.clock.advance(2 * LEASE_S)
        assert await on.exchange.ack(await on.shell("tool"), [sent.message_id]) == [sent.message_id]
        assert (await on.message(sent.message_id)).outcome is Outcome.ACKED


async def test_a_stop_that_is_heard_by_one_bridge_ends_the_turn_that_another_runs() -> None:
    async with two_bridges() as (one, other):
        worker, sent = await at_work(one)
        turn = await live(one)
        await other.say("career", "/stop")
        await other.chat.seen("room:career", "The turn is stopped.")
        ended = await one.store.turn(turn.id)
        assert ended is not None
        assert ended.state is TurnState.CANCELLED
        assert (await one.message(sent.message_id)).state is State.PARKED
        assert other.runtime.ended_processes == [turn.process]
        worker.go_on.set()
        await settled()
        assert (await one.request(sent.message_id)).state is Answer.OPEN


async def test_the_agent_that_is_ended_is_that_of_the_moment_in_which_the_turn_is_taken_over() -> None:
    async with two_bridges(held=True) as (one, other):
        worker = Worker(one)
        one.agent("career", worker)
        await one.send("career", "a long task")
        await settled()
        starting = replace(await live(one), process=None)
        one.runtime.held[ident("career")].set()
        await worker.began.wait()
        running = await live(one)
        await other.clock.advance(LEASE_S / 2)
        other.clock.jump(LEASE_S)
        await other.exchange._recovery.reclaim(starting)
        assert running.process in other.runtime.ended_processes
        worker.go_on.set()


async def test_a_stop_ends_a_turn_elsewhere_though_its_store_failed_in_the_middle_of_the_taking_over() -> None:
    store = FragileStore()
    async with (
        stage(session("career"), store=store, node="first", clock=ManualClock()) as one,
        stage(session("career"), store=store, node="second", clock=ManualClock()) as other,
    ):
        worker, _ = await at_work(one)
        taken: list[Turn] = []

        def takes_over(change: Change) -> bool:
            first = not taken
            taken.extend(put for put in change.puts if isinstance(put, Turn) and put.node == "second" and put.live)
            return first and bool(taken)

        store.forgets = takes_over
        stopping = asyncio.ensure_future(other.exchange.control.stop(ident("career")))
        await settled()
        await other.clock.advance(5)
        assert (await stopping)[0]
        assert await one.store.live_turn(ident("career")) is None
        worker.go_on.set()


async def test_a_stop_returns_once_the_turn_has_ended_also_where_another_bridge_is_slow_to_stop_it() -> None:
    async with two_bridges() as (one, other):
        _, sent = await at_work(one)
        ending = asyncio.Event()

        class Slow(FakeRuntime):
            async def end(self, process: Process) -> None:
                await ending.wait()

        other.runtime.end = Slow.end.__get__(other.runtime)  # type: ignore[method-assign]
        first = asyncio.create_task(other.exchange.control.stop(ident("career")))
        await settled()
        assert (await live(one)).node == "second"
        second = asyncio.create_task(one.exchange.control.stop(ident("career")))
        await one.clock.advance(5)
        assert second.done()
        assert await one.store.live_turn(ident("career")) is None
        ending.set()
        for on in (one, other):
            await on.clock.advance(5)
        assert await first == await second == (True, 0)
        assert await one.store.live_turn(ident("career")) is None
        assert (await one.message(sent.message_id)).state is State.PARKED
