"""What the lists and the status say is true, and nobody sees more than may be seen (invariant 12)."""

import asyncio

import pytest

from bridge.decision import Verb
from bridge.errors import Refused
from bridge.message import Origin
from bridge.ports.runtime import Prompt, ToolBegun, ToolEnded
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import ident, room, rule, session, stage


async def test_the_list_shows_what_each_session_is_doing() -> None:
    async with stage(session("career"), session("notes", agent=None), session("loner", accept_wake=False)) as on:
        go, thinking, working = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            assert agent.listener is not None
            thinking.set()
            await go.wait()
            await agent.listener.happened(ToolBegun("1", "Bash", reading=False))
            await agent.listener.happened(ToolEnded("1", ok=True))
            working.set()
            await asyncio.Event().wait()
            return ""

        on.agent("career", career)
        person = await on.shell(origin=Origin.USER)

        async def activities() -> dict[str, str]:
            return {view.id: view.activity for view in (await on.exchange.sessions(person, False))[0]}

        await on.send("notes", "for later", wake=False)
        assert set((await activities()).values()) == {"idle"}
        await on.say("career", "work")
        await thinking.wait()
        assert (await activities())[ident("career")] == "thinking"
        go.set()
        await working.wait()
        assert (await activities())[ident("career")] == "tool_running"
        await on.clock.advance(3)
        await on.chat.seen(room("career"), "Working · 0:03\n> ✓ Bash")
        views = {view.id: view for view in (await on.exchange.sessions(person, True))[0]}
        assert set(views) == {ident("career"), ident("notes")}
        assert (views[ident("career")].live, views[ident("notes")].live) == (True, False)
        assert (views[ident("career")].unsettled, views[ident("notes")].unsettled) == (0, 1)
        every = {view.id: view for view in (await on.exchange.sessions(person, False))[0]}
        assert every[ident("career")].reachable == "wake"
        assert (every[ident("notes")].reachable, every[ident("loner")].reachable) == ("pull", "pull")


async def test_a_session_whose_agent_is_not_configured_is_shown_as_errored() -> None:
    async with stage(session("career", agent="missing")) as on:
        await on.say("career", "work")
        await on.chat.seen(room("career"), "no agent named 'missing' is configured")
        (view, _) = (await on.exchange.sessions(await on.shell(origin=Origin.USER), False))[0]
        assert view.activity == "errored"


async def test_an_agent_lists_itself_and_what_it_may_discover_and_nothing_else() -> None:
    rules = [rule("default/career", "default/finance", [Verb.SEND]), rule("default/desk", "default/career", [Verb.ASK])]
    async with stage(session("career"), session("finance"), session("desk"), session("secret"), rules=rules) as on:
        await on.say("career", "hello")
        await on.quiet()
        agent = await on.tools(on.runtime.agents[0]).caller()
        views, _ = await on.exchange.sessions(agent, False)
        assert [view.id for view in views] == [ident("career"), ident("desk"), ident("finance")]


async def test_the_status_counts_sessions_turns_and_the_backlog() -> None:
    async with stage(session("career"), session("finance")) as on:
        before = await on.exchange.status(await on.shell())
        assert (before.sessions, before.turns, before.queued, before.oldest_queued_s) == (3, 0, 0, None)
        assert (before.profile, before.version, before.pid, before.telegram) == ("default", "test", 1, None)
        started = asyncio.Event()

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            started.set()
            await asyncio.Event().wait()
            return ""

        on.agent("career", career)
        await on.say("career", "work")
        await started.wait()
        await on.say("career", "and this")
        await on.clock.advance(42)
        now = await on.exchange.status(await on.shell())
        assert (now.turns, now.queued, now.oldest_queued_s, now.uptime_s) == (1, 1, 42, 42)


async def test_an_unknown_trace_and_one_of_others_cannot_be_told_apart() -> None:
    async with stage(session("career"), session("notes", agent=None), session("other", agent=None)) as on:
        sent = await on.send("notes", "between us", wake=False)
        assert len(await on.exchange.trace(await on.shell("notes"), sent.message_id)) > 1
        assert len(await on.exchange.trace(await on.shell("other", Origin.USER), sent.message_id)) > 1
        stranger = await on.shell("other")
        errors = []
        for trace in (sent.message_id, "nothing"):
            with pytest.raises(Refused) as refused:
                await on.exchange.trace(stranger, trace)
            errors.append(refused.value.as_json())
        assert errors[0] == errors[1]
