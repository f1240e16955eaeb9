"""Lives and due times, exact at their boundary, and wake-ups that got lost."""

import asyncio

import pytest

from bridge.errors import Code
from bridge.flow.hints import Hints
from bridge.flow.turns import Turns
from bridge.ids import MessageId
from bridge.limits import Limits
from bridge.message import Intent, Outcome, State
from bridge.ports.runtime import Prompt
from bridge.ports.store import Change
from bridge.request import Answer
from tests.contracts.entities import message, request
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import ident, room, session, stage


async def test_a_queued_message_expires_at_its_time_and_not_before() -> None:
    async with stage(session("career")) as on:
        await on.say("career", "/stop")
        sent = await on.send("career", "soon", ttl_s=100.5)
        await on.clock.advance(100.25)
        assert (await on.message(sent.message_id)).state is State.QUEUED
        await on.clock.advance(0.25)
        assert (await on.message(sent.message_id)).outcome is Outcome.EXPIRED
        assert (await on.request(sent.message_id)).state is Answer.EXPIRED
        (told,) = await on.inbox()
        assert "expired before it was answered" in told.text


async def test_what_is_past_its_life_is_not_begun_although_nothing_has_expired_it_yet() -> None:
    async with stage(session("career")) as on:
        await on.say("career", "/stop")
        sent = await on.send("career", "soon", ttl_s=100)
        await on.quiet()
        on.clock.jump(100)
        await on.say("career", "/resume")
        await on.quiet()
        assert on.runtime.prompts == []
        await on.clock.advance(30)
        assert (await on.message(sent.message_id)).outcome is Outcome.EXPIRED


async def test_an_inform_that_expires_is_reported_to_its_sender() -> None:
    async with stage(session("career")) as on:
        sent = await on.send("career", "by the way", wake=False, intent=Intent.INFORM, ttl_s=5)
        await on.clock.advance(5)
        (told,) = await on.inbox()
        assert (told.origin, told.in_reply_to) == ("system", sent.message_id)
        assert "was not delivered (expired)" in told.text


async def test_what_a_person_said_and_nobody_did_in_time_is_told_at_the_place() -> None:
    async with stage(session("career"), limits=Limits(message_life_s=50, stop_grace_s=0)) as on:
        on.runtime.held["default/career"] = asyncio.Event()
        await on.say("career", "one")
        await on.quiet()
        said = await on.say("career", "two")
        await on.clock.advance(50)
        await on.chat.seen(room("career"), "Not done: expired\n“two”")
        assert (await on.message(said)).outcome is Outcome.EXPIRED


async def test_the_longest_life_is_the_limit() -> None:
    async with stage(session("career"), limits=Limits(message_life_s=10)) as on:
        for ttl_s in (0, -1, 10.5):
            assert (await on.refused("career", ttl_s=ttl_s)).code is Code.INVALID_REQUEST
        await on.send("career", "hello", ttl_s=10)


async def test_answers_and_notices_live_for_the_retention_however_short_the_life_of_a_request() -> None:
    async with stage(session("career"), limits=Limits(message_life_s=10, retention_s=1_000)) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            return "yes"

        on.agent("career", career)
        await on.send("career", "may I?")
        await on.quiet()
        await on.say("career", "/stop")
        await on.send("career", "news", intent=Intent.INFORM)
        await on.clock.advance(10)
        assert [mail.origin for mail in await on.inbox()] == ["peer", "system"]
        await on.clock.advance(989)
        assert len(await on.inbox()) == 2
        await on.clock.advance(11)
        assert await on.inbox() == []


async def test_parked_work_fails_when_nobody_decides_in_time_and_can_then_not_be_retried() -> None:
    async with stage(session("career"), limits=Limits(message_life_s=1_000, stop_grace_s=0)) as on:
        started = asyncio.Event()

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            started.set()
            await asyncio.Event().wait()
            return ""

        on.agent("career", career)
        sent = await on.send("career", "work")
        await started.wait()
        await on.clock.advance(500)
        await on.say("career", "/stop")
        await on.clock.advance(999)
        assert (await on.message(sent.message_id)).state is State.PARKED
        await on.clock.advance(1)
        message = await on.message(sent.message_id)
        assert (message.outcome, message.reason) == (Outcome.FAILED, "stopped by a person; nobody decided in time")
        assert (await on.request(sent.message_id)).state is Answer.FAILED
        parked = next(post for post in on.chat.posts.values() if post.key.startswith("parked:"))
        assert parked.buttons == ()


