"""A read leases; only an acknowledgement or the end of a turn settles."""

import asyncio
from collections.abc import Coroutine, Sequence

import pytest

from bridge.errors import Code, Refused
from bridge.limits import Limits
from bridge.message import Intent, Origin, Outcome, State
from bridge.ports.runtime import Prompt, Result
from bridge.request import Answer
from bridge.turn import Failure, FailureKind
from bridge.views import Mail, Received
from tests.fakes.clock import settled
from tests.fakes.fragile import FragileStore
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import ident, session, stage


def texts(mails: Sequence[Mail]) -> list[str]:
    return [mail.text for mail in mails]


async def test_a_turn_reads_its_own_input_first_and_leaves_other_handoffs_their_own_turns() -> None:
    async with stage(session("career")) as on:
        turns: list[list[str]] = []
        ready = asyncio.Event()

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            await ready.wait()
            turns.append(texts((await on.tools(agent).receive()).messages))
            turns[-1] += texts((await on.tools(agent).receive()).messages)
            return "done"

        on.agent("career", career)
        await on.send("career", "news 1", intent=Intent.INFORM, wake=False)
        await on.send("career", "first")
        await on.quiet()
        await on.send("career", "second")
        await on.send("career", "news 2", intent=Intent.INFORM, wake=False)
        ready.set()
        await on.quiet()
        assert turns == [["first", "news 1", "news 2"], ["second"]]


async def test_what_does_not_fit_is_counted_and_comes_with_the_next_read() -> None:
    async with stage(session("career")) as on:
        reads: list[Received] = []

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            reads.extend([await on.tools(agent).receive(2), await on.tools(agent).receive(0)])
            return "done"

        on.agent("career", career)
        for number in range(3):
            await on.send("career", f"news {number}", intent=Intent.INFORM, wake=False)
        await on.send("career", "work")
        await on.quiet()
        assert [(texts(read.messages), read.remaining) for read in reads] == [
            (["work", "news 0"], 2),
            (["news 1"], 1),
        ]
        assert texts(await on.inbox("career")) == ["news 2"]


async def test_what_a_failed_turn_had_read_is_shown_again_and_marked() -> None:
    async with stage(session("career")) as on:
        reads: list[tuple[Mail, ...]] = []

        async def career(agent: FakeAgent, prompt: Prompt) -> str | Result:
            reads.append((await on.tools(agent).receive()).messages)
            if len(reads) == 1:
                return Result("", "error", Failure(FailureKind.RATE_LIMIT, "slow down", retryable=True))
            return "done"

        on.agent("career", career)
        await on.send("career", "news", intent=Intent.INFORM, wake=False)
        await on.send("career", "work")
        await on.clock.advance(60)
        first, second = reads
        assert texts(first) == texts(second) == ["work", "news"]
        assert [mail.message_id for mail in first] == [mail.message_id for mail in second]
        assert [mail.redelivered for mail in (*first, *second)] == [False, False, True, True]
        assert texts(await on.inbox()) == ["done"]


async def test_what_an_earlier_turn_had_read_is_not_read_by_the_next_one() -> None:
    async with stage(session("career")) as on:
        prompts = 0

        async def career(agent: FakeAgent, prompt: Prompt) -> str | Result:
            nonlocal prompts
            prompts += 1
            if prompts == 1:
                await on.tools(agent).receive()
                return Result("", "error", Failure(FailureKind.RATE_LIMIT, "slow down", retryable=True))
            return "I did not look"

        on.agent("career", career)
        sent = await on.send("career", "work")
        await on.clock.advance(60)
        assert prompts == 3
        assert (await on.message(sent.message_id)).outcome is Outcome.FAILED


async def test_mail_that_was_only_announced_is_not_marked_as_shown_before() -> None:
    async with stage(session("career")) as on:
        reads: list[Mail] = []

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            if prompt.notice and "still unread" in prompt.notice:
                reads.extend((await on.tools(agent).receive()).messages)
            return "done"

        on.agent("career", career)
        await on.send("career", "work")
        await on.quiet()
        assert [(mail.text, mail.redelivered) for mail in reads] == [("work", False)]


async def test_an_agent_may_acknowledge_in_its_turn_and_its_final_text_still_answers() -> None:
    async with stage(session("career")) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            (mail,) = (await on.tools(agent).receive()).messages
            assert await on.tools(agent).ack(mail.message_id) == [mail.message_id]
            assert await on.tools(agent).ack(mail.message_id) == []
            return "the answer"

        on.agent("career", career)
        sent = await on.send("career", "work")
        await on.quiet()
        assert (await on.message(sent.message_id)).outcome is Outcome.ACKED
        assert texts(await on.inbox()) == ["the answer"]


