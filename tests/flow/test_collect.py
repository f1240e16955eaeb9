"""What one sender sent in a row becomes one turn (DESIGN §5)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from adapters.memory.store import MemoryStore
from adapters.sqlite.store import open_store
from bridge import briefing
from bridge.decision import Verb
from bridge.limits import Limits
from bridge.message import Intent, Outcome, State
from bridge.ports.runtime import Prompt, Result
from bridge.ports.store import Store
from bridge.request import Answer
from bridge.session import Busy
from bridge.turn import Failure, FailureKind, Turn, TurnState
from tests.databases import made
from tests.fakes.runtime import FakeAgent, FakeRuntime
from tests.flow.stage import USER, Stage, ident, room, rule, session, stage

CAREER = session("career", busy=Busy.COLLECT)
BUILD = session("build", agent=None)
CRASH = Failure(FailureKind.CRASH, "it fell over")


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    if request.param == "memory":
        yield MemoryStore()
    else:
        opened = await open_store(made(tmp_path / "tieline.db"))
        yield opened
        await opened.close()


async def _all_read(agent: FakeAgent, ids: list[str]) -> str | Result:
    return "all read"


class Career:
    """Its first turn works until `go_on` is set; the next ones `act`. `read` is what each turn after it was given."""

    def __init__(self, on: Stage) -> None:
        self.on = on
        self.go_on = asyncio.Event()
        self.read: list[list[str]] = []
        self.act: Callable[[FakeAgent, list[str]], Awaitable[str | Result]] = _all_read
        on.agent("career", self.behave)

    async def behave(self, agent: FakeAgent, prompt: Prompt) -> str | Result:
        if prompt.words == "work":
            await self.go_on.wait()
            return "worked"
        mail = (await self.on.tools(agent).receive()).messages
        self.read.append([one.text for one in mail])
        return await self.act(agent, [one.message_id for one in mail])

    async def work(self) -> None:
        await self.on.say("career", "work")

    async def done(self) -> None:
        self.go_on.set()
        async with asyncio.timeout(5):
            while await self.on.store.queue(ident("career")) or await self.on.store.live_turns():
                await self.on.quiet()


def prompts(on: Stage) -> list[str | None]:
    return [prompt.notice for one, prompt in on.runtime.prompts if one == ident("career") and prompt.notice]


async def turns_of(on: Stage, message: str) -> Turn:
    turn = await on.store.turn((await on.message(message)).turn or "")  # type: ignore[arg-type]
    assert turn is not None
    return turn


async def test_requests_in_a_row_are_one_turn_whose_final_text_answers_none(store: Store) -> None:
    async with stage(CAREER, store=store) as on:
        career = Career(on)
        await career.work()
        sent = [await on.send("career", f"part {number}", wake=True) for number in range(3)]

        async def act(agent: FakeAgent, ids: list[str]) -> str:
            await on.tools(agent).reply(ids[1], "to the second")
            return "my final words"

        career.act = act
        await career.done()
        assert career.read == [["part 0", "part 1", "part 2"]]
        assert prompts(on) == [briefing.MAIL_NOTICE_SEVERAL]
        states = [(await on.request(one.message_id)).state for one in sent]
        assert states == [Answer.NO_REPLY, Answer.ANSWERED, Answer.NO_REPLY]
        assert [(await on.message(one.message_id)).outcome for one in sent] == [Outcome.ACKED] * 3
        turn = await turns_of(on, sent[0].message_id)
        assert (turn.inputs, turn.acts_for) == (tuple(one.message_id for one in sent), None)
        await on.chat.seen(room("career"), "my final words")


async def test_only_what_follows_each_other_from_one_sender_is_joined() -> None:
    async with stage(CAREER, BUILD) as on:
        career = Career(on)
        await career.work()
        for sender, text in (("shell", "a"), ("shell", "b"), ("build", "c"), ("shell", "d")):
            await on.send("career", text, caller=await on.shell(sender), wake=True)
        await career.done()
        assert career.read == [["a", "b"], ["c"], ["d"]]


async def test_what_another_rule_admitted_is_not_joined() -> None:
    rules = [rule("*", "*", (Verb.ASK, Verb.WAKE)), rule("default/shell", "*", (Verb.SEND,))]
    async with stage(CAREER, rules=rules) as on:
        career = Career(on)
        await career.work()
        await on.send("career", "a", wake=True)
        await on.send("career", "b", wake=True, intent=Intent.INFORM)
        await on.send("career", "c", wake=True, intent=Intent.INFORM)
        await career.done()
        assert career.read == [["a"], ["b", "c"]]


async def test_an_answer_is_joined_to_nothing() -> None:
    async with stage(CAREER, BUILD) as on:
        career = Career(on)
        build = await on.shell("build")
        asked = asyncio.Event()

        async def behave(agent: FakeAgent, prompt: Prompt) -> str | Result:
            if prompt.words == "ask":
                await on.tools(agent).send("build", "1?")
                await on.tools(agent).send("build", "2?")
                await asked.wait()
                return ""
            return await career.behave(agent, prompt)

        on.agent("career", behave)
        await on.say("career", "ask")
        await on.quiet()
        for request in await on.store.open_requests_of(ident("career")):
            await on.exchange.reply(build, request.id, f"answer to {request.id}")
        await on.send("career", "a", caller=build, wake=True)
        asked.set()
        await career.done()
        # The two answers are for the same input: one turn reads both, as always.
        assert [len(one) for one in career.read] == [2, 1]
        assert briefing.MAIL_NOTICE_SEVERAL not in prompts(on)


async def test_words_that_a_person_says_in_a_row_are_one_turn_and_those_of_two_people_are_not() -> None:
    async with stage(CAREER) as on:
        career = Career(on)
        await career.work()
        said = [await on.say("career", text) for text in ("and", "then")]
        other = await on.say("career", "no", USER)
        on.agent("career", career.behave)
        await career.done()
        words = [prompt.words for _, prompt in on.runtime.prompts]
        assert words == ["work", "and\n\nthen", "no"]
        assert [(await on.message(one)).outcome for one in (*said, other)] == [Outcome.ACKED] * 3


async def test_what_is_not_read_is_announced_once_more_and_what_was_read_is_settled() -> None:
    async with stage(CAREER) as on:
        career = Career(on)
        await career.work()
        sent = [await on.send("career", f"{number}", wake=True) for number in range(3)]

        async def behave(agent: FakeAgent, prompt: Prompt) -> str | Result:
            if prompt.words:
                return await career.behave(agent, prompt)
            await on.tools(agent).receive(limit=1)
            return "read one"

        on.agent("career", behave)
        await career.done()
        assert [(await on.message(one.message_id)).outcome for one in sent] == [
            Outcome.ACKED,
            Outcome.ACKED,
            Outcome.FAILED,
        ]
        assert prompts(on) == [briefing.MAIL_NOTICE_SEVERAL, briefing.MAIL_NOTICE_AGAIN]


async def test_what_made_a_turn_fail_together_is_tried_alone() -> None:
    async with stage(CAREER) as on:
        career = Career(on)
        await career.work()
        sent = [await on.send("career", text, wake=True) for text in ("fine", "poison", "good")]

        async def act(agent: FakeAgent, ids: list[str]) -> str | Result:
            return Result("", "error", CRASH) if "poison" in career.read[-1] else "done"

        career.act = act
        career.go_on.set()
        await on.clock.advance(3600)
        await career.done()
        outcomes = [(await on.message(one.message_id)).outcome for one in sent]
        assert outcomes == [Outcome.ACKED, Outcome.DEAD, Outcome.ACKED]
        assert career.read[0] == ["fine", "poison", "good"]
        assert all(len(one) == 1 for one in career.read[1:])


async def test_a_stop_parks_each_and_one_that_is_retried_runs() -> None:
    async with stage(CAREER, limits=Limits(stop_grace_s=0)) as on:
        career = Career(on)
        await career.work()
        sent = [await on.send("career", text, wake=True) for text in ("a", "b")]
        reading = asyncio.Event()

        async def act(agent: FakeAgent, ids: list[str]) -> str:
            if not reading.is_set():
                reading.set()
                await asyncio.Event().wait()
            return "done"

        career.act = act
        career.go_on.set()
        await reading.wait()
        await on.say("career", "/stop")
        await on.quiet()
        assert [(await on.message(one.message_id)).state for one in sent] == [State.PARKED] * 2
        await on.press("career", "Retry")
        await on.quiet()
        await on.press("career", "Discard")
        await career.done()
        outcomes = {(await on.message(one.message_id)).outcome for one in sent}
        assert outcomes == {Outcome.ACKED, Outcome.CANCELLED}


async def test_a_turn_that_is_lost_with_its_bridge_gives_all_of_them_back(store: Store) -> None:
    runtime = FakeRuntime()
    async with stage(CAREER, store=store, runtime=runtime, limits=Limits(stop_grace_s=0)) as on:
        career = Career(on)
        await career.work()
        sent = [await on.send("career", text, wake=True) for text in ("a", "b")]
        begun = asyncio.Event()

        async def behave(agent: FakeAgent, prompt: Prompt) -> str | Result:
            if prompt.words:
                return await career.behave(agent, prompt)
            begun.set()
            await asyncio.Event().wait()
            return ""

        on.agent("career", behave)
        career.go_on.set()
        await begun.wait()
        turn = await turns_of(on, sent[0].message_id)
        assert len(turn.inputs) == 2
    async with stage(CAREER, store=store, runtime=FakeRuntime()) as on:
        await on.chat.seen(room("career"), "Run it again?")
        lost = await on.store.turn(turn.id)
        assert lost is not None
        assert lost.state is TurnState.LOST
        assert [(await on.message(one.message_id)).state for one in sent] == [State.PARKED] * 2


async def test_what_was_asked_for_one_of_several_keeps_that_one_open() -> None:
    async with stage(CAREER, session("desk")) as on:
        career = Career(on)

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            return "desk says yes"

        async def act(agent: FakeAgent, ids: list[str]) -> str:
            if len(ids) > 1:
                await on.tools(agent).send("desk", "well?", in_reply_to=ids[0])
                return "I have asked."
            return "so it is"

        on.agent("desk", desk)
        career.act = act
        await career.work()
        sent = [await on.send("career", text, wake=True) for text in ("a", "b")]
        await career.done()
        first, second = [await on.request(one.message_id) for one in sent]
        assert (first.state, second.state) == (Answer.ANSWERED, Answer.NO_REPLY)
        assert (await on.message(first.closing or "")).text == "so it is"


async def test_agents_without_tools_take_one_at_a_time() -> None:
    runtime = FakeRuntime(embedding={"fake"})
    async with stage(CAREER, runtime=runtime) as on:
        career = Career(on)
        await career.work()
        sent = [await on.send("career", text, wake=True) for text in ("a", "b")]

        async def behave(agent: FakeAgent, prompt: Prompt) -> str | Result:
            return await career.behave(agent, prompt) if prompt.words else "answer"

        on.agent("career", behave)
        await career.done()
        assert [list(prompt.embedded) for _, prompt in on.runtime.prompts] == [[], ["a"], ["b"]]
        assert [(await on.request(one.message_id)).state for one in sent] == [Answer.ANSWERED] * 2
