"""What a child may do, and others to it: never more than its parent (DESIGN §8)."""

import asyncio
from dataclasses import dataclass, field

import pytest

from adapters.memory.store import MemoryStore
from bridge.decision import Effect, Verb
from bridge.errors import Code, Refused
from bridge.limits import Limits
from bridge.message import Intent, State
from bridge.ports.runtime import Prompt
from bridge.question import Asked, Option, Question
from bridge.request import Answer
from bridge.session import Caps, PeerTools
from bridge.views import Receipt
from tests.fakes.chat import FakeChat
from tests.fakes.clock import ManualClock
from tests.fakes.runtime import Behaviour, FakeAgent, FakeRuntime
from tests.flow.stage import ALL, Stage, ident, person, room, rule, session, stage

DESK, CAREER, FINANCE = session("desk"), session("career"), session("finance")
SPAWNS = rule("default/desk", "kind:tool", [Verb.SPAWN])
DEEP = [rule("*", "kind:tool", [Verb.SPAWN]), rule("default/shell", "default/desk")]
ASKED = Question(
    "run rm -rf", [Option("yes", "Allow", allows=True, lasting=False), Option("no", "Reject", False, False)]
)


@dataclass
class Family:
    """A parent in its turn and its child in its own, each free to act. `over` lets both end."""

    on: Stage
    made: Receipt
    parent: FakeAgent
    child: FakeAgent
    over: asyncio.Event = field(default_factory=asyncio.Event)

    async def refused(self, agent: FakeAgent, to: str, **more: object) -> Code:
        with pytest.raises(Refused) as refused:
            await self.on.tools(agent).send(to, "hello", **more)  # type: ignore[arg-type]
        return refused.value.code


async def family(on: Stage) -> Family:
    """The desk is at work for its person, and so is its child for it."""
    over = asyncio.Event()
    made: list[Receipt] = []
    agents: dict[bool, FakeAgent] = {}

    async def desk(agent: FakeAgent, prompt: Prompt) -> str:
        agents[True] = agent
        made.append(await on.tools(agent).spawn("look it up"))
        await over.wait()
        return "done"

    async def helper(agent: FakeAgent, prompt: Prompt) -> str:
        await on.tools(agent).receive()
        agents[False] = agent
        await over.wait()
        return "found"

    on.agent("desk", desk)
    on.helper(helper)
    await on.say("desk", "is it serious?")
    await on.quiet()
    return Family(on, made[0], agents[True], agents[False], over)


async def seen_by(on: Stage, agent: FakeAgent) -> set[str]:
    views, _ = await on.exchange.sessions(await on.tools(agent).caller(), False)
    return {view.id for view in views}


async def test_parent_and_child_see_each_other_and_nobody_else_sees_the_child() -> None:
    rules = [SPAWNS, rule("default/desk", "default/career"), rule("default/career", "kind:tool", [Verb.SPAWN])]
    async with stage(DESK, CAREER, rules=rules) as on:
        one = await family(on)
        assert await seen_by(on, one.parent) == {"default/desk", "default/career", one.made.to}
        assert await seen_by(on, one.child) == {one.made.to, "default/desk"}

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            assert await seen_by(on, agent) == {"default/career", "default/desk"}
            return await one.refused(agent, one.made.to)

        on.agent("career", career)
        await on.say("career", "who is there?")
        await on.chat.seen(room("career"), Code.UNKNOWN_SESSION)


async def test_a_child_may_tell_its_parent_without_a_rule_and_not_wake_it() -> None:
    async with stage(DESK, rules=[SPAWNS]) as on:
        one = await family(on)
        told = await on.tools(one.child).send("desk", "half of it", intent=Intent.INFORM, wake=False)
        assert told.state is State.QUEUED
        assert await one.refused(one.child, "desk", intent=Intent.INFORM) is Code.WAKE_NOT_PERMITTED
        assert await one.refused(one.child, "desk", wake=False) is Code.NOT_PERMITTED
        (mail,) = (await on.tools(one.parent).receive()).messages
        assert mail.text == "half of it"


