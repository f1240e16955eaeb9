"""What a bridge finds of one that died (invariants 1, 4 and 5)."""

import asyncio
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

import pytest

from adapters.memory.store import MemoryStore
from bridge.errors import Refused
from bridge.flow.exchange import LOCAL
from bridge.limits import Limits
from bridge.message import Outcome, State
from bridge.ports.runtime import Prompt
from bridge.ports.store import Change
from bridge.request import Answer
from bridge.turn import Process, TurnState
from tests.contracts.entities import turn
from tests.fakes.chat import FakeChat
from tests.fakes.clock import ManualClock
from tests.fakes.fragile import FragileStore
from tests.fakes.runtime import Behaviour, FakeAgent, FakeRuntime
from tests.flow.stage import Stage, ident, room, session, stage


@dataclass
class World:
    """What outlives a bridge."""

    store: MemoryStore = field(default_factory=MemoryStore)
    chat: FakeChat = field(default_factory=FakeChat)
    clock: ManualClock = field(default_factory=ManualClock)

    def bridge(self, runtime: FakeRuntime | None = None) -> AbstractAsyncContextManager[Stage]:
        """Leaving it is a crash as far as the store can tell: no turn is given the time to end."""
        limits = Limits(stop_grace_s=0)
        return stage(
            session("career"), limits=limits, store=self.store, chat=self.chat, clock=self.clock, runtime=runtime
        )


def hanging(on: Stage, *, read: bool = True) -> Behaviour:
    async def behaviour(agent: FakeAgent, prompt: Prompt) -> str:
        if read:
            await on.tools(agent).receive()
        await asyncio.Event().wait()
        return ""

    return behaviour


def working(on: Stage, seen: list[str] | None = None) -> Behaviour:
    async def behaviour(agent: FakeAgent, prompt: Prompt) -> str:
        mail = (await on.tools(agent).receive()).messages
        if seen is not None:
            seen.extend([prompt.words] if prompt.words else [one.text for one in mail])
        return "done"

    return behaviour


async def test_what_was_queued_runs_after_a_restart_in_its_order() -> None:
    world = World()
    async with world.bridge() as on:
        on.agent("career", hanging(on))
        await on.say("career", "/stop")
        sent = [await on.send("career", f"number {number}") for number in range(3)]
    async with world.bridge() as on:
        seen: list[str] = []
        on.agent("career", working(on, seen))
        await on.say("career", "/resume")
        await on.quiet()
        assert seen == ["number 0", "number 1", "number 2"]
        assert {(await on.request(one.message_id)).state for one in sent} == {Answer.ANSWERED}


async def test_a_queued_message_needs_no_new_hint_after_a_restart() -> None:
    world = World()
    async with world.bridge() as on:
        on.runtime.held[ident("career")] = asyncio.Event()
        sent = await on.send("career", "hello")
    runtime = FakeRuntime()
    async with world.bridge(runtime) as on:
        on.agent("career", working(on))
        await on.quiet()
        assert (await on.request(sent.message_id)).state is Answer.ANSWERED


async def test_a_turn_that_was_not_prompted_is_surely_harmless_and_runs_again() -> None:
    world = World()
    async with world.bridge() as on:
        on.runtime.held[ident("career")] = asyncio.Event()
        sent = await on.send("career", "hello")
        await on.quiet()
        (lost,) = await world.store.live_turns()
        assert lost.state is TurnState.STARTING
    async with world.bridge() as on:
        on.agent("career", working(on))
        await on.quiet()
        assert (await on.request(sent.message_id)).state is Answer.ANSWERED
        assert (await on.message(sent.message_id)).attempts == 0
        assert on.runtime.ended_processes == [lost.process]
        turn = await world.store.turn(lost.id)
        assert turn is not None
        assert turn.state is TurnState.LOST


async def test_a_prompted_turn_is_parked_once_its_old_process_is_proven_gone() -> None:
    world = World()
    async with world.bridge() as on:
        on.agent("career", hanging(on))
        sent = await on.send("career", "pay the bill")
        await on.quiet()
        process = on.runtime.agents[0].process
    order: list[str] = []

    class Watched(FakeRuntime):
        async def end(self, process: Process) -> None:
            (turn,) = await world.store.live_turns()
            order.append(f"{turn.state} while {process.birth} ends")
            await super().end(process)

    async with world.bridge(Watched()) as on:
        assert order == ["running while birth-1 ends"]
        assert on.runtime.ended_processes == [process]
        await on.quiet()
        assert (await on.message(sent.message_id)).state is State.PARKED
        await on.chat.seen(room("career"), "the bridge stopped in the middle of the turn")
        await on.clock.advance(120)
        assert on.runtime.prompts == []


