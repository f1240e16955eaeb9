"""Agents: started when needed, closed when idle, and known by their tokens and processes (DESIGN §6)."""

import asyncio
from contextlib import ExitStack

import pytest

from adapters.memory.store import MemoryStore
from bridge import briefing, wording
from bridge.ids import TurnId
from bridge.limits import Limits
from bridge.message import Outcome
from bridge.ports.runtime import Left, Prompt, Result
from bridge.request import Answer
from bridge.turn import Failure, FailureKind, Process
from tests.fakes.runtime import FakeAgent, FakeRuntime
from tests.flow.stage import ident, room, session, stage


async def test_an_idle_agent_is_closed_in_time_and_resumes_its_own_context() -> None:
    async with stage(session("career"), limits=Limits(idle_close_s=900)) as on:
        await on.say("career", "one")
        await on.clock.advance(899)
        (agent,) = on.runtime.agents
        assert not agent.closed
        await on.clock.advance(1)
        assert agent.closed
        await on.say("career", "two")
        await on.quiet()
        assert [launch.alias for launch in on.runtime.launches] == [None, agent.alias]
        assert on.runtime.agents[1].alias == agent.alias


async def test_people_are_told_once_of_what_was_left_running_however_often_the_agent_is_started() -> None:
    async with stage(session("career"), limits=Limits(idle_close_s=10)) as on:
        first, second = Left(Process(7, "1 boot"), "server"), Left(Process(8, "2 boot"), "watch")
        for left in ((first,), (first,), (first, second), (first, second)):
            on.runtime.left = left
            await on.say("career", "go on")
            await on.quiet()
            await on.clock.advance(10)
        told = [text for text in on.chat.texts(room("career")) if "left running" in text]
        assert told == [briefing.left_running([first]), briefing.left_running([first, second])]
        assert len(on.runtime.agents) == 4


async def test_a_turn_that_is_cut_off_with_its_bridge_ends_quietly(caplog: pytest.LogCaptureFixture) -> None:
    class Breaking(MemoryStore):
        def __init__(self) -> None:
            super().__init__()
            self.breaks = asyncio.Event()

        async def short(self) -> bool:
            await self.breaks.wait()
            raise KeyError("a defect")

    store = Breaking()

    async def career(agent: FakeAgent, prompt: Prompt) -> str:
        store.breaks.set()
        await asyncio.get_running_loop().create_future()
        return "never"

    async def life() -> None:
        async with stage(session("career"), store=store) as on:
            on.agent("career", career)
            await on.say("career", "one")
            await asyncio.get_running_loop().create_future()

    with pytest.raises(BaseExceptionGroup) as ended:
        await life()
    assert [type(one) for one in ended.value.exceptions] == [KeyError]
    assert "defect" not in caplog.text


async def test_a_turn_puts_the_end_of_an_idle_agent_off() -> None:
    async with stage(session("career"), limits=Limits(idle_close_s=900)) as on:
        await on.say("career", "one")
        await on.clock.advance(600)
        await on.say("career", "two")
        await on.clock.advance(899)
        assert [agent.closed for agent in on.runtime.agents] == [False]
        await on.clock.advance(1)
        assert [agent.closed for agent in on.runtime.agents] == [True]


async def test_a_token_is_its_sessions_and_dies_with_the_agent() -> None:
    async with stage(session("career"), session("finance"), limits=Limits(idle_close_s=10)) as on:
        await on.say("career", "one")
        await on.say("finance", "one")
        await on.quiet()
        tokens = {agent.session: agent.token for agent in on.runtime.agents}
        assert len(set(tokens.values())) == 2
        for handle in ("career", "finance"):
            assert on.exchange.token_session(tokens[ident(handle)]) == ident(handle)
        assert on.exchange.token_session("forged") is None
        await on.clock.advance(10)
        assert {on.exchange.token_session(token) for token in tokens.values()} == {None}