async def test_a_request_acknowledged_beside_the_turns_input_closes_with_it_as_no_reply() -> None:
    async with stage(session("career")) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            mails = (await on.tools(agent).receive()).messages
            await on.tools(agent).ack(*(mail.message_id for mail in mails))
            return "the answer"

        on.agent("career", career)
        beside = await on.send("career", "when you have time", wake=False)
        sent = await on.send("career", "work")
        await on.quiet()
        assert (await on.request(sent.message_id)).state is Answer.ANSWERED
        assert (await on.request(beside.message_id)).state is Answer.NO_REPLY


async def test_a_request_acknowledged_in_a_turn_that_came_to_nothing_is_told_to_have_failed() -> None:
    async with stage(session("career")) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> Result:
            (mail,) = (await on.tools(agent).receive()).messages
            await on.tools(agent).ack(mail.message_id)
            return Result("", "error", Failure(FailureKind.CRASH, "it died", retryable=True))

        on.agent("career", career)
        sent = await on.send("career", "work")
        await on.clock.advance(600)
        assert len(on.runtime.prompts) == 1, "what was acknowledged is not run again"
        request = await on.request(sent.message_id)
        assert (request.state, request.reason) == (Answer.FAILED, "the turn failed: it died")
        assert len(await on.inbox()) == 1


async def test_an_answer_acknowledged_in_a_stopped_turn_leaves_nobody_waiting_for_what_it_was_for() -> None:
    async with stage(session("desk"), session("career")) as on:
        acknowledged = asyncio.Event()

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            (mail,) = (await on.tools(agent).receive()).messages
            if mail.intent is Intent.REQUEST:
                await on.tools(agent).send("career", "is it real?")
                return "asked"
            await on.tools(agent).ack(mail.message_id)
            acknowledged.set()
            await asyncio.Event().wait()
            return ""

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            return "yes"

        on.agent("desk", desk)
        on.agent("career", career)
        sent = await on.send("desk", "find out")
        await acknowledged.wait()
        assert (await on.request(sent.message_id)).open
        await on.say("desk", "/stop")
        await on.quiet()
        assert (await on.request(sent.message_id)).state is Answer.FAILED


async def test_only_the_holder_of_a_lease_acknowledges() -> None:
    async with stage(session("career"), session("tool", agent=None)) as on:
        caught: list[Code] = []

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            (mail,) = (await on.tools(agent).receive()).messages
            if caught:
                return "done"
            for caller in (await on.shell("career", Origin.USER), await on.shell("tool")):
                with pytest.raises(Refused) as refused:
                    await on.exchange.ack(caller, [mail.message_id])
                caught.append(refused.value.code)
            with pytest.raises(Refused) as refused:
                await on.tools(agent).ack(waiting.message_id)
            caught.append(refused.value.code)
            return "done"

        on.agent("career", career)
        await on.send("career", "work")
        waiting = await on.send("career", "more work")
        await on.quiet()
        assert caught == [Code.STALE_EPOCH, Code.UNKNOWN_MESSAGE, Code.STALE_EPOCH]


async def test_an_acknowledgement_of_several_is_whole_or_nothing() -> None:
    async with stage(session("tool", agent=None)) as on:
        sent = await on.send("tool", "one")
        with pytest.raises(Refused):
            await on.exchange.ack(await on.shell("tool"), [sent.message_id, "no-such-id"])
        assert (await on.message(sent.message_id)).state is State.QUEUED


async def test_a_reader_without_a_turn_acknowledges_by_reading_on() -> None:
    async with stage(session("tool", agent=None)) as on:
        tool = await on.shell("tool")
        first = await on.send("tool", "one")
        assert texts((await on.exchange.receive(tool, 10)).messages) == ["one"]
        assert (await on.message(first.message_id)).state is State.LEASED
        await on.send("tool", "two")
        assert texts((await on.exchange.receive(tool, 10)).messages) == ["two"]
        assert (await on.message(first.message_id)).outcome is Outcome.ACKED
        assert (await on.request(first.message_id)).open


async def test_an_inbox_is_looked_at_without_reading_it() -> None:
    async with stage(session("tool", agent=None)) as on:
        sent = await on.send("tool", "one")
        for _ in range(2):
            (mail,) = await on.inbox("tool")
            assert (mail.text, mail.state, mail.redelivered) == ("one", State.QUEUED, False)
        message = await on.message(sent.message_id)
        assert (message.state, message.read_at) == (State.QUEUED, None)


