"""A turn is taken over once its bridge renews it no more, and what that bridge still does of it is fenced.

A bridge that was stopped past its lease and goes on is a node whose clock stands still.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, cast

import pytest

from adapters.memory.store import MemoryStore
from bridge.errors import Code, Refused
from bridge.message import Message, Outcome, State
from bridge.ports.runtime import Prompt, ToolBegun
from bridge.ports.store import Change, Store
from bridge.request import Answer
from bridge.turn import Process, Turn, TurnState
from tests.fakes.clock import ManualClock, settled
from tests.fakes.runtime import FakeAgent, FakeRuntime
from tests.flow.stage import Stage, Tools, ident, session, stage
from tests.flow.two_bridges import LEASE_S, Worker, at_work, live, two_bridges


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
