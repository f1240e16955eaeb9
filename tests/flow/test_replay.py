"""A turn that was lost with its bridge runs again only where its agent's own history proves that it did nothing
(invariant 5)."""

import asyncio
from collections.abc import Callable

import pytest

from bridge import briefing
from bridge.history import Called, History, digest
from bridge.message import Origin, Outcome, State
from bridge.ports.runtime import Prompt, Result, ToolBegun
from bridge.request import Answer
from bridge.turn import Failure, FailureKind
from tests.fakes.runtime import FakeAgent, FakeRuntime
from tests.flow.stage import ident, room
from tests.flow.test_recovery import World, hanging, working

CAREER = ident("career")
RECEIVED = Called("mcp__tieline__peer_receive", reading=True)
BASH = Called("bash", reading=False)
MAIL = digest([briefing.MAIL_NOTICE])
CONTINUED = f"{briefing.CONTINUATION_NOTICE}\n{briefing.MAIL_NOTICE}"


def showing(*prompts: str, calls: tuple[Called, ...] = ()) -> FakeRuntime:
    """A runtime whose agent of Career replays that."""
    return FakeRuntime(histories={CAREER: History(prompts, calls)})


async def lost(world: World, *, read: bool = True) -> str:
    """Mail over which the bridge dies in the middle of a turn."""
    async with world.bridge() as on:
        on.agent("career", hanging(on, read=read))
        sent = await on.send("career", "look it up")
        await on.quiet()
    return sent.message_id


@pytest.mark.parametrize(("read", "calls"), [(True, (RECEIVED,)), (False, ()), (False, (RECEIVED,))])
async def test_a_turn_that_had_only_read_is_tried_again_by_itself(read: bool, calls: tuple[Called, ...]) -> None:
    world = World()
    sent = await lost(world, read=read)
    async with world.bridge(showing(MAIL, calls=calls)) as on:
        on.agent("career", working(on))
        await on.quiet()
        assert [prompt.notice for _, prompt in on.runtime.prompts] == [CONTINUED]
        assert (await on.request(sent)).state is Answer.ANSWERED
        assert (await on.message(sent)).attempts == 1
        assert len(on.runtime.launches) == 1, "the agent that was asked runs the turn"
        assert not any("Run it again?" in text for text in on.chat.texts(room("career")))


async def test_a_persons_words_are_tried_again_with_the_notice_that_they_may_be_known() -> None:
    world = World()
    async with world.bridge() as on:
        on.agent("career", hanging(on, read=False))
        await on.say("career", "what is left?")
        await on.quiet()
    async with world.bridge(showing(digest(["what is left?"]))) as on:
        await on.quiet()
        again = Prompt(words="what is left?", notice=briefing.CONTINUATION_NOTICE)
        assert [prompt for _, prompt in on.runtime.prompts] == [again]


def forgets(runtime: FakeRuntime) -> None:
    runtime.forgotten.add(CAREER)


def fails(runtime: FakeRuntime) -> None:
    runtime.failing[CAREER] = Failure(FailureKind.CRASH, "it has no licence")


def breaks(runtime: FakeRuntime) -> None:
    runtime.defects[CAREER] = RuntimeError("a defect")


@pytest.mark.parametrize(
    ("runtime", "more", "why"),
    [
        (showing(MAIL, calls=(RECEIVED, BASH)), None, "had begun to use a tool (bash)"),
        (showing(MAIL), None, "does not show all that it did"),
        (showing(digest(["earlier"])), None, "does not show for sure"),
        (showing(MAIL, MAIL, calls=(RECEIVED,)), None, "does not show for sure"),
        (showing(), None, "does not show for sure"),
        (showing(MAIL, calls=(RECEIVED,)), forgets, "does not show for sure"),
        (showing(MAIL, calls=(RECEIVED,)), fails, "cannot be asked how far it came (it has no licence)"),
        (showing(MAIL, calls=(RECEIVED,)), breaks, "cannot be asked how far it came"),
    ],
    ids=["acted", "late", "missing", "another", "empty", "forgotten", "failed", "defect"],
)
async def test_in_doubt_the_people_decide(
    runtime: FakeRuntime, more: Callable[[FakeRuntime], None] | None, why: str
) -> None:
    world = World()
    sent = await lost(world)
    if more is not None:
        more(runtime)
    async with world.bridge(runtime) as on:
        await on.chat.seen(room("career"), why)
        assert (await on.message(sent)).state is State.PARKED
        assert on.runtime.prompts == []
        assert "parked" in (await on.inbox())[-1].text


