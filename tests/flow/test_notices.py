"""Whoever waits for a message is told how it ended, and what the bridge says sets nobody off."""

import pytest

from bridge.errors import Code, Refused
from bridge.message import Intent, Origin, Outcome
from bridge.ports.runtime import Prompt, Result
from bridge.request import Answer
from bridge.turn import Failure, FailureKind
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import Stage, ident, room, session, stage


async def expired_news(on: Stage) -> str:
    """Career sends news that nobody reads in time; returns the id."""
    career = await on.exchange.caller(None, origin=Origin.PEER, bound=ident("career"))
    sent = await on.send("tool", "news", caller=career, intent=Intent.INFORM, wake=False, ttl_s=60.0)
    await on.clock.advance(61)
    return sent.message_id


async def test_the_sender_of_an_inform_that_expired_is_told_which_and_why_and_is_not_woken() -> None:
    async with stage(session("career"), session("tool", agent=None)) as on:
        message_id = await expired_news(on)
        assert (await on.message(message_id)).outcome is Outcome.EXPIRED
        (notice,) = await on.inbox("career")
        assert (notice.origin, notice.in_reply_to) == ("system", message_id)
        assert message_id in notice.text
        assert "expired" in notice.text
        assert on.runtime.prompts == []


async def test_a_notice_is_never_answered() -> None:
    async with stage(session("career"), session("tool", agent=None)) as on:
        await expired_news(on)
        (notice,) = await on.inbox("career")
        career = await on.exchange.caller(None, origin=Origin.PEER, bound=ident("career"))
        with pytest.raises(Refused) as refused:
            await on.exchange.reply(career, notice.message_id, "thanks")
        assert refused.value.code is Code.NO_RETURN_PATH
        assert (await on.refused("system", caller=career)).code is Code.UNKNOWN_SESSION


async def test_a_notice_that_is_lost_causes_no_notice() -> None:
    async with stage(session("career"), session("tool", agent=None)) as on:
        await expired_news(on)
        (notice,) = await on.inbox("career")
        await on.exchange.roster.declare([session("tool", agent=None)])
        assert (await on.message(notice.message_id)).outcome is Outcome.FAILED
        assert await on.store.unsettled() == {}


@pytest.mark.parametrize("intent", [Intent.REQUEST, Intent.INFORM])
async def test_the_sender_hears_once_of_a_message_that_the_agent_refused(intent: Intent) -> None:
    async with stage(session("career")) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> Result:
            await on.tools(agent).receive()
            return Result("", "refusal", Failure(FailureKind.REFUSAL, "I will not"))

        on.agent("career", career)
        sent = await on.send("career", "do it", intent=intent)
        await on.quiet()
        assert (await on.message(sent.message_id)).outcome is Outcome.FAILED
        (told,) = await on.inbox()
        assert (told.origin, told.in_reply_to) == ("system", sent.message_id)
        assert "I will not" in told.text
        assert "do it" not in told.text


async def test_a_session_that_is_closed_while_it_waits_has_its_late_answer_shown_at_its_last_place() -> None:
    async with stage(session("desk"), session("tool", agent=None)) as on:
        asked: list[str] = []

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            asked.append((await on.tools(agent).send("tool", "when?")).message_id)
            return "asked"

        on.agent("desk", desk)
        await on.say("desk", "find out")
        await on.chat.seen(room("desk"), "asked")
        await on.exchange.roster.declare([session("tool", agent=None)])
        assert (await on.request(asked[0])).state is Answer.CANCELLED
        await on.exchange.reply(await on.shell("tool"), asked[0], "now")
        await on.chat.seen(room("desk"), "tool (late): now")
        await on.quiet()
        assert len(on.runtime.prompts) == 1
