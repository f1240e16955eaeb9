"""The promises hold whatever happens between two looks at the store."""

import asyncio

import pytest

from bridge.decision import Effect
from bridge.errors import Code, Refused
from bridge.grant import Scope
from bridge.message import Intent, State
from bridge.ports.runtime import Prompt
from bridge.post import Post
from bridge.request import Answer
from bridge.views import Receipt
from tests.fakes.interleaved import interleaved
from tests.fakes.runtime import Behaviour, FakeAgent
from tests.flow.stage import ALL, Stage, ident, person, room, rule, session, stage

SEEDS = range(5)


async def idle(on: Stage) -> None:
    """Waits until nothing runs and nothing that could run waits. Twice, for the two looks are not one."""
    quiet = 0
    async with asyncio.timeout(5):
        while quiet < 2:
            busy = await on.store.live_turns() or (await on.store.queued())[0]
            quiet = 0 if busy else quiet + 1
            await on.quiet()


@pytest.mark.parametrize("seed", SEEDS)
async def test_an_inbox_is_never_overfilled_and_every_free_place_is_used(seed: int) -> None:
    senders = [f"s{number}" for number in range(12)]
    async with stage(
        session("tool", agent=None), *(session(one, agent=None) for one in senders), store=interleaved(seed)
    ) as on:

        async def one(sender: str, number: int) -> Receipt | Code:
            try:
                return await on.send("tool", f"{number}", caller=await on.shell(sender))
            except Refused as refused:
                return refused.code

        outcomes = await asyncio.gather(*(one(sender, number) for sender in senders for number in range(5)))
        assert outcomes.count(Code.INBOX_FULL) == 10
        assert await on.store.inbox_size(ident("tool")) == 50


@pytest.mark.parametrize("seed", SEEDS)
async def test_one_key_is_one_message(seed: int) -> None:
    async with stage(session("tool", agent=None), store=interleaved(seed)) as on:
        sent = await asyncio.gather(*(on.send("tool", "hello", key="k") for _ in range(10)))
        assert len({one.message_id for one in sent}) == 1
        assert sum(one.duplicate for one in sent) == 9


@pytest.mark.parametrize("seed", SEEDS)
async def test_one_answer_is_taken_of_many_at_once(seed: int) -> None:
    async with stage(session("tool", agent=None), store=interleaved(seed)) as on:
        sent = await on.send("tool", "when?")
        tool = await on.shell("tool")
        replies = (on.exchange.reply(tool, sent.message_id, f"{number}") for number in range(5))
        outcomes = await asyncio.gather(*replies, return_exceptions=True)
        assert sum(isinstance(one, Receipt) for one in outcomes) == 1
        assert len(await on.inbox()) == 1


@pytest.mark.parametrize("seed", SEEDS)
async def test_gathered_answers_reach_the_first_asker_once_and_nothing_stays_behind(seed: int) -> None:
    handles = [f"s{number}" for number in range(5)]
    every = [session("desk"), *(session(handle) for handle in handles)]
    async with stage(*every, store=interleaved(seed)) as on:
        parts: set[str] = set()

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            for mail in (await on.tools(agent).receive()).messages:
                if mail.intent == Intent.REQUEST:
                    await asyncio.gather(*(on.tools(agent).send(handle, "your part?") for handle in handles))
                else:
                    parts.add(mail.text)
            return f"{len(parts)} parts"

        def part(handle: str) -> Behaviour:
            async def behaviour(agent: FakeAgent, prompt: Prompt) -> str:
                await on.tools(agent).receive()
                return handle

            return behaviour

        on.agent("desk", desk)
        for handle in handles:
            on.agent(handle, part(handle))
        sent = await on.send("desk", "gather it")
        view = await on.exchange.answer(await on.shell(), sent.message_id, 5)
        assert view.reply is not None
        assert view.reply.text == "5 parts"
        await on.exchange.read_answer(await on.shell(), sent.message_id)
        await idle(on)
        assert await on.store.unsettled() == {}
        assert max(on.runtime.most_at_once.values()) == 1


