"""A person's stop outranks everything queued (invariant 10)."""

import asyncio

import pytest

from bridge.errors import Code, Refused
from bridge.message import Intent, Origin, Outcome, State
from bridge.ports.runtime import Prompt
from bridge.request import Answer
from bridge.turn import TurnState
from tests.fakes.fragile import FragileStore
from tests.fakes.runtime import Behaviour, FakeAgent
from tests.flow.stage import Stage, ident, room, session, stage

REST = "Other sessions wait until /resume or your next message."


def endless(on: Stage, started: asyncio.Event) -> Behaviour:
    """Reads, and then works until it is stopped; later turns end at once."""

    async def behaviour(agent: FakeAgent, prompt: Prompt) -> str:
        if prompt.words is None:
            await on.tools(agent).receive()
        if not started.is_set():
            started.set()
            await asyncio.Event().wait()
        return "done"

    return behaviour


async def test_a_stopped_turn_of_a_person_is_cancelled_and_never_comes_back() -> None:
    async with stage(session("career")) as on:
        started = asyncio.Event()
        on.agent("career", endless(on, started))
        said = await on.say("career", "search for ever")
        await started.wait()
        await on.say("career", "/stop")
        await on.chat.seen(room("career"), f"The turn is stopped. {REST}")
        message = await on.message(said)
        assert (message.state, message.outcome) == (State.SETTLED, Outcome.CANCELLED)
        assert message.turn is not None
        turn = await on.store.turn(message.turn)
        assert turn is not None
        assert turn.state is TurnState.CANCELLED
        await on.clock.advance(120)
        assert len(on.runtime.prompts) == 1


async def test_a_stopped_turn_of_a_peer_is_parked_and_its_asker_hears_of_it() -> None:
    async with stage(session("career")) as on:
        started = asyncio.Event()
        on.agent("career", endless(on, started))
        sent = await on.send("career", "search")
        await started.wait()
        await on.say("career", "/stop")
        await on.quiet()
        assert (await on.message(sent.message_id)).state is State.PARKED
        assert (await on.request(sent.message_id)).state is Answer.OPEN
        (told,) = await on.inbox()
        assert "is parked: stopped by a person" in told.text
        await on.press("career", "Retry")
        await on.quiet()
        assert (await on.request(sent.message_id)).state is Answer.ANSWERED


async def test_a_stop_comes_before_all_that_is_queued_and_what_it_parked_keeps_its_place() -> None:
    async with stage(session("career")) as on:
        started = asyncio.Event()
        on.agent("career", endless(on, started))
        first = await on.send("career", "search for ever", intent=Intent.INFORM)
        await started.wait()
        queued = [await on.send("career", f"{number}", intent=Intent.INFORM) for number in range(15)]
        await on.say("career", "/stop")
        await on.quiet()
        assert (await on.message(first.message_id)).state is State.PARKED
        assert {(await on.message(one.message_id)).state for one in queued} == {State.QUEUED}
        assert len(on.runtime.prompts) == 1
        await on.press("career", "Retry")
        await on.quiet()
        turns = [(await on.message(one.message_id)).turn or "" for one in (first, *queued)]
        assert turns == sorted(turns), "what was parked keeps its place before what came after it"
        assert len(on.runtime.prompts) == 17


async def test_a_stop_while_the_agent_starts_lets_it_never_be_prompted() -> None:
    async with stage(session("career")) as on:
        on.runtime.held[ident("career")] = asyncio.Event()
        said = await on.say("career", "hello")
        await on.quiet()
        assert len(on.runtime.launches) == 1
        await on.say("career", "/stop")
        await on.chat.seen(room("career"), "The turn is stopped.")
        assert (await on.message(said)).outcome is Outcome.CANCELLED
        on.runtime.held.clear()
        await on.say("career", "again")
        await on.quiet()
        assert [prompt.words for _, prompt in on.runtime.prompts] == ["again"]


async def test_a_stop_between_the_start_and_the_prompt_is_not_missed() -> None:
    store = FragileStore()
    async with stage(session("career"), store=store) as on:
        on.runtime.held[ident("career")] = started = asyncio.Event()
        said = await on.say("career", "hello")
        await on.quiet()
        store.gate = gate = asyncio.Event()
        started.set()
        await on.quiet()
        turn = await store.live_turn(ident("career"))
        assert turn is not None
        assert turn.prompt_sent
        store.gate = None
        stopping = asyncio.ensure_future(on.exchange.control.stop(ident("career")))
        await on.quiet()
        gate.set()
        assert await stopping == (True, 0)
        assert on.runtime.prompts == []
        assert (await on.message(said)).outcome is Outcome.CANCELLED


async def test_a_stop_in_the_instant_in_which_a_turn_is_stored_is_not_missed() -> None:
    store = FragileStore()
    async with stage(session("career"), store=store) as on:
        await on.exchange.control.stop(ident("career"))
        sent = await on.send("career", "hello")
        await on.exchange.control.resume(ident("career"))
        store.gate = gate = asyncio.Event()
        await on.quiet()
        assert await store.live_turn(ident("career")) is not None
        assert on.runtime.launches == []
        store.gate = None
        stopping = asyncio.ensure_future(on.exchange.control.stop(ident("career")))
        await on.quiet()
        gate.set()
        assert await stopping == (True, 0)
        assert on.runtime.launches == []
        assert (await on.message(sent.message_id)).state is State.PARKED


async def test_a_stop_does_not_take_the_agents_start_for_a_failure() -> None:
    async with stage(session("career")) as on:
        on.runtime.held[ident("career")] = asyncio.Event()
        sent = await on.send("career", "hello")
        await on.quiet()
        await on.say("career", "/stop")
        await on.quiet()
        message = await on.message(sent.message_id)
        assert (message.state, message.attempts) == (State.PARKED, 0)