async def test_parked_work_can_be_retried_after_yet_another_restart() -> None:
    world = World()
    async with world.bridge() as on:
        on.agent("career", hanging(on))
        sent = await on.send("career", "pay the bill")
        await on.quiet()
    async with world.bridge() as on:
        await on.chat.seen(room("career"), "Run it again?")
    async with world.bridge() as on:
        on.agent("career", working(on))
        assert (await on.message(sent.message_id)).state is State.PARKED
        assert await on.press("career", "Retry") == "It is run again."
        await on.quiet()
        assert (await on.request(sent.message_id)).state is Answer.ANSWERED


async def test_parked_work_does_not_block_the_lane() -> None:
    world = World()
    async with world.bridge() as on:
        on.agent("career", hanging(on))
        parked = await on.send("career", "first")
        await on.quiet()
        behind = await on.send("career", "second")
    async with world.bridge() as on:
        on.agent("career", working(on))
        await on.quiet()
        assert (await on.message(parked.message_id)).state is State.PARKED
        assert (await on.request(behind.message_id)).state is Answer.ANSWERED


async def test_a_persons_prompted_words_are_parked_and_shown_with_their_own_text() -> None:
    world = World()
    async with world.bridge() as on:
        on.agent("career", hanging(on))
        said = await on.say("career", "delete the old branch")
        await on.quiet()
    async with world.bridge() as on:
        seen: list[str] = []
        on.agent("career", working(on, seen))
        await on.chat.seen(room("career"), "your message may have been acted on already. Run it again?")
        await on.press("career", "Retry")
        await on.quiet()
        assert seen == ["delete the old branch"]
        assert (await on.message(said)).outcome is Outcome.ACKED


async def test_the_context_goes_on_after_a_restart_or_its_loss_is_told() -> None:
    world = World()
    async with world.bridge() as on:
        await on.say("career", "one")
        await on.quiet()
        alias = on.runtime.agents[0].alias
    async with world.bridge() as on:
        await on.say("career", "two")
        await on.quiet()
        assert on.runtime.launches[0].alias == alias
        assert not any("no longer has its earlier context" in text for text in on.chat.texts(room("career")))
    runtime = FakeRuntime(forgotten={ident("career")})
    async with world.bridge(runtime) as on:
        await on.say("career", "three")
        await on.chat.seen(room("career"), "no longer has its earlier context")


async def test_progress_of_a_lost_turn_says_that_it_was_interrupted() -> None:
    world = World()
    async with world.bridge() as on:
        on.agent("career", hanging(on))
        await on.say("career", "search")
        await on.clock.advance(3)
        await on.chat.seen(room("career"), "Working · 0:03")
    async with world.bridge() as on:
        await on.chat.seen(room("career"), "Interrupted: the bridge stopped")
        assert not any("Working" in text for text in on.chat.texts(room("career")))


async def test_pending_posts_are_sent_by_the_next_bridge_and_once() -> None:
    world = World()
    world.chat.held[room("career")] = asyncio.Event()
    async with world.bridge() as on:
        await on.say("career", "/status")
        await on.quiet()
        assert on.chat.deliveries == []
    world.chat.held.clear()
    async with world.bridge() as on:
        await on.chat.seen(room("career"), "Career (default/career): idle")
        await on.quiet()
    async with world.bridge() as on:
        await on.quiet()
        assert len(on.chat.deliveries) == 1


async def test_mail_that_was_read_beside_the_lost_turns_input_is_shown_again() -> None:
    world = World()
    async with world.bridge() as on:
        on.agent("career", hanging(on))
        aside = await on.send("career", "by the way", wake=False)
        await on.send("career", "pay the bill")
        await on.quiet()
        assert (await on.message(aside.message_id)).state is State.LEASED
    async with world.bridge() as on:
        seen: list[str] = []
        on.agent("career", working(on, seen))
        await on.quiet()
        assert (await on.message(aside.message_id)).state is State.QUEUED
        await on.send("career", "another")
        await on.quiet()
        assert seen == ["another", "by the way"]