async def test_an_agent_is_not_asked_about_a_turn_of_which_the_store_knows_a_tool() -> None:
    world = World()
    async with world.bridge() as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            assert agent.listener is not None
            await agent.listener.happened(ToolBegun("1", "bash", reading=False))
            await asyncio.Event().wait()
            return ""

        on.agent("career", career)
        sent = await on.send("career", "look it up")
        await on.quiet()
    async with world.bridge(showing(MAIL)) as on:
        await on.quiet()
        assert (await on.message(sent.message_id)).state is State.PARKED
        assert on.runtime.launches == []


async def test_what_makes_the_bridge_itself_die_ends_after_five_attempts_and_all_are_told() -> None:
    world = World()
    sent = await lost(world)
    prompts = [MAIL]
    for _ in range(4):
        async with world.bridge(showing(*prompts, calls=(RECEIVED,))) as on:
            on.agent("career", hanging(on))
            await on.quiet()
            assert len(on.runtime.prompts) == 1
        prompts.append(digest([CONTINUED]))
    async with world.bridge(showing(*prompts, calls=(RECEIVED,))) as on:
        await on.quiet()
        assert on.runtime.prompts == []
        message = await on.message(sent)
        assert (message.outcome, message.attempts) == (Outcome.DEAD, 5)
        assert (await on.request(sent)).state is Answer.FAILED
        assert "5 attempts failed" in (await on.inbox())[-1].text
        await on.chat.seen(room("career"), "is given up after 5 attempts")


async def test_a_bridge_accepts_while_a_slow_agent_is_asked_and_other_sessions_run() -> None:
    world = World()
    sent = await lost(world)
    runtime = showing(MAIL, calls=(RECEIVED,))
    runtime.held[CAREER] = asyncio.Event()
    async with world.bridge(runtime) as on:
        behind = await on.send("career", "second")
        await on.quiet()
        assert (await on.message(sent)).state is State.LEASED
        assert (await on.message(behind.message_id)).state is State.QUEUED
        on.agent("career", working(on))
        runtime.held[CAREER].set()
        await on.quiet()
        assert {(await on.request(one)).state for one in (sent, behind.message_id)} == {Answer.ANSWERED}


async def test_a_bridge_that_dies_while_it_asks_leaves_the_question_to_the_next() -> None:
    world = World()
    sent = await lost(world)
    runtime = showing(MAIL, calls=(RECEIVED,))
    runtime.held[CAREER] = asyncio.Event()
    async with world.bridge(runtime) as on:
        await on.quiet()
        asked = on.runtime.born
    async with world.bridge(showing(MAIL, calls=(RECEIVED,))) as on:
        on.agent("career", working(on))
        await on.quiet()
        assert on.runtime.ended_processes == asked
        assert (await on.request(sent)).state is Answer.ANSWERED
        assert (await on.message(sent)).attempts == 1


async def test_a_stop_outranks_the_question() -> None:
    world = World()
    sent = await lost(world)
    runtime = showing(MAIL, calls=(RECEIVED,))
    runtime.held[CAREER] = asyncio.Event()
    async with world.bridge(runtime) as on:
        await on.quiet()
        await on.say("career", "/stop")
        assert (await on.message(sent)).state is State.PARKED
        assert await world.store.live_turn(CAREER) is None
        await on.chat.seen(room("career"), "stopped by a person")


async def test_mail_that_was_read_beside_a_persons_words_must_show_in_the_history() -> None:
    world = World()
    async with world.bridge() as on:
        on.agent("career", hanging(on))
        aside = await on.send("career", "by the way", wake=False)
        said = await on.say("career", "what is left?")
        await on.quiet()
        assert (await on.message(aside.message_id)).state is State.LEASED
    async with world.bridge(showing(digest(["what is left?"]))) as on:
        await on.quiet()
        assert (await on.message(said)).state is State.PARKED


async def test_what_fails_after_it_was_tried_again_is_counted_together() -> None:
    world = World()
    sent = await lost(world)
    async with world.bridge(showing(MAIL, calls=(RECEIVED,))) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> Result:
            return Result("", "error", Failure(FailureKind.CRASH, "a crash"))

        on.agent("career", career)
        await on.quiet()
        assert (await on.message(sent)).attempts == 2


async def test_a_person_who_asked_from_a_terminal_hears_that_people_must_decide() -> None:
    world = World()
    async with world.bridge() as on:
        on.agent("career", hanging(on, read=False))
        sent = await on.send("career", "look it up", caller=await on.shell(origin=Origin.USER))
        await on.quiet()
    async with world.bridge(showing()) as on:
        await on.quiet()
        assert (await on.message(sent.message_id)).state is State.PARKED
        (told,) = await on.inbox()
        assert (told.in_reply_to, told.origin) == (sent.message_id, "system")
