"""`/new` alone resets a session's context (DESIGN §5)."""

import asyncio

from bridge.message import Outcome, State
from bridge.ports.runtime import Prompt
from bridge.request import Answer
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import ident, room, session, stage


async def test_new_starts_another_agent_with_a_context_of_its_own() -> None:
    async with stage(session("career")) as on:
        await on.say("career", "one")
        await on.quiet()
        await on.say("career", "/new")
        await on.chat.seen(room("career"), "Career starts afresh with your next message.")
        known = await on.store.session(ident("career"))
        assert known is not None
        assert known.alias is None
        await on.say("career", "two")
        await on.quiet()
        assert [launch.alias for launch in on.runtime.launches] == [None, None]
        assert on.runtime.agents[0].closed
        assert not any("no longer has its earlier context" in text for text in on.chat.texts(room("career")))


async def test_new_fails_requests_that_were_read_and_leaves_unread_ones_to_the_new_context() -> None:
    async with stage(session("career")) as on:
        read = asyncio.Event()
        seen: list[tuple[str, str]] = []

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            (mail,) = (await on.tools(agent).receive()).messages
            seen.append((agent.alias, mail.text))
            if mail.text == "running":
                read.set()
                await asyncio.Event().wait()
            return "done"

        on.agent("career", career)
        running = await on.send("career", "running")
        await read.wait()
        waiting = await on.send("career", "waiting")
        await on.say("career", "/new")
        await on.chat.seen(room("career"), "Closed as failed: 1 request that it had read.")
        message, request = await on.message(running.message_id), await on.request(running.message_id)
        assert (message.state, message.outcome) == (State.SETTLED, Outcome.FAILED)
        assert (request.state, request.reason) == (Answer.FAILED, "the session's context was reset")
        await on.quiet()
        assert (await on.request(waiting.message_id)).state is Answer.ANSWERED
        (one, _), (other, _) = seen
        assert one != other
        parked = [post for post in on.chat.posts.values() if post.key.startswith("parked:")]
        assert all(not post.buttons for post in parked)


async def test_new_fails_what_was_deferred_in_the_lost_context() -> None:
    async with stage(session("career")) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            (mail,) = (await on.tools(agent).receive()).messages
            await on.tools(agent).defer(mail.message_id)
            return "later"

        on.agent("career", career)
        sent = await on.send("career", "think about it")
        await on.quiet()
        assert (await on.request(sent.message_id)).state is Answer.OPEN
        await on.say("career", "/new")
        await on.quiet()
        assert (await on.request(sent.message_id)).state is Answer.FAILED


async def test_no_turn_slips_into_the_old_context_while_it_is_being_ended() -> None:
    async with stage(session("career")) as on:
        started, closing = asyncio.Event(), asyncio.Event()

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            started.set()
            if prompt.words == "one":
                await asyncio.Event().wait()
            return f"{prompt.words} in {agent.alias}"

        on.agent("career", career)
        await on.say("career", "one")
        await started.wait()
        await on.say("career", "two")
        on.runtime.closing = closing
        renewing = asyncio.ensure_future(on.exchange.control.renew(ident("career")))
        await on.quiet()
        assert len(on.runtime.prompts) == 1
        closing.set()
        await renewing
        await on.chat.seen(room("career"), "two in context-2")