async def test_the_asker_of_what_a_lost_turn_had_acknowledged_is_told() -> None:
    world = World()
    async with world.bridge() as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            (mail,) = (await on.tools(agent).receive()).messages
            await on.tools(agent).ack(mail.message_id)
            await asyncio.Event().wait()
            return ""

        on.agent("career", career)
        sent = await on.send("career", "pay the bill")
        await on.quiet()
        assert (await on.request(sent.message_id)).open
    async with world.bridge() as on:
        request = await on.request(sent.message_id)
        assert (request.state, request.reason) == (Answer.FAILED, "the bridge stopped in the middle of the turn")
        assert [mail.in_reply_to for mail in await on.inbox()] == [sent.message_id]


async def test_a_turn_has_its_time_to_end_when_the_bridge_leaves() -> None:
    store, chat = MemoryStore(), FakeChat()
    go = asyncio.Event()
    async with stage(session("career"), store=store, chat=chat, limits=Limits(stop_grace_s=5)) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            await go.wait()
            return "the answer"

        on.agent("career", career)
        sent = await on.send("career", "look")
        behind = await on.send("career", "and this")
        await on.quiet()
        asyncio.get_running_loop().call_later(0.01, go.set)
    assert len(on.runtime.prompts) == 1
    assert (await on.request(sent.message_id)).state is Answer.ANSWERED
    assert (await on.message(behind.message_id)).state is State.QUEUED
    assert all(agent.closed for agent in on.runtime.agents)


async def test_a_bridge_whose_store_cannot_be_written_does_not_wait_for_it_in_silence() -> None:
    store = FragileStore()
    world = World(store=store)
    async with world.bridge() as on:
        on.agent("career", hanging(on))
        await on.send("career", "pay the bill")
        await on.quiet()
        store.down = True
    with pytest.raises(ExceptionGroup) as ended:
        async with world.bridge():
            pass
    assert ended.group_contains(Refused, match="out of reach")


async def test_a_bridge_that_starts_while_the_store_is_slow_to_come_finds_everything() -> None:
    store = FragileStore()
    world = World(store=store)
    async with world.bridge() as on:
        on.agent("career", hanging(on))
        sent = await on.send("career", "pay the bill")
        await on.quiet()
        store.down = True
    store.down = False
    async with world.bridge() as on:
        await on.quiet()
        assert (await on.message(sent.message_id)).state is State.PARKED


async def test_the_agents_of_a_dead_bridge_are_ended_side_by_side() -> None:
    handles = ("career", "finance", "travel")
    sessions = [session(handle) for handle in handles]
    store, clock = MemoryStore(), ManualClock()
    async with stage(*sessions, limits=Limits(stop_grace_s=0), store=store, clock=clock) as on:
        for handle in handles:
            on.agent(handle, hanging(on))
            await on.send(handle, "hello")
        await on.quiet()
    together = asyncio.Barrier(len(handles))

    class Slow(FakeRuntime):
        async def end(self, process: Process) -> None:
            async with asyncio.timeout(5):
                await together.wait()
            await super().end(process)

    async with stage(*sessions, store=store, clock=clock, runtime=Slow()) as on:
        assert len(on.runtime.ended_processes) == len(handles)
        await on.quiet()
        assert await store.live_turns() == []


async def left_idle(world: World) -> Process:
    """The agent of a bridge that dies once its turn is over."""
    async with world.bridge() as on:
        on.agent("career", working(on))
        await on.say("career", "one")
        await on.quiet()
        (idle,) = on.runtime.born
    return idle


async def test_the_idle_agent_of_a_dead_bridge_is_ended_before_another_has_its_context() -> None:
    world = World()
    idle = await left_idle(world)
    async with world.bridge() as on:
        assert on.runtime.ended_processes == [idle]
        assert on.runtime.launches == []


async def test_an_idle_agent_is_ended_also_where_its_bridge_died_as_the_next_turn_began() -> None:
    world = World()
    idle = await left_idle(world)
    begun = turn("ffffffff-ffff-7fff-bfff-ffffffffffff", node=LOCAL)
    await world.store.commit(Change(puts=[begun]))
    async with world.bridge() as on:
        assert on.runtime.ended_processes == [idle]
        assert await on.store.live_turns() == []
