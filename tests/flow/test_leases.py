"""Turns and mail are leased: renewed while they are at work, free at the end of the lease or at a restart."""

import asyncio

import pytest

from adapters.memory.store import MemoryStore
from bridge.ids import SessionId
from bridge.message import Intent, Outcome, State
from bridge.ports.chat import NotDelivered
from bridge.ports.runtime import Prompt
from tests.fakes.clock import ManualClock
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import ident, session, stage
from tests.flow.two_bridges import LEASE_S, at_work, live, two_bridges


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
