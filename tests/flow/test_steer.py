"""A running turn is told that mail waits, and may read it (DESIGN §5)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest

from bridge.limits import Limits
from bridge.message import Intent, Outcome, State
from bridge.ports.runtime import Prompt, Result
from bridge.request import Answer
from bridge.session import Busy, Declared
from bridge.turn import Failure, FailureKind
from tests.fakes.clock import ManualClock
from tests.fakes.runtime import FakeAgent, FakeRuntime
from tests.flow.stage import OPERATOR, Stage, Tools, ident, session, stage

CAREER = session("career", busy=Busy.STEER)


class Career:
    """Its first turn reads, then waits for `go_on` and does what `steered` does; the others read and are done."""

    def __init__(self, on: Stage) -> None:
        self._on = on
        self.began = asyncio.Event()
        self.go_on = asyncio.Event()
        self.turns: list[list[str]] = []
        self.final: str | Result = "done"
        self.tools: Tools | None = None
        on.agent("career", self._behave)

    async def _behave(self, agent: FakeAgent, prompt: Prompt) -> str | Result:
        tools = self._on.tools(agent)
        self.turns.append([])
        await self.read(tools)
        if len(self.turns) > 1:
            return "done"
        self.tools = tools
        self.began.set()
        await self.go_on.wait()
        return self.final

    async def read(self, tools: Tools) -> list[str]:
        """Reads all there is, and returns the ids."""
        mail = (await tools.receive()).messages
        self.turns[-1] += [one.text for one in mail]
        return [one.message_id for one in mail]

    async def now(self) -> Tools:
        await self.began.wait()
        assert self.tools is not None
        return self.tools


@asynccontextmanager
async def at_work(career: Declared = CAREER, **more: object) -> AsyncIterator[tuple[Stage, Career, Tools]]:
    """Career is in the middle of a turn over `first`."""
    async with stage(career, **more) as on:  # type: ignore[arg-type]
        working = Career(on)
        await on.send("career", "first", wake=True)
        yield on, working, await working.now()


async def test_it_is_told_once_and_then_reads_what_it_was_told_of() -> None:
    async with at_work() as (on, career, tools):
        assert not await tools.told()
        second = await on.send("career", "second", wake=True)
        assert await career.read(tools) == []
        assert await tools.told()
        assert not await tools.told()
        third = await on.send("career", "third", wake=True)
        assert await career.read(tools) == [second.message_id]
        assert await tools.told()
        assert await career.read(tools) == [third.message_id]
        career.go_on.set()
        await on.quiet()
        assert career.turns == [["first", "second", "third"]]
        assert (await on.message(second.message_id)).outcome is Outcome.ACKED


async def test_the_final_text_is_no_answer_to_it_and_a_reply_is() -> None:
    async with at_work() as (on, career, tools):
        sent = [await on.send("career", text, wake=True) for text in ("second", "third")]
        await tools.told()
        ids = await career.read(tools)
        await tools.reply(ids[1], "to the third")
        career.go_on.set()
        await on.quiet()
        assert [(await on.request(one.message_id)).state for one in sent] == [Answer.NO_REPLY, Answer.ANSWERED]
        assert [one.text for one in await on.inbox() if one.intent is Intent.REPLY] == ["to the third", "done"]


async def test_what_was_not_read_keeps_its_own_turn() -> None:
    async with at_work() as (on, career, tools):
        sent = await on.send("career", "second", wake=True)
        assert await tools.told()
        career.go_on.set()
        await on.quiet()
        assert career.turns == [["first"], ["second"]]
        assert (await on.request(sent.message_id)).state is Answer.ANSWERED


async def test_what_came_before_the_turn_and_what_a_person_asks_keep_their_own_turns() -> None:
    async with stage(CAREER, session("desk")) as on:
        career = Career(on)
        await on.say("career", "/stop")
        await on.send("career", "first", wake=True)
        await on.send("career", "second", wake=True)
        await on.clock.advance(1)
        await on.say("career", "/resume")
        tools = await career.now()
        await on.say("desk", "/ask career is it?", OPERATOR)
        assert not await tools.told()
        career.go_on.set()
        await on.quiet()
        assert career.turns[0] == ["first"]
        assert ["second"] in career.turns


@pytest.mark.parametrize("busy", [Busy.QUEUE, Busy.COLLECT])
async def test_no_other_session_is_told(busy: Busy) -> None:
    async with at_work(session("career", busy=busy)) as (on, career, tools):
        await on.send("career", "second", wake=True)
        assert not await tools.told()
        assert await career.read(tools) == []
        career.go_on.set()


async def test_outside_of_a_turn_nobody_is_told() -> None:
    async with stage(CAREER) as on:
        assert not await on.exchange.mail_waits(await on.shell())


async def test_a_stop_parks_what_was_read_and_leaves_what_was_not() -> None:
    async with at_work(limits=Limits(stop_grace_s=0)) as (on, career, tools):
        read = await on.send("career", "second", wake=True)
        await tools.told()
        await career.read(tools)
        unread = await on.send("career", "third", wake=True)
        await tools.told()
        await on.say("career", "/stop")
        await on.quiet()
        assert (await on.message(read.message_id)).state is State.PARKED
        assert (await on.message(unread.message_id)).state is State.QUEUED


async def test_a_turn_that_fails_after_tools_had_begun_parks_what_was_read() -> None:
    async with at_work() as (on, career, tools):
        sent = await on.send("career", "second", wake=True)
        await tools.told()
        ids = await career.read(tools)
        await tools.defer(ids[0])
        career.final = Result("", "error", Failure(FailureKind.CRASH, "it fell over"))
        career.go_on.set()
        await on.quiet()
        assert (await on.message(sent.message_id)).state is State.PARKED


async def test_what_the_quiet_hours_keep_is_nothing_to_be_told_of() -> None:
    morning = datetime(2026, 1, 15, 7, 59, 30, tzinfo=UTC).timestamp()
    career = session("career", busy=Busy.STEER, quiet=("08:00-09:00",))
    async with at_work(career, clock=ManualClock(morning)) as (on, working, tools):
        await on.send("career", "second", wake=True)
        await on.clock.advance(30)
        assert not await tools.told()
        await on.send("career", "third", wake=True)
        assert not await tools.told()
        working.go_on.set()


async def test_lists_say_what_it_comes_to() -> None:
    runtime = FakeRuntime(embedding={"deaf"})
    deaf = session("deaf", busy=Busy.STEER, agent="deaf")
    async with stage(CAREER, deaf, session("build", agent=None), runtime=runtime) as on:
        page, _ = await on.exchange.sessions(await on.shell(), active=False)
        found = {one.id: one.busy for one in page}
        assert (found[ident("career")], found[ident("deaf")]) == (Busy.STEER, Busy.QUEUE)
        assert found[ident("build")] is Busy.QUEUE
