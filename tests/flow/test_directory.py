"""The operator's file, and the sessions that come, change and go with it (DESIGN §7)."""

import asyncio

import pytest

from adapters.memory.store import MemoryStore
from bridge import briefing
from bridge.errors import Code, Refused
from bridge.limits import Limits
from bridge.message import Intent, Origin, Outcome, State
from bridge.ports.runtime import Prompt
from bridge.request import Answer
from bridge.session import Kind, Source
from bridge.turn import Failure, FailureKind
from tests.fakes.chat import FakeChat
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import Stage, ident, room, session, stage

CRASH = Limits(stop_grace_s=0)


async def places(on: Stage, handle: str) -> list[str]:
    return [binding.place for binding in await on.store.places(ident(handle))]


async def test_a_session_is_made_changed_closed_and_opened_again_as_the_file_says() -> None:
    store = MemoryStore()
    async with stage(session("career"), store=store) as on:
        made = await store.session(ident("career"))
        assert made is not None
        assert (made.source, made.kind, made.title) == (Source.FILE, Kind.CHAT, "Career")
        await on.say("career", "hello")
        await on.quiet()
    async with stage(session("career", cwd="~/new", tags=("office",)), store=store) as on:
        changed = await store.session(ident("career"))
        assert changed is not None
        assert (changed.cwd, changed.tags, changed.created_at) == ("~/new", ("office",), made.created_at)
        assert changed.alias == "context-1"
    async with stage(store=store) as on:
        closed = await store.session(ident("career"))
        assert closed is not None
        assert closed.closed_at == on.clock.now()
        assert (await on.refused("career")).code is Code.SESSION_CLOSED
        assert await places(on, "career") == []
    async with stage(session("career"), store=store) as on:
        opened = await store.session(ident("career"))
        assert opened is not None
        assert (opened.closed_at, opened.alias) == (None, "context-1")
        assert await places(on, "career") == [room("career")]


async def test_places_move_with_the_file() -> None:
    store = MemoryStore()
    async with stage(session("a", places=(room("x"), room("y"))), session("b", places=()), store=store) as on:
        assert await places(on, "a") == [room("x"), room("y")]
    async with stage(session("a", places=(room("z"),)), session("b", places=(room("x"),)), store=store) as on:
        assert (await places(on, "a"), await places(on, "b")) == ([room("z")], [room("x")])


async def test_the_file_takes_a_place_over_from_a_binding_made_in_chat() -> None:
    store = MemoryStore()
    async with stage(session("a"), session("b"), store=store) as on:
        await on.say("x", "/bind a")
        assert room("x") in await places(on, "a")
    async with stage(session("a"), session("b", places=(room("x"),)), store=store) as on:
        assert await places(on, "b") == [room("x")]
        assert room("x") not in await places(on, "a")


async def test_a_session_that_leaves_the_file_returns_its_mail_and_fails_what_it_was_asked() -> None:
    store, chat = MemoryStore(), FakeChat()
    async with stage(session("career"), store=store, chat=chat) as on:
        await on.say("career", "/stop")
        asked = await on.send("career", "a question")
        told = await on.send("career", "by the way", intent=Intent.INFORM)
    async with stage(store=store, chat=chat) as on:
        for sent in (asked, told):
            message = await on.message(sent.message_id)
            assert (message.outcome, (message.reason or "").split(":")[0]) == (Outcome.FAILED, "session_closed")
        assert (await on.request(asked.message_id)).state is Answer.FAILED
        assert {mail.in_reply_to for mail in await on.inbox()} == {asked.message_id, told.message_id}


async def test_a_persons_queued_words_to_a_session_that_closes_are_not_silently_gone() -> None:
    store, chat = MemoryStore(), FakeChat()
    async with stage(session("career"), store=store, chat=chat, limits=CRASH) as on:
        on.runtime.held[ident("career")] = asyncio.Event()
        said = [await on.say("career", "one"), await on.say("career", "two")]
        await on.quiet()
    async with stage(store=store, chat=chat) as on:
        await on.chat.seen(room("career"), "Not done: session_closed: default/career was closed\n“two”")
        assert {(await on.message(one)).outcome for one in said} == {Outcome.FAILED}


async def test_mail_that_a_reader_had_leased_is_returned_too() -> None:
    store = MemoryStore()
    async with stage(session("notes", agent=None), store=store) as on:
        sent = await on.send("notes", "a question", wake=False)
        await on.exchange.inbox(await on.shell("notes"), None, take=True)
        assert (await on.message(sent.message_id)).state is State.LEASED
    async with stage(store=store) as on:
        assert (await on.message(sent.message_id)).outcome is Outcome.FAILED