@pytest.mark.parametrize("seed", range(20))
async def test_a_hint_that_comes_while_a_lane_looks_at_the_store_is_not_lost(seed: int) -> None:
    async with stage(session("career"), store=interleaved(seed)) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            return "done"

        on.agent("career", career)
        for number in range(6):
            for _ in range(seed + 7 * number):
                await asyncio.sleep(0)
            await on.send("career", f"{number}", intent=Intent.INFORM)
        await idle(on)
        assert len(on.runtime.prompts) == 6


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_read_that_races_with_the_end_of_its_turn_loses_no_mail(seed: int) -> None:
    async with stage(session("career"), store=interleaved(seed)) as on:
        reads: list[asyncio.Future[object]] = []

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            caller = await on.tools(agent).caller()
            await on.exchange.receive(caller, 1)
            reads.extend(asyncio.ensure_future(on.exchange.receive(caller, 1)) for _ in range(4))
            return "done"

        on.agent("career", career)
        news = [await on.send("career", f"{number}", intent=Intent.INFORM, wake=False) for number in range(4)]
        await on.send("career", "work")
        async with asyncio.timeout(5):
            while len(reads) < 4:
                await on.quiet()
            await asyncio.gather(*reads, return_exceptions=True)
            while await on.store.live_turns():
                await on.quiet()
        states = {(await on.message(one.message_id)).state for one in news}
        assert states <= {State.QUEUED, State.SETTLED}


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_question_that_races_with_the_end_of_its_turn_is_not_forgotten(seed: int) -> None:
    async with stage(session("desk"), session("career"), session("tool", agent=None), store=interleaved(seed)) as on:
        asked: list[asyncio.Future[object]] = []

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            mails = (await on.tools(agent).receive()).messages
            if mails and mails[0].intent == Intent.REQUEST:
                await on.tools(agent).send("tool", "I ask Career", intent=Intent.INFORM)
                asked.append(asyncio.ensure_future(on.tools(agent).send("career", "well?")))
            return "done"

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            return "yes"

        on.agent("desk", desk)
        on.agent("career", career)
        sent = await on.send("desk", "find out")
        view = await on.exchange.answer(await on.shell(), sent.message_id, 5)
        assert view.answer is Answer.ANSWERED
        for late in await asyncio.gather(*asked, return_exceptions=True):
            assert not isinstance(late, Exception) or (isinstance(late, Refused) and late.code is Code.STALE_EPOCH)
        await on.exchange.read_answer(await on.shell(), sent.message_id)
        await on.exchange.ack(await on.shell("tool"), [mail.message_id for mail in await on.inbox("tool")])
        await idle(on)
        assert await on.store.unsettled() == {}
        assert await on.store.open_requests_of(ident("desk")) == []


@pytest.mark.parametrize("seed", SEEDS)
async def test_no_post_is_sent_twice(seed: int) -> None:
    tried: list[Post] = []
    async with stage(session("career"), session("finance"), store=interleaved(seed)) as on:
        on.chat.fault = tried.append
        for number in range(10):
            await on.say("career", f"/status {number}")
            await on.say("finance", f"/status {number}")
        async with asyncio.timeout(5):
            while await on.store.pending_posts("room"):
                await on.quiet()
        assert len(tried) == len({post.key for post in tried}) == 20


@pytest.mark.parametrize("seed", range(40))
async def test_what_a_terminal_wishes_waits_where_it_is_said_to_or_was_decided_before(seed: int) -> None:
    place = room("career")
    asks = [rule("default/shell", "default/career", ALL, Effect.ASK)]
    async with stage(session("career"), rules=asks, store=interleaved(seed)) as on:
        sent = await on.send("career", "please", wake=False)
        await on.chat.seen(place, "needs your approval")
        by, pressing = await person(on), asyncio.create_task(on.press("career", "Approve once"))
        for _ in range(seed):
            await asyncio.sleep(0)
        wished = await on.exchange.oversight.approve(by, sent.message_id, Scope.ONCE)
        await pressing
        assert (wished.state, wished.waits_for) in ((State.HELD, (place,)), (State.QUEUED, ()))
