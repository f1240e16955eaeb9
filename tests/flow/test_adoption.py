"""The bridge is gone in the middle of a turn, and its agent is not: the next bridge goes on with it (DESIGN §8)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest

from adapters.memory.store import MemoryStore
from bridge import briefing
from bridge.decision import Verb
from bridge.errors import Refused
from bridge.flow.exchange import LOCAL
from bridge.history import Called, History, digest
from bridge.ids import TurnId
from bridge.limits import Limits
from bridge.message import Outcome, State
from bridge.ports.runtime import Prompt, Result, ToolBegun, ToolEnded
from bridge.ports.store import Change
from bridge.question import Asked, Option, Question
from bridge.request import Answer
from bridge.session import Declared
from bridge.trace import StepKind
from bridge.turn import Failure, FailureKind, Turn, TurnState
from bridge.views import Mail, Receipt
from tests.fakes.chat import FakeChat
from tests.fakes.clock import ManualClock
from tests.fakes.fragile import FragileStore
from tests.fakes.runtime import FakeAgent
from tests.fakes.worker import AdoptingRuntime, FakeWorker
from tests.flow.stage import ALL, Stage, Tools, ident, person, room, rule, session, stage

EDIT = ToolBegun("1", "edit", reading=False)
READ = ToolBegun("0", "mcp__tieline__peer_receive", reading=True)
IN_VAIN = ToolEnded("0", ok=False, name=READ.name)


@dataclass
class Desk:
    """What outlives a bridge: the store, the rooms, and an agent that works until it is let, with what it has read."""

    store: MemoryStore = field(default_factory=MemoryStore)
    chat: FakeChat = field(default_factory=FakeChat)
    clock: ManualClock = field(default_factory=ManualClock)
    runtime: AdoptingRuntime = field(default_factory=AdoptingRuntime)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    mail: list[Mail] = field(default_factory=list)
    begun: bool = True
    on: Stage | None = None

    @asynccontextmanager
    async def bridge(
        self, *sessions: Declared, grace_s: float = 0, node: str = LOCAL, runtime: AdoptingRuntime | None = None
    ) -> AsyncIterator[Stage]:
        """Without a grace, leaving it is a death as far as store and agents can tell."""
        async with stage(
            *(sessions or [session("career"), session("finance")]),
            rules=[rule("*", "*", (*ALL, Verb.SPAWN))],
            limits=Limits(stop_grace_s=grace_s),
            store=self.store,
            chat=self.chat,
            clock=self.clock,
            runtime=runtime or self.runtime,
            node=node,
        ) as self.on:
            for handle in ("career", "finance"):
                self.on.agent(handle, self.works)
            yield self.on

    async def works(self, agent: FakeAgent, prompt: Prompt) -> str:
        assert isinstance(agent, FakeWorker)
        self.mail += (await self.tools(agent).receive()).messages
        agent.tell(READ)
        if self.begun:
            agent.tell(EDIT)
        await self.gate.wait()
        return "what I found"

    def tools(self, agent: FakeAgent) -> Tools:
        assert self.on is not None
        return self.on.tools(agent)

    @property
    def worker(self) -> FakeWorker:
        return self.runtime.workers[0]

    async def left(self, *handles: str) -> list[Receipt]:
        """Work that a bridge has left behind in the middle."""
        async with self.bridge() as on:
            sent = [await on.send(handle, "look it up") for handle in handles or ("career",)]
            await on.quiet()
        return sent

    async def turn(self) -> Turn:
        """The newest of the session."""
        return next(one for one in await self.store.last_turns() if one.session == ident("career"))


async def test_it_goes_on_and_its_answer_arrives_once() -> None:
    desk = Desk()
    (sent,) = await desk.left()
    assert desk.worker.working
    async with desk.bridge() as on:
        await on.quiet()
        desk.gate.set()
        await on.quiet()
        assert [mail.text for mail in await on.inbox()] == ["what I found"]
        assert (await on.message(sent.message_id)).outcome is Outcome.ACKED
        assert desk.worker.forgotten
        desk.gate.clear()
        await on.send("career", "and now this")
        await on.quiet()
        assert len(desk.runtime.workers) == 1
    assert len(desk.runtime.prompts) == 2
    assert [(one.epoch, after) for one, after in desk.runtime.claims] == [(2, 2)]


async def test_each_death_raises_the_epoch_and_nothing_is_stored_twice() -> None:
    desk = Desk()
    (sent,) = await desk.left()
    for deaths in range(1, 4):
        async with desk.bridge() as on:
            await on.quiet()
            desk.worker.tell(ToolBegun(f"{deaths + 1}", f"edit-{deaths}", reading=False))
            await on.quiet()
        desk.worker.tell(ToolBegun(f"{deaths + 10}", f"alone-{deaths}", reading=False))
    async with desk.bridge() as on:
        desk.gate.set()
        await on.quiet()
        steps = await on.exchange.trace(await person(on), sent.message_id)
        tools = [str(step.detail["name"]) for step in steps if step.step is StepKind.TOOL]
        told = [name for deaths in (1, 2, 3) for name in (f"edit-{deaths}", f"alone-{deaths}")]
        assert sorted(tools) == sorted(["mcp__tieline__peer_receive", "edit", *told])
        assert [mail.text for mail in await on.inbox()] == ["what I found"]
    assert [(one.epoch, after) for one, after in desk.runtime.claims] == [(2, 2), (3, 3), (4, 5), (5, 7)]
    assert len(desk.runtime.prompts) == 1


async def test_what_it_did_without_a_bridge_counts() -> None:
    desk = Desk(begun=False)
    (sent,) = await desk.left()
    desk.worker.tell(EDIT)
    desk.worker.die()
    async with desk.bridge() as on:
        await on.quiet()
        message = await on.message(sent.message_id)
        assert (message.state, message.reason) == (
            State.PARKED,
            "the bridge stopped in the middle of the turn, and it had begun to use tools",
        )
    assert len(desk.runtime.prompts) == 1


async def test_one_that_ends_while_no_bridge_runs_has_answered() -> None:
    desk = Desk()
    await desk.left()
    desk.gate.set()
    await asyncio.sleep(0)
    async with desk.bridge() as on:
        await on.quiet()
        assert [mail.text for mail in await on.inbox()] == ["what I found"]
        assert desk.worker.forgotten
    assert len(desk.runtime.prompts) == 1


async def test_one_that_died_without_a_result_is_tried_again_where_its_history_proves_that_it_did_nothing() -> None:
    desk = Desk(begun=False)
    (sent,) = await desk.left()
    (_, prompt), *_ = desk.runtime.prompts
    desk.runtime.histories[ident("career")] = History((digest(prompt.parts),), (Called("peer_receive", reading=True),))
    desk.worker.die()
    desk.gate.set()
    async with desk.bridge() as on:
        await on.quiet()
        assert (await on.request(sent.message_id)).state is Answer.ANSWERED
        assert (await on.message(sent.message_id)).attempts == 1
    assert len(desk.runtime.prompts) == 2


async def test_one_that_died_without_a_result_or_a_history_is_parked() -> None:
    desk = Desk(begun=False)
    (sent,) = await desk.left()
    desk.worker.die()
    async with desk.bridge() as on:
        await on.quiet()
        assert (await on.message(sent.message_id)).state is State.PARKED
        assert desk.worker.forgotten


async def test_a_worker_that_dies_under_its_bridge_is_decided_about_as_one_that_died_without() -> None:
    desk = Desk(begun=False)
    async with desk.bridge() as on:
        sent = await on.send("career", "look it up")
        await on.quiet()
        desk.worker.die()
        await on.quiet()
        message = await on.message(sent.message_id)
        assert message.state is State.PARKED
        assert message.reason is not None
        assert message.reason.startswith("the worker has ended, and ")
        assert (await desk.turn()).state is TurnState.LOST
        assert desk.worker.forgotten
    assert len(desk.runtime.prompts) == 1


async def test_one_that_dies_after_it_was_adopted_is_decided_about_too() -> None:
    desk = Desk(begun=False)
    (sent,) = await desk.left()
    async with desk.bridge() as on:
        await on.quiet()
        desk.worker.die()
        await on.quiet()
        assert (await on.message(sent.message_id)).state is State.PARKED
    assert len(desk.runtime.prompts) == 1


async def test_a_death_that_is_sure_is_an_attempt() -> None:
    desk = Desk()

    async def fails(agent: FakeAgent, prompt: Prompt) -> Result:
        return Result("", "error", Failure(FailureKind.CRASH, "it crashed"))

    async with desk.bridge() as on:
        on.agent("career", fails)
        sent = await on.send("career", "look it up")
        await on.quiet()
        message = await on.message(sent.message_id)
        assert (message.state, message.attempts) == (State.QUEUED, 1)


# What its agent does meanwhile


async def test_its_tools_speak_for_its_turn_before_its_lane_goes_on() -> None:
    desk = Desk()
    (sent,) = await desk.left()
    (turn,) = await desk.store.live_turns()
    async with desk.bridge() as on:
        caller = await desk.tools(desk.worker).caller()
        assert (caller.turn, caller.epoch) == (turn.id, 2)
        await desk.tools(desk.worker).reply(sent.message_id, "by tool")
        desk.gate.set()
        await on.quiet()
        assert [mail.text for mail in await on.inbox()] == ["by tool"]
        caller = await desk.tools(desk.worker).caller()
        assert caller.turn is None


async def test_what_it_was_reading_is_shown_again_and_counts_as_read() -> None:
    desk = Desk()
    (sent,) = await desk.left()
    async with desk.bridge() as on:
        (again,) = (await desk.tools(desk.worker).receive()).messages
        assert (again.message_id, again.redelivered) == (sent.message_id, True)
        assert (await desk.tools(desk.worker).receive()).messages == ()
        desk.gate.set()
        await on.quiet()
        assert (await on.message(sent.message_id)).outcome is Outcome.ACKED


class Away(FragileStore):
    """While it is down, no turn can be read either."""

    async def turn(self, turn: TurnId) -> Turn | None:
        self._reachable()
        return await super().turn(turn)


@pytest.mark.parametrize("begun", [False, True])
async def test_what_it_asked_for_again_in_vain_counts_as_read_only_where_it_has_acted(begun: bool) -> None:
    store = Away()
    desk = Desk(store=store, begun=begun)
    (sent,) = await desk.left()
    async with desk.bridge() as on:
        store.down = True
        with pytest.raises(Refused, match="unavailable"):
            await desk.tools(desk.worker).receive()
        store.down = False
        desk.gate.set()
        await on.quiet()
        again = [] if begun else [briefing.MAIL_NOTICE_AGAIN]
        assert [prompt.notice for _, prompt in desk.runtime.prompts][1:] == again
        assert (await on.message(sent.message_id)).outcome is Outcome.ACKED


async def test_what_its_call_failed_to_read_is_unread_though_it_has_acted() -> None:
    """It was cut off by the death of the bridge, or had failed there: only the agent can tell."""
    desk = Desk()
    (sent,) = await desk.left()
    desk.worker.tell(IN_VAIN)
    async with desk.bridge() as on:
        desk.gate.set()
        await on.quiet()
        assert [prompt.notice for _, prompt in desk.runtime.prompts][1:] == [briefing.MAIL_NOTICE_AGAIN]
        assert (await on.message(sent.message_id)).outcome is Outcome.ACKED


async def test_that_a_call_has_failed_to_read_is_known_to_every_later_bridge() -> None:
    store = Away()
    desk = Desk(store=store)
    (sent,) = await desk.left()
    async with desk.bridge() as on:
        store.down = True
        with pytest.raises(Refused, match="unavailable"):
            await desk.tools(desk.worker).receive()
        store.down = False
        desk.worker.tell(IN_VAIN)
        await on.quiet()
    async with desk.bridge() as on:
        desk.gate.set()
        await on.quiet()
        assert [prompt.notice for _, prompt in desk.runtime.prompts][1:] == [briefing.MAIL_NOTICE_AGAIN]
        assert (await on.message(sent.message_id)).outcome is Outcome.ACKED


async def test_what_it_had_read_before_that_call_stays_read() -> None:
    desk = Desk()
    async with desk.bridge() as on:
        sent = await on.send("career", "look it up")
        await on.quiet()
        await desk.clock.advance(1)
        news = await on.send("career", "by the way", wake=False)
        (more,) = (await desk.tools(desk.worker).receive()).messages
        assert more.message_id == news.message_id
    desk.worker.tell(IN_VAIN)
    async with desk.bridge() as on:
        desk.gate.set()
        await on.quiet()
        read, unread = [await on.message(one.message_id) for one in (sent, news)]
        assert [(one.unread, one.outcome) for one in (read, unread)] == [(0, Outcome.ACKED), (1, None)]


@pytest.mark.parametrize("well", [False, True])
async def test_what_an_earlier_call_gave_stays_read_whatever_a_later_one_fails_to_give(well: bool) -> None:
    """It has begun to act on it, so that it must not be run again; the second call had nothing new to give."""
    desk = Desk()
    async with desk.bridge() as on:
        sent = await on.send("career", "look it up")
        await on.quiet()
        desk.worker.tell(ToolEnded("0", ok=well, name=READ.name))
        await on.quiet()
    desk.worker.tell(ToolBegun("2", READ.name, reading=True))
    desk.worker.tell(ToolEnded("2", ok=False, name=READ.name))
    async with desk.bridge() as on:
        desk.gate.set()
        await on.quiet()
        again = [] if well else [briefing.MAIL_NOTICE_AGAIN]
        assert [prompt.notice for _, prompt in desk.runtime.prompts][1:] == again
        assert (await on.message(sent.message_id)).outcome is Outcome.ACKED


async def test_an_answer_to_a_wait_that_was_cut_off_is_shown_by_the_next_turn() -> None:
    """Whether it had come to the agent nobody knows; a second look does less harm than none."""
    desk = Desk()
    await desk.left()

    async def answers(agent: FakeAgent, prompt: Prompt) -> str:
        await desk.tools(agent).receive()
        return "42"

    async with desk.bridge() as on:
        on.agent("finance", answers)
        asked = await desk.tools(desk.worker).send("finance", "and you?")
        (turn,) = [one for one in await desk.store.live_turns() if one.session == ident("career")]
        await on.quiet()
        (answer,) = [one for one in await desk.store.queue(turn.session) if one.in_reply_to == asked.message_id]
        await desk.store.commit(Change(puts=[replace(answer.to_leased(turn.id), read_at=on.clock.now())]))
    async with desk.bridge() as on:
        desk.gate.set()
        await on.quiet()
        assert [mail.message_id for mail in desk.mail].count(answer.id) == 1
        assert (await on.message(answer.id)).outcome is Outcome.ACKED


async def test_what_it_had_read_counts_though_it_does_not_ask_again() -> None:
    desk = Desk()
    (sent,) = await desk.left()
    async with desk.bridge() as on:
        desk.gate.set()
        await on.quiet()
        assert (await on.message(sent.message_id)).outcome is Outcome.ACKED
    assert len(desk.runtime.prompts) == 1


async def test_a_question_that_was_open_is_asked_in_the_same_post() -> None:
    desk, answers = Desk(), []
    options = (Option("yes", "Yes", allows=True, lasting=False), Option("no", "No", allows=False, lasting=False))

    async def asks(agent: FakeAgent, prompt: Prompt) -> str:
        assert isinstance(agent, FakeWorker)
        answers.append(await agent.ask(Question("may I", options, number=1)))
        return "thank you"

    async with desk.bridge() as on:
        on.agent("career", asks)
        await on.say("career", "ask me")
        await on.chat.seen(room("career"), "may I")
    asked = [key for key, post in desk.chat.posts.items() if "may I" in post.text]
    async with desk.bridge() as on:
        await on.quiet()
        await on.press("career", "Yes")
        await on.quiet()
        assert [(one.outcome, one.choice) for one in answers] == [(Asked.ANSWERED, "yes")]
        assert [key for key, post in on.chat.posts.items() if "may I" in post.text] == asked
        await on.chat.seen(room("career"), "thank you")


# What people, settings and other bridges do


async def test_a_stop_right_after_the_start_ends_it() -> None:
    desk = Desk()
    (sent,) = await desk.left()
    async with desk.bridge() as on:
        await on.say("career", "/stop")
        await on.quiet()
        assert desk.worker.closed
        assert not desk.worker.working
        assert desk.worker.forgotten
        assert (await on.message(sent.message_id)).state is State.PARKED
        await on.say("career", "go on")
        desk.gate.set()
        await on.quiet()
        await on.chat.seen(room("career"), "what I found")
        other = next(one for one in desk.runtime.workers if one is not desk.worker)
        assert (await desk.tools(other).caller()).turn is None


async def test_a_stop_before_anything_goes_on_leaves_nothing_behind() -> None:
    desk = Desk()
    (sent,) = await desk.left()
    async with desk.bridge() as on:
        assert await on.exchange._recovery.stop(ident("career"))
        assert desk.worker.closed
        assert on.exchange._turns.current(ident("career")) is None
        assert (await on.message(sent.message_id)).state is State.PARKED
        await on.quiet()
        assert on.exchange._turns.current(ident("career")) is None
    assert len(desk.runtime.prompts) == 1


async def test_a_stop_while_it_goes_on_ends_it() -> None:
    desk = Desk()
    (sent,) = await desk.left()
    async with desk.bridge() as on:
        await on.quiet()
        await on.say("career", "/stop")
        await on.quiet()
        assert not desk.worker.working
        assert (await on.message(sent.message_id)).state is State.PARKED
        assert (await desk.turn()).state is TurnState.CANCELLED


async def test_a_stop_that_was_heard_before_its_lane_began_ends_it_after() -> None:
    desk = Desk()
    (sent,) = await desk.left()
    async with desk.bridge() as on:
        await on.quiet()
        assert await on.exchange._recovery.stop(ident("career"))
        assert (await desk.turn()).state is TurnState.CANCELLED
        assert (await on.message(sent.message_id)).state is State.PARKED
        await on.say("career", "go on")
        await on.quiet()
        assert not await on.exchange._recovery.stop(ident("career"))
        assert (await desk.turn()).live


async def test_a_stop_that_is_heard_as_its_lane_begins_ends_its_agent() -> None:
    desk = Desk()
    await desk.left()
    async with desk.bridge() as on:
        found = on.exchange._recovery.take_undecided(ident("career"))
        assert found is not None
        assert found.agent is not None
        with on.exchange._turns.opening(ident("career")) as run:
            run.stopped = True
            await on.exchange._turns.go_on(run, found.turn, found.agent)
        await on.quiet()
        assert not desk.worker.working
        assert (await desk.turn()).state is TurnState.CANCELLED


async def test_one_that_another_bridge_takes_over_ends_here_and_stores_nothing_more() -> None:
    desk = Desk()
    (sent,) = await desk.left()
    async with desk.bridge() as on:
        await on.quiet()
        async with desk.bridge(node="other", runtime=AdoptingRuntime()) as other:
            await other.exchange._recovery.stop(ident("career"))
            await desk.clock.advance(Limits().lease_s)
            assert not desk.worker.working
        assert (await on.message(sent.message_id)).state is State.PARKED
        assert (await desk.turn()).epoch == 3


async def test_a_session_that_left_the_file_meanwhile_is_ended() -> None:
    desk = Desk()
    (sent,) = await desk.left()
    async with desk.bridge(session("finance")) as on:
        await on.quiet()
        assert not desk.worker.working
        assert not (await desk.turn()).live
        assert (await on.request(sent.message_id)).state is Answer.FAILED
        assert on.exchange._turns.current(ident("career")) is None
    assert len(desk.runtime.prompts) == 1


async def test_a_turn_goes_on_as_it_began_whatever_the_file_says_by_now() -> None:
    desk = Desk()
    await desk.left()
    async with desk.bridge(session("career", agent="other", cwd="/elsewhere"), session("finance")) as on:
        desk.gate.set()
        await on.quiet()
        assert [mail.text for mail in await on.inbox()] == ["what I found"]
        await on.send("career", "and now this")
        await on.quiet()
        assert [one.cwd for one in desk.runtime.launches] == ["~", "/elsewhere"]
        assert desk.worker.closed
    assert len(desk.runtime.prompts) == 2


async def test_a_turn_of_an_agent_that_left_the_file_meanwhile_comes_to_its_end_and_is_the_last() -> None:
    desk = Desk()
    await desk.left()
    desk.runtime.unknown.add("fake")
    async with desk.bridge() as on:
        desk.gate.set()
        await on.quiet()
        assert [mail.text for mail in await on.inbox()] == ["what I found"]
        await on.send("career", "and now this")
        await on.quiet()
    assert len(desk.runtime.prompts) == 1


async def test_two_sessions_go_on_side_by_side() -> None:
    desk = Desk()
    await desk.left("career", "finance")
    async with desk.bridge() as on:
        await on.quiet()
        assert desk.runtime.most_in_all == 2
        desk.gate.set()
        await on.quiet()
        assert sorted(mail.sender for mail in await on.inbox()) == ["default/career", "default/finance"]
    assert len(desk.runtime.prompts) == 2


async def test_a_pause_of_all_traffic_stops_no_turn_that_goes_on() -> None:
    desk = Desk()
    await desk.left()
    async with desk.bridge() as on:
        await on.exchange.oversight.pause(await person(on))
        await on.quiet()
        desk.gate.set()
        await on.quiet()
        assert (await desk.turn()).state is TurnState.COMPLETED


async def test_a_drain_leaves_what_takes_longer_to_the_next_bridge() -> None:
    desk = Desk()
    async with desk.bridge(grace_s=0.01) as on:
        sent = await on.send("career", "look it up")
        await on.quiet()
    assert desk.worker.working
    async with desk.bridge() as on:
        await on.quiet()
        desk.gate.set()
        await on.quiet()
        assert (await on.request(sent.message_id)).state is Answer.ANSWERED
    assert len(desk.runtime.prompts) == 1


async def test_a_bridge_that_ends_before_a_turn_goes_on_leaves_it_to_the_next() -> None:
    desk = Desk()
    await desk.left()
    async with desk.bridge():
        pass
    assert desk.worker.working
    async with desk.bridge() as on:
        desk.gate.set()
        await on.quiet()
        assert [mail.text for mail in await on.inbox()] == ["what I found"]
    assert len(desk.runtime.prompts) == 1


async def test_a_child_of_a_turn_that_goes_on_is_gone_with_its_bridge() -> None:
    desk, made = Desk(), []

    async def spawns(agent: FakeAgent, prompt: Prompt) -> str:
        await desk.tools(agent).receive()
        made.append(await desk.tools(agent).spawn("a part of it"))
        await desk.gate.wait()
        return "what I found"

    async with desk.bridge() as on:
        on.agent("career", spawns)
        on.helper(desk.works)
        await on.send("career", "look it up")
        await on.quiet()
    parent, child = desk.runtime.workers
    assert parent.working
    assert child.working
    async with desk.bridge() as on:
        await on.quiet()
        assert parent.working
        assert not child.working
        assert [one.turn for one, _ in desk.runtime.claims] == [(await desk.turn()).id]
        assert (await on.request(made[0].message_id)).state is Answer.CANCELLED
        desk.gate.set()
        await on.quiet()
        assert "what I found" in [mail.text for mail in await on.inbox()]


async def test_a_runtime_that_fails_to_adopt_keeps_no_bridge_from_starting() -> None:
    desk = Desk()
    (sent,) = await desk.left()
    desk.runtime.broken = KeyError("a defect")
    async with desk.bridge() as on:
        await on.quiet()
        assert not desk.worker.working
        assert (await on.message(sent.message_id)).state is State.PARKED
