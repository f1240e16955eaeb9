"""A blocked ask: its answer counts as read, its time-out loses nothing, and no circle of waits hangs."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from bridge.caller import Caller
from bridge.errors import Code, Refused
from bridge.message import Intent, Origin, Outcome, State
from bridge.ports.runtime import Prompt, Result
from bridge.request import Answer
from bridge.turn import Failure, FailureKind
from bridge.views import Send
from tests.fakes.runtime import Behaviour, FakeAgent
from tests.flow.stage import Stage, ident, room, session, stage


def says(on: Stage, text: str) -> Behaviour:
    async def behaviour(agent: FakeAgent, prompt: Prompt) -> str:
        await on.tools(agent).receive()
        return text

    return behaviour


async def test_what_an_ask_returned_counts_as_read_and_wakes_nobody() -> None:
    async with stage(session("desk"), session("career")) as on:
        returned: list[str] = []

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            view = await on.tools(agent).ask("career", "is it real?")
            assert view.reply is not None
            returned.append(view.reply.message_id)
            return f"Career: {view.reply.text}"

        on.agent("desk", desk)
        on.agent("career", says(on, "yes"))
        await on.say("desk", "look")
        await on.chat.seen(room("desk"), "Career: yes")
        await on.quiet()
        reply = await on.message(returned[0])
        assert (reply.outcome, reply.read_at is not None) == (Outcome.ACKED, True)
        assert [name for name, _ in on.runtime.prompts] == [ident("desk"), ident("career")]
        assert reply.turn is not None
        turn = await on.store.turn(reply.turn)
        assert turn is not None
        assert turn.peer_read


async def test_an_answer_that_comes_after_the_time_arrives_as_mail_and_wakes() -> None:
    async with stage(session("desk"), session("tool", agent=None)) as on:
        asked: list[str] = []

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            if prompt.words:
                view = await on.tools(agent).ask("tool", "how long?", timeout_s=0)
                assert (view.answer, view.reply) == (Answer.OPEN, None)
                asked.append(view.message_id)
                return "still waiting"
            (mail,) = (await on.tools(agent).receive()).messages
            return f"it says {mail.text}"

        on.agent("desk", desk)
        await on.say("desk", "look")
        await on.chat.seen(room("desk"), "still waiting")
        await on.exchange.reply(await on.shell("tool"), asked[0], "an hour")
        await on.chat.seen(room("desk"), "it says an hour")


async def test_a_time_out_says_where_the_question_is() -> None:
    async with stage(session("tool", agent=None)) as on:
        await on.send("tool", "first", wake=True)
        view = await on.exchange.ask(await on.shell(), Send("tool", "how long?"), 0)
        assert (view.answer, view.state, view.position) == (Answer.OPEN, "queued", 2)


async def test_a_shell_that_waits_again_gets_the_same_answer_and_may_read_it_later() -> None:
    async with stage(session("tool", agent=None)) as on:
        shell = await on.shell()
        view = await on.exchange.ask(shell, Send("tool", "when?", key="k"), 0)
        await on.exchange.reply(await on.shell("tool"), view.message_id, "now")
        assert len(await on.inbox()) == 1
        again = await on.exchange.ask(shell, Send("tool", "when?", key="k", wake=True), 5)
        assert again.message_id == view.message_id
        assert again.reply is not None
        assert again.reply.text == "now"
        assert len(await on.inbox()) == 1, "a shell that dies before it has shown the answer finds it as mail"
        await on.exchange.read_answer(shell, view.message_id)
        assert await on.inbox() == []


async def asks_in_a_circle(on: Stage, *names: str) -> list[Code]:
    """Each of them, woken, asks the next; returns the refusals. The first is woken by a person."""
    refusals: list[Code] = []

    def asks(to: str) -> Behaviour:
        async def behaviour(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            try:
                view = await on.tools(agent).ask(to, "and you?")
            except Refused as refused:
                refusals.append(refused.code)
                return "stuck"
            return view.reply.text if view.reply else "nothing"

        return behaviour

    for name, to in zip(names, [*names[1:], names[0]], strict=True):
        on.agent(name, asks(to))
    await on.say(names[0], "go")
    await on.chat.seen(room(names[0]), "stuck")
    return refusals


@pytest.mark.parametrize("names", [("a", "b"), ("a", "b", "c")])
async def test_waits_that_would_close_a_circle_are_refused_at_once(names: tuple[str, ...]) -> None:
    async with stage(*(session(name) for name in names)) as on:
        assert await asks_in_a_circle(on, *names) == [Code.WOULD_DEADLOCK]


async def test_a_person_who_waits_in_a_sessions_name_does_not_block_its_agent() -> None:
    async with stage(session("desk"), session("career")) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            view = await on.tools(agent).ask("desk", "which one?")
            return f"then it is {view.reply.text if view.reply else view.answer}"

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            return "the blue one"

        on.agent("career", career)
        on.agent("desk", desk)
        view = await on.exchange.ask(await on.shell("desk", Origin.USER), Send("career", "choose"), 5)
        assert view.reply is not None
        assert view.reply.text == "then it is the blue one"


async def test_of_two_that_ask_each_other_in_one_instant_one_is_refused() -> None:
    async with stage(session("a"), session("b")) as on:
        both = asyncio.Barrier(2)
        ends: list[str] = []

        def asks(to: str) -> Behaviour:
            async def behaviour(agent: FakeAgent, prompt: Prompt) -> str:
                if not prompt.words:
                    await on.tools(agent).receive()
                    return "an answer"
                await both.wait()
                try:
                    view = await on.tools(agent).ask(to, "and you?")
                except Refused as refused:
                    ends.append(refused.code)
                    return "refused"
                ends.append(view.answer)
                return "answered"

            return behaviour

        on.agent("a", asks("b"))
        on.agent("b", asks("a"))
        await on.say("a", "go")
        await on.say("b", "go")
        await on.quiet()
        assert sorted(ends) == [Answer.ANSWERED, Code.WOULD_DEADLOCK]


async def test_asking_back_without_waiting_is_no_circle() -> None:
    async with stage(session("a"), session("b")) as on:

        async def a(agent: FakeAgent, prompt: Prompt) -> str:
            if prompt.words:
                view = await on.tools(agent).ask("b", "what is it?", timeout_s=0)
                assert view.answer is Answer.OPEN
                return "I wait"
            mails = (await on.tools(agent).receive()).messages
            return "the blue one" if mails[0].intent == Intent.REQUEST else f"b says: {mails[0].text}"

        async def b(agent: FakeAgent, prompt: Prompt) -> str:
            (mail,) = (await on.tools(agent).receive()).messages
            if mail.intent == Intent.REQUEST:
                await on.tools(agent).send("a", "which one?")
                return "asking back"
            return f"then it is {mail.text}"

        on.agent("a", a)
        on.agent("b", b)
        await on.say("a", "go")
        await on.chat.seen(room("a"), "b says: then it is the blue one")


async def test_a_desk_consults_ten_specialists_one_after_the_other() -> None:
    handles = [f"s{number}" for number in range(10)]
    async with stage(session("desk"), *(session(handle) for handle in handles)) as on:
        depths: list[int] = []

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            if len(depths) == 10:
                return "all ten are heard"
            depths.append((await on.tools(agent).send(handles[len(depths)], "your view?")).depth)
            return f"asked {len(depths)}"

        on.agent("desk", desk)
        for handle in handles:
            on.agent(handle, says(on, "a view"))
        await on.say("desk", "ask around")
        await on.chat.seen(room("desk"), "all ten are heard")
        assert depths == [1] * 10


async def test_ten_asks_one_after_the_other_in_one_turn_stay_at_one_depth() -> None:
    async with stage(session("desk"), session("career")) as on:
        depths: list[int] = []

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            for number in range(10):
                view = await on.tools(agent).ask("career", f"question {number}")
                depths.append((await on.message(view.message_id)).depth)
            return "done"

        on.agent("desk", desk)
        on.agent("career", says(on, "a view"))
        await on.say("desk", "ask around")
        await on.chat.seen(room("desk"), "done")
        assert depths == [1] * 10


async def test_a_turn_that_is_over_leases_no_mail_for_a_call_that_outlived_it() -> None:
    async with stage(session("desk"), session("tool", agent=None)) as on:
        late: list[Callable[[], Awaitable[object]]] = []

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            tools = on.tools(agent)
            caller = await tools.caller()
            sent = await tools.send("tool", "when?")
            late.append(lambda: on.exchange.receive(caller, 10))
            late.append(lambda: on.exchange.read_answer(caller, sent.message_id))
            late.append(lambda: on.exchange.reply(on_tool, sent.message_id, "now"))
            return "done"

        on_tool = await on.shell("tool")
        on.agent("desk", desk)
        await on.say("desk", "go")
        await on.chat.seen(room("desk"), "done")
        receive, read_answer, reply = late
        await on.say("desk", "/stop")
        await reply()
        for call in (receive, read_answer):
            with pytest.raises(Refused) as refused:
                await call()
            assert refused.value.code is Code.STALE_EPOCH
        person = await on.shell("desk", Origin.USER)
        assert [mail.state for mail in await on.exchange.inbox(person, None, take=False)] == ["queued"]


async def test_asking_again_under_the_same_key_never_hangs_in_a_circle() -> None:
    async with stage(session("a"), session("b")) as on:
        states: list[Answer] = []

        async def a(agent: FakeAgent, prompt: Prompt) -> str:
            caller = await on.tools(agent).caller()
            if not prompt.words:
                return ""
            for _ in range(2):
                view = await on.exchange.ask(caller, Send("b", "what is it?", key="k"), 0 if not states else 60)
                states.append(view.answer)
                await on.quiet()
            return "going on"

        async def b(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            await on.tools(agent).ask("a", "which one?", timeout_s=60)
            return "that one"

        on.agent("a", a)
        on.agent("b", b)
        await on.say("a", "go")
        await on.chat.seen(room("a"), "going on")
        assert states == [Answer.OPEN, Answer.OPEN]


async def test_an_ask_whose_time_runs_out_leaves_the_question_open() -> None:
    async with stage(session("tool", agent=None)) as on:
        view = await on.exchange.ask(await on.shell(), Send("tool", "how long?"), 0.01)
        assert (view.answer, view.reply) == (Answer.OPEN, None)
        assert (await on.request(view.message_id)).open


async def test_an_agent_outside_of_turns_is_told_an_answer_once() -> None:
    async with stage(session("career"), session("tool", agent=None)) as on:

        async def answers(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            return "42"

        on.agent("career", answers)
        tool = Caller(ident("tool"), Origin.PEER, bound=True)
        view = await on.exchange.ask(tool, Send("career", "what is it?"), 60)
        assert view.reply is not None
        # Whether it has come to its reader is not known before that one asks for more.
        assert (await on.message(view.reply.message_id)).state is State.LEASED
        assert (await on.exchange.receive(tool, 9)).messages == ()
        assert (await on.message(view.reply.message_id)).outcome is Outcome.ACKED


async def test_what_a_withdrawal_shows_of_an_answer_counts_as_read() -> None:
    async with stage(session("tool", agent=None)) as on:
        sent = await on.send("tool", "when?")
        await on.exchange.reply(await on.shell("tool"), sent.message_id, "now")
        view = await on.exchange.cancel(await on.shell(), sent.message_id)
        assert view.answer is Answer.ANSWERED
        assert view.reply is not None
        assert await on.inbox() == []


async def test_who_waits_is_told_what_holds_the_question_up() -> None:
    async def career(agent: FakeAgent, prompt: Prompt) -> Result:
        return Result("", "failed", Failure(FailureKind.AUTH, "log in again"))

    async with stage(session("career"), session("finance")) as on:
        on.agent("career", career)
        await on.say("finance", "/stop")
        stopped = await on.send("finance", "how much?")
        first, second = await on.send("career", "is it real?"), await on.send("career", "and this?")
        await on.quiet()
        reasons = [
            (await on.exchange.answer(await on.shell(), sent.message_id, 0)).reason for sent in (stopped, first, second)
        ]
        assert reasons == [
            "stopped until its people resume it",
            "log in again",
            "paused until its people set it right",
        ]