async def test_a_stop_where_nothing_runs_says_so_and_rests_the_session() -> None:
    async with stage(session("career")) as on:
        on.agent("career", endless(on, asyncio.Event()))
        await on.say("career", "/stop")
        await on.chat.seen(room("career"), f"No turn was running. {REST}")
        sent = await on.send("career", "work")
        await on.clock.advance(120)
        assert on.runtime.prompts == []
        assert (await on.message(sent.message_id)).state is State.QUEUED


async def test_resume_gives_peers_their_turn_again() -> None:
    async with stage(session("career")) as on:
        await on.say("career", "/stop")
        sent = await on.send("career", "work", intent=Intent.INFORM)
        await on.say("career", "/resume")
        await on.chat.seen(room("career"), "Career takes work again.")
        await on.quiet()
        assert [prompt.words for _, prompt in on.runtime.prompts] == [None, None]
        assert (await on.message(sent.message_id)).state is State.SETTLED
        await on.say("career", "/resume")
        await on.chat.seen(room("career"), "Career was not stopped.")


async def test_the_persons_next_message_ends_the_rest_and_goes_before_queued_peers() -> None:
    async with stage(session("career")) as on:
        await on.say("career", "/stop")
        await on.send("career", "work")
        await on.say("career", "first this")
        await on.quiet()
        assert [prompt.words for _, prompt in on.runtime.prompts][:2] == ["first this", None]


async def test_a_person_goes_before_peers_who_came_first() -> None:
    async with stage(session("career")) as on:
        order: list[str] = []
        go = asyncio.Event()

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            mail = [] if prompt.words else (await on.tools(agent).receive()).messages
            order.extend([one.text for one in mail] or [prompt.words or ""])
            await go.wait()
            return "done"

        on.agent("career", career)
        await on.send("career", "peer 1")
        await on.quiet()
        await on.send("career", "peer 2")
        await on.say("career", "person 1")
        await on.say("career", "person 2")
        go.set()
        await on.quiet()
        assert order == ["peer 1", "person 1", "person 2", "peer 2"]


async def test_stop_all_cancels_what_is_queued_but_keeps_answers_and_notices_without_wake() -> None:
    async with stage(session("desk"), session("career"), session("finance")) as on:
        started = asyncio.Event()
        turns: list[str] = []

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            turns.append(prompt.words or "mail")
            if prompt.words == "ask them":
                await on.tools(agent).send("career", "the question")
                started.set()
                await asyncio.Event().wait()
            if prompt.words is None:
                turns.extend(one.text for one in (await on.tools(agent).receive()).messages)
            return "done"

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            return "the answer"

        on.agent("desk", desk)
        on.agent("career", career)
        await on.say("desk", "ask them")
        await started.wait()
        await on.quiet()
        waiting = await on.say("desk", "and then this")
        peer = await on.send("desk", "peer work")
        await on.say("desk", "/stop all")
        await on.chat.seen(room("desk"), f"The turn is stopped. Cancelled: 2 queued messages. {REST}")
        assert (await on.message(waiting)).outcome is Outcome.CANCELLED
        assert (await on.request(peer.message_id)).state is Answer.CANCELLED
        (answer,) = await on.store.queue(ident("desk"))
        assert (answer.text, answer.wake) == ("the answer", False)
        await on.say("desk", "/resume")
        await on.clock.advance(60)
        assert turns == ["ask them"]


async def test_a_second_stop_at_once_does_no_harm() -> None:
    async with stage(session("career")) as on:
        started = asyncio.Event()
        on.agent("career", endless(on, started))
        await on.say("career", "search for ever")
        await started.wait()
        both = await asyncio.gather(*[on.exchange.control.stop(ident("career")) for _ in range(2)])
        assert [stopped for stopped, _ in both] == [True, True]
        await on.say("career", "next")
        await on.chat.seen(room("career"), "done")


async def test_an_agent_that_is_wedged_after_a_stop_is_replaced_with_its_context() -> None:
    async with stage(session("career")) as on:
        started = asyncio.Event()
        on.agent("career", endless(on, started))
        await on.say("career", "search for ever")
        await started.wait()
        on.runtime.agents[0].is_alive = False
        await on.say("career", "/stop")
        await on.say("career", "next")
        await on.chat.seen(room("career"), "done")
        assert on.runtime.agents[0].closed
        assert [launch.alias for launch in on.runtime.launches] == [None, on.runtime.agents[0].alias]


async def test_a_person_stops_and_resumes_from_a_shell_what_has_no_place_and_nobody_else_does() -> None:
    async with stage(session("career", places=()), confirm_in_chat=False) as on:
        started = asyncio.Event()
        on.agent("career", endless(on, started))
        person, program = await on.shell(origin=Origin.USER), await on.shell()
        await on.send("career", "first")
        await started.wait()
        for forbidden in (on.exchange.stop(program, "career", False), on.exchange.resume(program, "career")):
            with pytest.raises(Refused) as refused:
                await forbidden
            assert refused.value.code is Code.NOT_PERMITTED
        assert await on.exchange.stop(person, "career", True) == (True, 0)
        second = await on.send("career", "second")
        await on.quiet()
        assert (await on.message(second.message_id)).state is State.QUEUED
        assert (await on.exchange.resume(person, "default/career")).resumed
        assert (await on.exchange.answer(await on.shell(), second.message_id, 5)).answer is Answer.ANSWERED
        assert not (await on.exchange.resume(person, "career")).resumed
        with pytest.raises(Refused) as refused:
            await on.exchange.stop(person, "nobody", False)
        assert refused.value.code is Code.UNKNOWN_SESSION