async def test_an_explicit_deny_holds_between_parent_and_child_too() -> None:
    rules = [SPAWNS, rule("kind:tool", "*", ALL, Effect.DENY)]
    async with stage(DESK, rules=rules) as on:
        one = await family(on)
        assert await one.refused(one.child, "desk", intent=Intent.INFORM, wake=False) is Code.NOT_PERMITTED


async def test_what_a_parent_may_not_its_child_may_not_either() -> None:
    every = [rule("kind:tool", "*"), rule("default/desk", "default/career")]
    async with stage(DESK, CAREER, FINANCE, rules=[SPAWNS, *every]) as on:
        one = await family(on)
        assert (await on.tools(one.child).send("career", "hello")).state is State.QUEUED
        assert await one.refused(one.child, "finance") is Code.UNKNOWN_SESSION


async def test_what_a_parent_is_denied_its_child_is_denied() -> None:
    every = [rule("*", "*"), rule("default/desk", "default/finance", ALL, Effect.DENY)]
    async with stage(DESK, FINANCE, rules=[SPAWNS, *every]) as on:
        one = await family(on)
        assert await one.refused(one.child, "finance") is Code.NOT_PERMITTED


async def test_who_may_not_reach_a_parent_does_not_reach_its_child() -> None:
    every = [rule("*", "*"), rule("default/finance", "default/desk", ALL, Effect.DENY)]
    async with stage(DESK, CAREER, FINANCE, rules=[SPAWNS, *every]) as on:
        one = await family(on)
        codes: list[object] = []

        def trying(handle: str) -> Behaviour:
            async def behaviour(agent: FakeAgent, prompt: Prompt) -> str:
                try:
                    codes.append((await on.tools(agent).send(one.made.to, "hello")).state)
                except Refused as refused:
                    codes.append(refused.code)
                return ""

            return behaviour

        for handle in ("career", "finance"):
            on.agent(handle, trying(handle))
            await on.say(handle, "write to it")
            await on.quiet()
        assert codes == [State.QUEUED, Code.NOT_PERMITTED]


async def test_who_may_only_be_spawned_is_not_reached_by_siblings() -> None:
    async with stage(DESK, rules=[SPAWNS]) as on:
        one = await family(on)
        other = await on.tools(one.parent).spawn("and that")
        assert await one.refused(one.child, other.to) is Code.UNKNOWN_SESSION