async def test_a_start_that_fails_leaves_no_token_behind() -> None:
    async with stage(session("career")) as on:
        on.runtime.defects[ident("career")] = KeyError("a defect")
        await on.say("career", "one")
        await on.quiet()
        (launch,) = on.runtime.launches
        assert on.exchange.token_session(launch.secrets["TIELINE_TOKEN"]) is None


async def test_a_process_below_an_agent_is_known_as_its_session() -> None:
    async with stage(session("career")) as on:
        await on.say("career", "one")
        await on.quiet()
        pid = on.runtime.agents[0].process.pid
        assert on.exchange.agent_session([4_242, pid, 1]) == ident("career")
        assert on.exchange.agent_session([4_242, 1]) is None


async def test_an_agent_is_known_from_its_birth_until_it_is_gone() -> None:
    async with stage(session("career"), limits=Limits(idle_close_s=10)) as on:
        on.runtime.held[ident("career")] = ready = asyncio.Event()
        on.runtime.closing = gone = asyncio.Event()
        await on.say("career", "one")
        await on.quiet()
        (born,) = on.runtime.born
        assert on.exchange.agent_session([4_242, born.pid, 1]) == ident("career")
        ready.set()
        await on.clock.advance(10)
        assert on.runtime.agents[0].closed
        assert on.exchange.agent_session([4_242, born.pid, 1]) == ident("career")
        gone.set()
        await on.quiet()
        assert on.exchange.agent_session([4_242, born.pid, 1]) is None


async def test_a_start_that_fails_is_not_known_any_more() -> None:
    async with stage(session("career")) as on:
        on.runtime.failing[ident("career")] = Failure(FailureKind.CONFIG, "no such command")
        await on.say("career", "one")
        await on.quiet()
        assert on.exchange.agent_session([on.runtime.born[0].pid]) is None


async def test_a_new_agent_waits_until_the_one_that_is_being_closed_is_gone() -> None:
    async with stage(session("career"), limits=Limits(idle_close_s=10)) as on:
        on.runtime.closing = gone = asyncio.Event()
        await on.say("career", "one")
        await on.clock.advance(10)
        await on.say("career", "two")
        await on.quiet()
        assert len(on.runtime.launches) == 1
        gone.set()
        await on.quiet()
        assert [launch.alias for launch in on.runtime.launches] == [None, on.runtime.agents[0].alias]
        assert [prompt.words for _, prompt in on.runtime.prompts] == ["one", "two"]


async def test_two_messages_in_one_instant_start_one_agent_and_one_turn_at_a_time() -> None:
    async with stage(session("career")) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            return "done"

        on.agent("career", career)
        sent = await asyncio.gather(*[on.send("career", f"{number}") for number in range(2)])
        await on.quiet()
        assert len(on.runtime.launches) == 1
        assert on.runtime.most_at_once == {ident("career"): 1}
        assert [(await on.request(one.message_id)).state for one in sent] == [Answer.ANSWERED] * 2


async def test_mail_that_comes_in_the_instant_in_which_a_turn_ends_does_not_wait() -> None:
    async with stage(session("career")) as on:
        sent: list[str] = []

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            if not sent:
                sent.append((await on.send("career", "just now")).message_id)
            return "done"

        on.agent("career", career)
        await on.send("career", "first")
        await on.quiet()
        assert (await on.request(sent[0])).state is Answer.ANSWERED


async def test_an_agent_that_died_between_two_turns_is_started_again_with_its_context() -> None:
    async with stage(session("career")) as on:
        await on.say("career", "one")
        await on.quiet()
        on.runtime.agents[0].is_alive = False
        await on.say("career", "two")
        await on.quiet()
        assert [launch.alias for launch in on.runtime.launches] == [None, on.runtime.agents[0].alias]
        assert [prompt.words for _, prompt in on.runtime.prompts] == ["one", "two"]