async def test_what_is_held_for_approval_ends_with_its_own_life_and_its_asker_is_told() -> None:
    limits = Limits()
    async with stage(session("career"), limits=limits) as on:
        now = on.clock.now()
        end = now + limits.held_life_s
        asker, asked, question = ident("shell"), ident("career"), MessageId("held")
        held = message(
            question, sender=asker, recipient=asked, state=State.HELD, accepted_at=now, queued_at=now, expires_at=end
        )
        await on.store.commit(
            Change(puts=[held, request(question, asker=asker, asked=asked, expires_at=now + limits.message_life_s)])
        )
        await on.clock.advance(limits.held_life_s - 1)
        assert (await on.message("held")).state is State.HELD
        await on.clock.advance(1)
        assert (await on.message("held")).outcome is Outcome.EXPIRED
        assert (await on.request("held")).state is Answer.EXPIRED
        (told,) = await on.inbox()
        assert (told.origin, told.in_reply_to) == ("system", "held")
        assert on.runtime.prompts == []


async def test_a_life_does_not_end_while_a_turn_works_on_it() -> None:
    async with stage(session("career")) as on:
        done = asyncio.Event()

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            await done.wait()
            return "at last"

        on.agent("career", career)
        sent = await on.send("career", "take your time", ttl_s=60)
        await on.clock.advance(300)
        assert (await on.message(sent.message_id)).state is State.LEASED
        assert (await on.request(sent.message_id)).state is Answer.OPEN
        done.set()
        await on.quiet()
        assert (await on.request(sent.message_id)).state is Answer.ANSWERED
        assert [mail.text for mail in await on.inbox()] == ["at last"]


async def test_an_open_request_whose_delivery_is_settled_expires_too() -> None:
    async with stage(session("career")) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            (mail,) = (await on.tools(agent).receive()).messages
            await on.tools(agent).defer(mail.message_id)
            return ""

        on.agent("career", career)
        sent = await on.send("career", "think about it", ttl_s=600)
        await on.clock.advance(599)
        assert (await on.message(sent.message_id)).outcome is Outcome.ACKED
        assert (await on.request(sent.message_id)).state is Answer.OPEN
        await on.clock.advance(1)
        assert (await on.request(sent.message_id)).state is Answer.EXPIRED


async def test_hundreds_of_lives_that_end_in_one_instant_end_in_that_instant() -> None:
    limits = Limits(inbox=1_000, open_requests=1_000, pair_messages=1_000)
    async with stage(session("notes", agent=None), limits=limits) as on:
        for number in range(250):
            await on.send("notes", f"{number}", wake=False, intent=Intent.INFORM, ttl_s=60)
        await on.clock.advance(60)
        assert await on.inbox("notes") == []
        assert len(await on.inbox()) == 250


async def test_work_whose_wake_up_was_lost_is_found_by_the_due_time_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    async with stage(session("career")) as on:
        with monkeypatch.context() as lost:
            lost.setattr(Hints, "lane", lambda self, session: None)
            lost.setattr(Turns, "may_begin", lambda self, session: False)
            sent = await on.send("career", "hello")
            await on.quiet()
            assert on.runtime.prompts == []
        await on.clock.advance(30)
        assert len(on.runtime.prompts) > 0
        assert (await on.message(sent.message_id)).woken_at is not None


async def test_a_post_whose_wake_up_was_lost_is_found_by_the_due_time_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    async with stage(session("career")) as on:
        await on.quiet()
        with monkeypatch.context() as lost:
            lost.setattr(Hints, "outbox", lambda self: None)
            await on.say("career", "/help")
            await on.quiet()
            assert on.chat.deliveries == []
        await on.clock.advance(30)
        await on.chat.seen(room("career"), "/handoff NAME TEXT")


async def test_what_was_taken_and_never_acknowledged_ends_with_its_life_and_its_sender_is_told() -> None:
    async with stage(session("tool", agent=None), limits=Limits(message_life_s=100, lease_s=60)) as on:
        asked = await on.send("tool", "please")
        news = await on.send("tool", "news", intent=Intent.INFORM)
        await on.clock.advance(50)
        assert len(await on.exchange.inbox(await on.shell("tool"), None, take=True)) == 2
        await on.clock.advance(55)
        assert (await on.request(asked.message_id)).state is Answer.OPEN
        await on.clock.advance(35)
        assert (await on.request(asked.message_id)).state is Answer.EXPIRED
        assert (await on.message(news.message_id)).outcome is Outcome.EXPIRED
        assert len(await on.inbox()) == 2


async def test_a_clock_that_is_set_back_keeps_nobody_waiting() -> None:
    async with stage(session("career")) as on:
        busy = asyncio.Event()

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            await busy.wait()
            return f"done: {prompt.words}"

        on.agent("career", career)
        await on.say("career", "one")
        await on.say("career", "two")
        await on.quiet()
        on.clock.set_back(3_600)
        busy.set()
        await on.chat.seen(room("career"), "done: two")
