"""A stop that one bridge hears ends the turn that another runs (invariant 10)."""

import asyncio

from bridge.message import State
from bridge.ports.store import Change
from bridge.request import Answer
from bridge.turn import Process, Turn, TurnState
from tests.fakes.clock import ManualClock, settled
from tests.fakes.fragile import FragileStore
from tests.fakes.runtime import FakeRuntime
from tests.flow.stage import ident, session, stage
from tests.flow.two_bridges import at_work, live, two_bridges


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
