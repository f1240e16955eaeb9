"""Input for an idle session is stored together with the turn that begins over it, whatever happens meanwhile."""

import asyncio

import pytest

from bridge.message import Intent, Message, Outcome, State
from bridge.ports.runtime import Prompt
from bridge.ports.store import Change
from bridge.turn import Turn, TurnState
from tests.fakes.fragile import FragileStore
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import Stage, ident, session, stage


class Recording(FragileStore):
    def __init__(self) -> None:
        super().__init__()
        self.changes: list[Change] = []

    async def commit(self, change: Change) -> None:
        self.changes.append(change)
        await super().commit(change)

    def firsts(self) -> list[tuple[State, bool]]:
        """Of each change that brought work: its state, and whether a turn began in it."""
        return [
            (one.state, any(isinstance(put, Turn) for put in change.puts))
            for change in self.changes
            for one in change.puts
            if isinstance(one, Message) and not one.version and one.intent in (Intent.REQUEST, Intent.INPUT)
        ]


async def answering(agent: FakeAgent, prompt: Prompt) -> str:
    return "done"


async def held_up(on: Stage, store: FragileStore) -> asyncio.Task[str]:
    """Somebody speaks to an idle session, and the store is slow to say that it is stored."""
    store.gate = asyncio.Event()
    saying = asyncio.create_task(on.say("career", "hello"))
    await on.quiet()
    assert await store.live_turn(ident("career")) is not None
    return saying


def let_go(store: FragileStore) -> None:
    gate, store.gate = store.gate, None
    assert gate is not None
    gate.set()


async def test_an_idle_session_gets_its_input_and_its_turn_in_one_change() -> None:
    store = Recording()
    async with stage(session("career"), store=store) as on:
        sent = await on.send("career", "look it up")
        assert (sent.state, sent.position) == (State.QUEUED, 1)
        await on.quiet()
        await on.say("career", "hello")
        await on.quiet()
        assert store.firsts() == [(State.LEASED, True), (State.LEASED, True)]


async def test_what_comes_to_a_busy_session_is_queued() -> None:
    store = Recording()
    async with stage(session("career"), store=store) as on:
        working = asyncio.Event()

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            await working.wait()
            return "done"

        on.agent("career", career)
        await on.say("career", "one")
        sent = await on.send("career", "two")
        assert (sent.state, sent.position) == (State.QUEUED, 1)
        assert store.firsts() == [(State.LEASED, True), (State.QUEUED, False)]
        working.set()


async def test_a_look_that_finds_nothing_to_do_commits_nothing() -> None:
    store = Recording()
    async with stage(session("career"), store=store) as on:
        await on.quiet()
        before = len(store.changes)
        on.exchange._hints.lane(ident("career"))
        await on.clock.advance(300)
        assert len(store.changes) == before
        assert not any(change.empty for change in store.changes)


@pytest.mark.parametrize("handle", ["stands", "mailbox"])
async def test_no_turn_begins_where_none_may(handle: str) -> None:
    store = Recording()
    async with stage(session("stands"), session("mailbox", agent=None), store=store) as on:
        if handle == "stands":
            await on.say("stands", "/stop")
        sent = await on.send(handle, "look it up")
        await on.quiet()
        assert store.firsts() == [(State.QUEUED, False)]
        assert (await on.message(sent.message_id)).state is State.QUEUED
        assert on.runtime.prompts == []


async def test_a_stop_meets_a_turn_whose_first_change_is_being_stored() -> None:
    store = FragileStore()
    async with stage(session("career"), store=store) as on:
        saying = await held_up(on, store)
        stopping = asyncio.create_task(on.exchange.control.stop(ident("career"), everything=False))
        await on.quiet()
        let_go(store)
        said = await saying
        assert await stopping == (True, 0)
        assert on.runtime.prompts == []
        assert (await on.message(said)).outcome is Outcome.CANCELLED


async def test_a_turn_whose_caller_was_cut_off_is_run() -> None:
    store = FragileStore()
    async with stage(session("career"), store=store) as on:
        saying = await held_up(on, store)
        saying.cancel()
        let_go(store)
        await on.quiet()
        assert [prompt.words for _, prompt in on.runtime.prompts] == ["hello"]


async def test_a_turn_that_was_ended_elsewhere_before_its_lane_came_to_it_is_not_begun_again() -> None:
    store = FragileStore()
    async with stage(session("career"), store=store, node="first") as on:
        saying = await held_up(on, store)
        turn = await store.live_turn(ident("career"))
        assert turn is not None
        gate, store.gate = store.gate, None
        async with stage(session("career"), store=store, node="second", clock=on.clock) as other:
            await other.exchange.control.stop(ident("career"), everything=False)
            other.agent("career", answering)
        store.gate = gate
        let_go(store)
        await saying
        await on.quiet()
        ended = await store.turn(turn.id)
        assert ended is not None
        assert ended.state is TurnState.CANCELLED
        assert on.runtime.prompts == []
        on.agent("career", answering)
        await on.say("career", "go on")
        await on.quiet()
        assert [prompt.words for _, prompt in on.runtime.prompts] == ["go on"]