async def test_people_are_told_once_that_a_context_is_lost() -> None:
    async with stage(session("career")) as on:
        await on.say("career", "one")
        await on.quiet()
        on.runtime.agents[0].is_alive = False
        on.runtime.forgotten.add(ident("career"))
        await on.say("career", "two")
        await on.say("career", "three")
        await on.chat.seen(room("career"), wording.CONTEXT_LOST)
        await on.quiet()
        assert on.chat.texts(room("career")).count(wording.CONTEXT_LOST) == 1


async def test_an_agent_without_tools_gets_mail_as_a_resource_that_counts_as_read() -> None:
    async with stage(session("career"), runtime=FakeRuntime(embedding={"fake"})) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            assert prompt == Prompt(notice=briefing.EMBEDDED_NOTICE, embedded=["is it real?"], author=ident("shell"))
            assert "peer_receive" not in briefing.EMBEDDED_NOTICE
            return "it is"

        on.agent("career", career)
        sent = await on.send("career", "is it real?")
        view = await on.exchange.answer(await on.shell(), sent.message_id, 5)
        assert view.reply is not None
        assert view.reply.text == "it is"
        assert len(on.runtime.prompts) == 1
        message = await on.message(sent.message_id)
        assert message.outcome is Outcome.ACKED
        turn = await on.store.turn(message.turn or TurnId(""))
        assert turn is not None
        assert turn.peer_read


async def test_an_agent_without_tools_is_told_that_it_may_know_a_message_that_is_tried_again() -> None:
    async with stage(session("career"), runtime=FakeRuntime(embedding={"fake"})) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> str | Result:
            if len(on.runtime.prompts) == 1:
                return Result("", "error", Failure(FailureKind.CRASH, "it died", retryable=True))
            return "it is"

        on.agent("career", career)
        sent = await on.send("career", "is it real?")
        await on.clock.advance(60)
        first, second = (prompt for _, prompt in on.runtime.prompts)
        assert first.notice == briefing.EMBEDDED_NOTICE
        assert second.notice == f"{briefing.CONTINUATION_NOTICE}\n{briefing.EMBEDDED_NOTICE}"
        assert first.embedded == second.embedded == ["is it real?"]
        assert (await on.request(sent.message_id)).state is Answer.ANSWERED


async def test_a_thousand_idle_sessions_cost_no_task() -> None:
    before = len(asyncio.all_tasks())
    async with stage(*[session(f"worker-{number}") for number in range(1_000)]) as on:
        await on.quiet()
        without = len(asyncio.all_tasks())
        await on.send("worker-1", "for later", wake=False)
        await on.send("worker-0", "go")
        await on.quiet()
        await on.clock.advance(Limits().idle_close_s)
        assert len(asyncio.all_tasks()) == without
        assert without - before <= 6
        assert all(agent.closed for agent in on.runtime.agents)
    assert len(asyncio.all_tasks()) == before


async def test_an_agent_without_its_tools_is_started_again_for_mail_that_it_could_not_read() -> None:
    async with stage(session("career")) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            if agent is on.runtime.agents[0]:
                return "I have no tools"
            await on.tools(agent).receive()
            return "done"

        on.agent("career", career)
        sent = await on.send("career", "read this")
        await on.quiet()
        assert (await on.request(sent.message_id)).state is Answer.ANSWERED
        assert [launch.alias for launch in on.runtime.launches] == [None, on.runtime.agents[0].alias]


@pytest.mark.parametrize("lost", [True, False])
async def test_an_agent_with_its_tools_at_hand_that_forgot_to_read_is_not_started_again(lost: bool) -> None:
    async with stage(session("career")) as on:
        with ExitStack() as connected:

            async def career(agent: FakeAgent, prompt: Prompt) -> str:
                connected.enter_context(on.exchange.tools(agent.token))
                if lost:
                    connected.close()
                if prompt.notice == briefing.MAIL_NOTICE_AGAIN:
                    await on.tools(agent).receive()
                return "done"

            on.agent("career", career)
            sent = await on.send("career", "read this")
            await on.quiet()
        assert (await on.request(sent.message_id)).state is Answer.ANSWERED
        assert len(on.runtime.launches) == 1 + lost
