"""What the operator's file says of a session: its limits, who sees it, and what wakes it (DESIGN §4)."""

import asyncio

from bridge.errors import Code
from bridge.limits import Limits
from bridge.message import Intent, State
from bridge.ports.runtime import Prompt
from tests.fakes.interleaved import interleaved
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import OPERATOR, Stage, ident, room, session, stage


async def test_a_session_takes_less_than_all_others_where_it_says_so() -> None:
    narrow = session("career", agent=None, inbox_limit=2, max_chars=5)
    async with stage(narrow, session("finance", agent=None)) as on:
        refused = await on.refused("career", "too long")
        assert (refused.code, refused.rule) == (Code.TOO_LARGE, "max_chars")
        assert "default/career takes 5 at most" in refused.reason
        for _ in range(2):
            await on.send("career", "short")
            await on.send("finance", "too long for career")
        refused = await on.refused("career", "short")
        assert (refused.code, refused.rule) == (Code.INBOX_FULL, "inbox_limit")
        await on.send("finance", "still room")


async def test_no_session_takes_more_than_all_may() -> None:
    wide = session("career", agent=None, inbox_limit=9, max_chars=9)
    async with stage(wide, limits=Limits(inbox=1, max_chars=4)) as on:
        assert (await on.refused("career", "hello")).code is Code.TOO_LARGE
        await on.send("career", "hi")
        refused = await on.refused("career", "hi")
        assert (refused.code, refused.rule) == (Code.INBOX_FULL, "limits.inbox")


async def test_many_at_once_fill_a_narrow_inbox_and_no_more() -> None:
    senders = [f"s{number}" for number in range(6)]
    narrow = session("career", agent=None, inbox_limit=3)
    every = [session(one, agent=None) for one in senders]
    async with stage(narrow, *every, store=interleaved(1)) as on:
        callers = [await on.shell(one) for one in senders]
        sending = [on.send("career", "hello", caller=one) for one in callers]
        outcomes = await asyncio.gather(*sending, return_exceptions=True)
        assert sum(isinstance(one, BaseException) for one in outcomes) == 3
        assert await on.store.inbox_size(ident("career")) == 3


async def test_an_answer_is_as_long_as_any() -> None:
    async with stage(session("desk", max_chars=5), session("career")) as on:
        asked = await _asked(on, "It is a serious company.")
        assert (await on.request(asked)).state == "answered"


async def test_answers_wait_in_an_inbox_that_they_are_not_to_wake() -> None:
    async with stage(session("desk", reply_wake=False), session("career")) as on:
        asked = await _asked(on, "It is.")
        closing = await on.message((await on.request(asked)).closing or "")
        assert (closing.intent, closing.state, closing.wake) == (Intent.REPLY, State.QUEUED, False)
        assert sum(one == ident("desk") for one, _ in on.runtime.prompts) == 1
        await on.say("desk", "and?")
        await on.quiet()
        assert (await on.message(closing.id)).state is State.SETTLED


async def test_a_session_without_an_agent_may_have_its_answers_wake_it() -> None:
    async with stage(session("build", agent=None, reply_wake=True), session("career")) as on:
        sent = await on.send("career", "is it?", caller=await on.shell("build"), wake=True)
        await on.quiet()
        assert (await on.message((await on.request(sent.message_id)).closing or "")).wake


async def test_a_hidden_session_is_in_no_list_of_agents_and_takes_what_the_rules_allow() -> None:
    async with stage(session("desk"), session("career", hidden=True)) as on:
        assert await _listed(on, "desk") == [ident("desk"), ident("shell")]
        assert await _listed(on, "career") == [ident("career"), ident("desk"), ident("shell")]
        await on.say("desk", "/sessions")
        await on.chat.seen(room("desk"), "Career (default/career)")
        assert (await on.send("career", "hello")).to == ident("career")


async def _listed(on: Stage, handle: str) -> list[str]:
    """What an agent's own tool lists in a turn."""
    found: list[str] = []

    async def looks(agent: FakeAgent, prompt: Prompt) -> str:
        page, _ = await on.exchange.sessions(await on.tools(agent).caller(), active=False)
        found.extend(one.id for one in page)
        return ""

    on.agent(handle, looks)
    await on.say(handle, "who is there?", OPERATOR)
    await on.quiet()
    return found


async def _asked(on: Stage, answer: str) -> str:
    """The id of the request that desk has sent career, which has answered by now."""
    sent: list[str] = []

    async def desk(agent: FakeAgent, prompt: Prompt) -> str:
        if prompt.words == "ask career":
            sent.append((await on.tools(agent).send("career", "is it?")).message_id)
        else:
            await on.tools(agent).receive()
        return ""

    async def career(agent: FakeAgent, prompt: Prompt) -> str:
        await on.tools(agent).receive()
        return answer

    on.agent("desk", desk)
    on.agent("career", career)
    await on.say("desk", "ask career")
    await on.quiet()
    return sent[0]