async def test_a_wait_of_a_child_for_its_waiting_parent_is_refused_at_once() -> None:
    async with stage(DESK, rules=[SPAWNS, rule("kind:tool", "default/desk")]) as on:

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            made = await on.tools(agent).spawn("look it up")
            asked = await on.tools(agent).ask(made.to, "and?")
            return asked.reply.text if asked.reply else ""

        async def helper(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            with pytest.raises(Refused) as refused:
                await on.tools(agent).ask("desk", "what do you mean?")
            return refused.value.code

        on.agent("desk", desk)
        on.helper(helper)
        await on.say("desk", "is it serious?")
        await on.chat.seen(room("desk"), Code.WOULD_DEADLOCK)


# Its permissions


async def test_what_a_childs_agent_asks_goes_to_the_people_of_its_root() -> None:
    async with stage(DESK, rules=[SPAWNS]) as on:
        one = await family(on)
        assert one.child.listener is not None
        asking = asyncio.ensure_future(one.child.listener.asked(ASKED))
        asked = await on.chat.seen(room("desk"), "asks for permission: run rm -rf")
        assert "another session's message is behind it" in asked.text
        await on.press("desk", "Allow")
        said = await asking
        assert (said.outcome, said.choice) == (Asked.ANSWERED, "yes")


async def test_what_its_root_may_not_on_a_peers_word_a_child_may_not() -> None:
    async with stage(session("desk", peer_tools=PeerTools.DENY), rules=[SPAWNS]) as on:
        one = await family(on)
        assert one.child.listener is not None
        assert (await one.child.listener.asked(ASKED)).outcome is Asked.UNDELIVERED
        await on.chat.seen(room("desk"), "denied: another session's message is behind it")


async def test_a_child_works_where_its_parent_does_in_the_mode_for_what_peers_cause() -> None:
    desk = session("desk", cwd="/srv/work", project="house", tags=("office",), peer_mode="plan")
    async with stage(desk, rules=[SPAWNS]) as on:
        on.runtime.modes.add("plan")
        one = await family(on)
        (launch,) = [launch for launch in on.runtime.launches if launch.session == one.made.to]
        assert (launch.cwd, launch.agent) == ("/srv/work", "helper")
        child = await on.store.session(one.made.to)
        assert child is not None
        assert (child.project, child.tags, child.habits.peer_mode) == ("house", ("agent:helper",), "plan")
        assert [prompt.mode for session, prompt in on.runtime.prompts if session == child.id] == ["plan"]


# Caps


async def spawned(on: Stage, agent: FakeAgent, count: int, name: str = "helper") -> list[object]:
    """What comes of so many tries: the child, or why there is none."""
    found: list[object] = []
    for _ in range(count):
        try:
            found.append((await on.tools(agent).spawn("look it up", agent=name)).to)
        except Refused as refused:
            found.append((refused.code, refused.rule))
    return found


async def hanging(agent: FakeAgent, prompt: Prompt) -> str:
    await asyncio.Event().wait()
    return ""


FULL = (Code.BUSY, "limits.children")
TOO_DEEP = (Code.DEPTH_LIMIT, "limits.spawn_depth")


async def test_the_children_at_once_are_counted_over_all_generations_of_a_root() -> None:
    async with stage(DESK, rules=DEEP, limits=Limits(children=3, stop_grace_s=0.05)) as on:
        tried: dict[str, list[object]] = {}
        spent = asyncio.Event()

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            if not prompt.words:
                return "nothing more"
            await on.tools(agent).spawn("look it up")
            await spent.wait()
            tried["desk"] = await spawned(on, agent, 2)
            return f"{len(tried)}"

        async def helper(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            if not spent.is_set():
                tried["helper"] = await spawned(on, agent, 1, "scout")
                spent.set()
            await asyncio.Event().wait()
            return ""

        on.agent("desk", desk)
        on.runtime.of_agents["helper"] = helper
        on.helper(hanging, "scout")
        await on.say("desk", "all of it")
        await on.quiet()
        assert [type(one) for one in tried["helper"]] == [str]
        # The desk's first, the helper's own, one more; the next is too many.
        assert tried["desk"][1] == FULL
        assert isinstance(tried["desk"][0], str)
        assert await on.store.children() == []


async def test_of_spawns_at_the_same_moment_no_more_succeed_than_there_may_be() -> None:
    async with stage(DESK, rules=DEEP, limits=Limits(children=2, stop_grace_s=0.05)) as on:
        tried: list[object] = []

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            if not prompt.words:
                return "nothing more"
            tried.extend(
                one for many in await asyncio.gather(*(spawned(on, agent, 1) for _ in range(5))) for one in many
            )
            return ""

        on.agent("desk", desk)
        on.helper(hanging)
        await on.say("desk", "all of it")
        await on.quiet()
        assert sum(isinstance(one, str) for one in tried) == 2
        assert tried.count(FULL) == 3


async def test_a_child_is_refused_one_deeper_than_there_may_be() -> None:
    async with stage(DESK, rules=DEEP, limits=Limits(spawn_depth=1, stop_grace_s=0.05)) as on:
        tried: list[object] = []

        async def helper(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            tried.extend(await spawned(on, agent, 1))
            return "alone, then"

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            made = await on.tools(agent).spawn("look it up")
            answer = await on.tools(agent).ask(made.to, "and?")
            return answer.answer.value

        on.agent("desk", desk)
        on.helper(helper)
        await on.say("desk", "is it serious?")
        await on.chat.seen(room("desk"), Answer.ANSWERED)
        assert tried == [TOO_DEEP] * 2


async def test_a_session_keeps_the_caps_that_it_was_made_with() -> None:
    store, chat, runtime, clock = MemoryStore(), FakeChat(), FakeRuntime(), ManualClock()
    tried: list[object] = []

    async def behaviour(on: Stage, agent: FakeAgent, prompt: Prompt) -> str:
        if not prompt.words:
            return "nothing more"
        tried.extend(await spawned(on, agent, 2))
        return "done"

    for caps in (1, 2):
        limits = Limits(children=caps, stop_grace_s=0.05)
        sessions = [DESK, CAREER] if caps == 2 else [DESK]
        async with stage(
            *sessions, rules=DEEP, limits=limits, store=store, chat=chat, runtime=runtime, clock=clock
        ) as on:
            on.helper(hanging)
            for handle in (one.id.partition("/")[2] for one in sessions):
                on.agent(handle, lambda agent, prompt, on=on: behaviour(on, agent, prompt))  # type: ignore[misc]
                await on.say(handle, "all of it")
                await on.quiet()
    assert [one == FULL for one in tried] == [False, True, False, True, False, False]
    desk, career = await store.session(ident("desk")), await store.session(ident("career"))
    assert desk is not None
    assert career is not None
    assert (desk.caps, career.caps) == (Caps(1, 2), Caps(2, 2))


async def test_a_fresh_context_has_the_caps_of_now() -> None:
    store = MemoryStore()
    async with stage(DESK, rules=DEEP, store=store, limits=Limits(children=1)):
        pass
    async with stage(DESK, rules=DEEP, store=store, limits=Limits(children=7)) as on:
        await on.say("desk", "/new")
        await on.quiet()
        desk = await store.session(ident("desk"))
        assert desk is not None
        assert desk.caps == Caps(7, 2)


# A bridge that dies


@pytest.mark.parametrize("acted", [True, False])
async def test_a_child_of_a_bridge_that_died_is_retired_and_never_gone_on_with(*, acted: bool) -> None:
    store, chat, runtime, clock = MemoryStore(), FakeChat(), FakeRuntime(), ManualClock()
    async with stage(DESK, rules=[SPAWNS], store=store, chat=chat, runtime=runtime, clock=clock) as on:
        one = await family(on)
        if acted:
            await on.tools(one.child).send("desk", "half of it", intent=Intent.INFORM, wake=False)
        on.exchange._dispatch._going = False  # it ends as a killed one does: nothing of it is stored any more
        for lane in on.exchange._dispatch._lanes.values():
            assert lane.task is not None
            lane.task.cancel()
        await on.quiet()
    assert len(await store.live_turns()) == 2
    asked = len(runtime.launches)
    async with stage(DESK, rules=[SPAWNS], store=store, chat=chat, runtime=runtime, clock=clock) as on:
        await on.quiet()
        child = await store.session(one.made.to)
        assert child is not None
        assert child.closed_at is not None
        assert await store.live_turns() == []
        request = await on.request(one.made.message_id)
        assert (request.state, request.closing) == (Answer.CANCELLED, None)
        assert len(runtime.launches) == asked
        assert {process.pid for process in runtime.ended_processes} == {process.pid for process in runtime.born}
        # The parent had begun to use tools: its people decide, and it is told once it runs again.
        await on.chat.seen(room("desk"), "Run it again?")
        notices = [mail.text for mail in await on.inbox("desk") if mail.origin == "system"]
        assert len(notices) == 1
        assert "do not outlive the bridge" in notices[0]
        with pytest.raises(Refused) as refused:
            await on.send(one.made.to, "hello", caller=await person(on))
        assert refused.value.code is Code.SESSION_CLOSED