async def test_what_was_taken_and_never_acknowledged_is_given_again_after_its_lease() -> None:
    async with stage(session("tool", agent=None), limits=Limits(lease_s=60)) as on:
        tool = await on.shell("tool")
        sent = await on.send("tool", "one")
        (first,) = await on.exchange.inbox(tool, None, take=True)
        await on.clock.advance(59)
        assert await on.exchange.inbox(tool, None, take=True) == []
        await on.clock.advance(1)
        (again,) = await on.exchange.inbox(tool, None, take=True)
        assert (first.redelivered, again.redelivered) == (False, True)
        assert first.message_id == again.message_id == sent.message_id
        await on.exchange.ack(tool, [sent.message_id])
        await on.clock.advance(61)
        assert await on.exchange.inbox(tool, None, take=True) == []


async def test_nobody_takes_the_mail_of_a_session_whose_agent_reads_it() -> None:
    async with stage(session("career")) as on:
        sent = await on.send("career", "later", wake=False)
        person = await on.shell("career", Origin.USER)
        with pytest.raises(Refused) as refused:
            await on.exchange.inbox(person, None, take=True)
        assert refused.value.code is Code.INVALID_REQUEST
        assert (await on.exchange.receive(person, 10)).messages == ()
        assert (await on.message(sent.message_id)).state is State.QUEUED


async def test_a_waiting_reader_hears_of_new_mail_at_once_and_of_nothing_after_its_time() -> None:
    async with stage(session("tool", agent=None)) as on:
        tool = await on.shell("tool")
        known = await on.send("tool", "old")
        waiting = asyncio.ensure_future(on.exchange.wait_inbox(tool, None, {known.message_id}, 5))
        await on.quiet()
        assert not waiting.done()
        await on.send("tool", "new")
        assert texts(await waiting) == ["new"]
        assert await on.exchange.wait_inbox(tool, None, {mail.message_id for mail in await on.inbox("tool")}, 0) == []


async def test_an_agent_and_a_program_read_their_own_mail_only() -> None:
    async with stage(session("career"), session("tool", agent=None)) as on:
        agent = await on.exchange.caller(None, origin=Origin.PEER, bound=ident("career"))
        for caller, other in ((agent, "default/tool"), (await on.shell("tool"), "default/career")):
            with pytest.raises(Refused) as refused:
                await on.exchange.inbox(caller, other, take=False)
            assert refused.value.code is Code.NOT_PERMITTED
        with pytest.raises(Refused):
            await on.exchange.wait_inbox(agent, "tool", set(), 0)


async def cut_off(store: FragileStore, reading: Coroutine[object, object, Received]) -> None:
    """Ends a read after it was stored, and before its reader has it."""
    store.gate = asyncio.Event()
    task = asyncio.ensure_future(reading)
    await settled()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    store.gate = None


async def test_what_a_read_that_was_cut_off_has_taken_is_shown_by_the_next_and_not_acknowledged_unseen() -> None:
    store = FragileStore()
    async with stage(session("tool", agent=None), store=store) as on:
        tool = await on.shell("tool")
        sent = await on.send("tool", "news")
        await cut_off(store, on.exchange.receive(tool, 50))
        for again in ([("news", True)], []):
            received = await on.exchange.receive(tool, 50)
            assert [(mail.text, mail.redelivered) for mail in received.messages] == again
            assert (await on.message(sent.message_id)).outcome is (None if again else Outcome.ACKED)


async def test_a_turn_whose_read_was_cut_off_is_shown_its_input_by_the_next_read() -> None:
    store = FragileStore()
    async with stage(session("career"), store=store) as on:
        reads: list[list[tuple[str, bool]]] = []

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            await cut_off(store, on.tools(agent).receive())
            for _ in range(2):
                received = await on.tools(agent).receive()
                reads.append([(mail.text, mail.redelivered) for mail in received.messages])
            return "done"

        on.agent("career", career)
        await on.send("career", "work")
        await on.quiet()
        await on.quiet()
        assert reads == [[("work", True)], []]


async def test_a_turn_that_ends_after_a_read_that_was_cut_off_has_not_read_its_input_and_gets_it_once_more() -> None:
    store = FragileStore()
    async with stage(session("career"), store=store) as on:
        seen: list[str] = []

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            if len(on.runtime.prompts) == 1:
                await cut_off(store, on.tools(agent).receive())
                return "done"
            seen.extend(mail.text for mail in (await on.tools(agent).receive()).messages)
            return "what I found"

        on.agent("career", career)
        sent = await on.send("career", "work")
        view = await on.exchange.answer(await on.shell(), sent.message_id, 5)
        assert view.reply is not None
        assert (seen, view.reply.text) == (["work"], "what I found")
        assert (await on.message(sent.message_id)).unread == 1
