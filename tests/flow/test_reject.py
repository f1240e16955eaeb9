"""A session that takes handoffs only when it is idle (DESIGN §5)."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adapters.sqlite.store import open_store
from bridge.errors import Code, Refused
from bridge.message import Intent, Outcome, State
from bridge.ports.runtime import Prompt
from bridge.ports.store import Store
from bridge.session import Busy
from bridge.views import Receipt
from tests.databases import made
from tests.fakes.interleaved import interleaved
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import Stage, ident, room, rule, session, stage

CAREER = session("career", busy=Busy.REJECT)


def working(on: Stage, handle: str = "career") -> asyncio.Event:
    """Its agent reads its mail and works until the event is set."""
    go_on = asyncio.Event()

    async def behaviour(agent: FakeAgent, prompt: Prompt) -> str:
        await on.tools(agent).receive()
        await go_on.wait()
        return "done"

    on.agent(handle, behaviour)
    return go_on


async def test_a_handoff_is_refused_while_it_is_at_work_and_taken_after() -> None:
    async with stage(CAREER) as on:
        go_on = working(on)
        await on.send("career", "first", wake=True)
        refused = await on.refused("career", "second", wake=True)
        assert (refused.code, refused.rule) == (Code.BUSY, "busy")
        assert (await on.send("career", "news", wake=False)).state is State.QUEUED
        go_on.set()
        await on.quiet()
        assert (await on.send("career", "third", wake=True)).state is State.QUEUED


async def test_it_is_refused_too_where_work_waits() -> None:
    async with stage(CAREER) as on:
        await on.say("career", "/stop")
        await on.send("career", "first", wake=True)
        await on.quiet()
        assert (await on.refused("career", "second", wake=True)).code is Code.BUSY


async def test_its_people_and_the_answers_to_it_are_never_refused() -> None:
    async with stage(CAREER, session("desk")) as on:
        asked = asyncio.Event()

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            if prompt.words == "ask desk":
                await on.tools(agent).send("desk", "what do you say?")
                await asked.wait()
            await on.tools(agent).receive()
            return "done"

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            return "yes"

        on.agent("career", career)
        on.agent("desk", desk)
        await on.say("career", "ask desk")
        await on.quiet()
        waiting = [one for one in await on.store.queue(ident("career")) if one.intent is Intent.REPLY]
        assert [one.text for one in waiting] == ["yes"]
        said = await on.say("career", "and hurry")
        asked.set()
        await on.quiet()
        assert (await on.message(said)).outcome is Outcome.ACKED
        assert (await on.message(waiting[0].id)).outcome is Outcome.ACKED


async def test_a_persons_handoff_from_elsewhere_is_refused_with_a_word_at_its_place() -> None:
    async with stage(CAREER, session("desk")) as on:
        working(on)
        await on.send("career", "first", wake=True)
        await on.say("desk", "/ask career is it?")
        await on.chat.seen(room("desk"), "refused: busy – default/career is at work")


async def test_nothing_is_learnt_of_the_work_of_a_session_that_one_may_not_see() -> None:
    rules = [rule("default/shell", "default/career")]
    async with stage(CAREER, session("build", agent=None), rules=rules) as on:
        go_on = working(on)
        await on.send("career", "first", wake=True)
        build = await on.shell("build")
        at_work = await on.refused("career", caller=build, wake=True)
        nobody = await on.refused("nobody", caller=build, wake=True)
        assert at_work.as_json() == nobody.as_json()
        go_on.set()


@pytest.fixture(params=["memory", "sqlite"])
async def slow_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    if request.param == "memory":
        yield interleaved(3)
    else:
        store = await open_store(made(tmp_path / "tieline.db"))
        yield store
        await store.close()


async def test_of_many_handoffs_at_once_an_idle_session_takes_one(slow_store: Store) -> None:
    senders = [f"s{number}" for number in range(8)]
    async with stage(CAREER, *(session(one, agent=None) for one in senders), store=slow_store) as on:
        go_on = working(on)
        callers = [await on.shell(one) for one in senders]

        async def one(number: int) -> Receipt | Code:
            try:
                return await on.send("career", f"{number}", caller=callers[number], wake=True)
            except Refused as refused:
                return refused.code

        outcomes = await asyncio.gather(*map(one, range(len(senders))))
        assert outcomes.count(Code.BUSY) == len(senders) - 1
        go_on.set()