async def test_the_answer_to_an_asker_that_was_closed_goes_to_its_last_place_and_wakes_nobody() -> None:
    store, chat = MemoryStore(), FakeChat()
    career = session("career")

    async def desk(agent: FakeAgent, prompt: Prompt) -> str:
        await on.tools(agent).send("career", "a question")
        return "asked"

    async def answers(agent: FakeAgent, prompt: Prompt) -> str:
        (mail,) = (await on.tools(agent).receive()).messages

        await on.tools(agent).defer(mail.message_id)
        return "the answer"

    async with stage(session("desk"), career, store=store, chat=chat) as on:
        on.agent("desk", desk)
        on.agent("career", answers)
        await on.say("desk", "ask")
        await on.quiet()
        (request,) = await store.open_requests_of(ident("desk"))
    async with stage(career, store=store, chat=chat) as on:
        closed = await store.request(request.id)
        assert closed is not None
        assert closed.state is Answer.CANCELLED

        async def late(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).reply(request.id, "here at last")
            return ""

        on.agent("career", late)
        await on.say("career", "do answer")
        await on.chat.seen(room("desk"), "career (late): here at last")
        await on.quiet()
        assert {who for who, _ in on.runtime.prompts} == {ident("career")}
    async with stage(session("desk"), career, store=store, chat=chat) as on:
        await on.quiet()
        assert [mail.text for mail in await on.inbox("desk")] == ["here at last"]
        assert on.runtime.prompts == [], "opened again, it is not woken by what came too late"


async def test_what_was_made_at_run_time_stays_and_its_handle_is_never_given_again() -> None:
    store = MemoryStore()
    async with stage(store=store, confirm_in_chat=False) as on:
        person = await on.shell(origin=Origin.USER)
        view = await on.exchange.new_session(person, "research", "fake", "~/work", room("research"), "Research")
        assert (view.id, view.title, view.places) == (ident("research"), "Research", (room("research"),))
    async with stage(store=store) as on:
        assert await places(on, "research") == [room("research")]
        with pytest.raises(Refused) as refused:
            await on.exchange.new_session(await on.shell(origin=Origin.USER), "research", "fake", None, None, None)
        assert refused.value.code is Code.INVALID_REQUEST
        await on.say("research", "hello")
        await on.quiet()
        assert [who for who, _ in on.runtime.prompts] == [ident("research")]


@pytest.mark.parametrize("confirm", [True, False])
@pytest.mark.parametrize(
    ("handle", "agent", "place", "reason"),
    [
        ("No Handle", "fake", None, "is no handle"),
        ("x" * 64, "fake", None, "is no handle"),
        ("fine", "missing", None, "no agent named 'missing' is configured"),
        ("fine", "fake", "nowhere", "is no place"),
        ("shell", None, None, "exists"),
    ],
)
async def test_a_session_that_cannot_be_made_is_refused_with_its_reason(
    handle: str, agent: str | None, place: str | None, reason: str, confirm: bool
) -> None:
    async with stage(confirm_in_chat=confirm) as on:
        with pytest.raises(Refused, match=reason) as refused:
            await on.exchange.new_session(await on.shell(origin=Origin.USER), handle, agent, None, place, None)
        assert refused.value.code is Code.INVALID_REQUEST
        assert await on.store.session(ident("fine")) is None


async def test_an_agent_makes_no_sessions_and_a_place_of_the_file_is_not_taken() -> None:
    async with stage(session("career")) as on:
        await on.say("career", "hello")
        await on.quiet()
        agent = await on.tools(on.runtime.agents[0]).caller()
        for caller, place in ((agent, None), (await on.shell(origin=Origin.USER), room("career"))):
            with pytest.raises(Refused) as refused:
                await on.exchange.new_session(caller, "mine", "fake", None, place, None)
            assert refused.value.code is Code.NOT_PERMITTED
        assert await on.store.session(ident("mine")) is None


async def test_a_title_that_two_sessions_share_is_refused_with_the_choices() -> None:
    async with stage(confirm_in_chat=False) as on:
        person = await on.shell(origin=Origin.USER)
        for handle in ("one", "two"):
            await on.exchange.new_session(person, handle, None, None, None, "Research")
        assert (await on.exchange.directory.find("@one")).id == ident("one")
        with pytest.raises(Refused) as refused:
            await on.exchange.directory.find("research")
        assert refused.value.remedy == "Choose: default/one, default/two"
        with pytest.raises(Refused) as unknown:
            await on.exchange.directory.find("nobody")
        assert unknown.value.code is Code.UNKNOWN_SESSION


async def test_a_long_list_of_sessions_is_paged_without_gap_or_repetition() -> None:
    async with stage(*[session(f"w-{number}") for number in range(5)]) as on:
        person = await on.shell(origin=Origin.USER)
        seen: list[str] = []
        cursor: str | None = None
        while True:
            views, cursor = await on.exchange.sessions(person, False, 2, cursor)
            seen.extend(view.id for view in views)
            if cursor is None:
                break
        assert seen == [ident("shell"), *[ident(f"w-{number}") for number in range(5)]]
        assert await on.exchange.sessions(person, False, 2, "default/zz") == ([], None)


async def test_a_paused_session_that_was_made_at_run_time_is_tried_again_by_a_new_bridge() -> None:
    store = MemoryStore()
    async with stage(store=store, confirm_in_chat=False) as on:
        on.runtime.failing[ident("made")] = Failure(FailureKind.CONFIG, "no such command")
        await on.exchange.new_session(await on.shell(origin=Origin.USER), "made", "fake", None, None, None)
        await on.send("made", "hello")
        await on.quiet()
        paused = await store.session(ident("made"))
        assert paused is not None
        assert paused.paused == "no such command"
    async with stage(store=store) as on:
        await on.quiet()
        assert [prompt.notice for _, prompt in on.runtime.prompts] == [briefing.MAIL_NOTICE, briefing.MAIL_NOTICE_AGAIN]
