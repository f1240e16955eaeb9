"""Operators make, name, close and open topics where they are, and nobody else does."""

import asyncio
from dataclasses import replace

import pytest

from adapters.memory.store import MemoryStore
from bridge.caller import Caller
from bridge.errors import Code, Refused
from bridge.flow.commands.command import OVER
from bridge.flow.naming import topic_name
from bridge.flow.work import Work
from bridge.ids import Place
from bridge.message import Origin, Outcome
from bridge.ports.chat import NotDelivered, Renamed
from bridge.ports.runtime import Prompt
from bridge.session import Source, Topic
from tests.fakes.runtime import FakeAgent, FakeRuntime
from tests.flow.stage import USER, Stage, ident, room, session, stage

DESK, OFFICE, MADE = room("desk"), Place("room:office"), Place("room:topic-1")


def texts(on: Stage, place: Place = DESK) -> str:
    return "\n".join(on.chat.texts(place))


async def command(on: Stage, text: str, **more: object) -> str:
    before = len(on.chat.texts(DESK))
    await on.say("desk", text, **more)  # type: ignore[arg-type]
    await on.quiet()
    return "\n".join(on.chat.texts(DESK)[before:])


async def test_a_name_makes_a_topic_a_session_and_its_binding_and_both_places_are_told() -> None:
    async with stage(session("desk", cwd="/srv/desk")) as on:
        said = await command(on, "/new Tax papers 2026")
        assert "Tax papers 2026" in said
        assert "default/tax-papers-2026" in said
        assert "https://room.example/topic-1" in said
        assert on.chat.topics == {MADE: "Tax papers 2026"}
        made = await on.store.session(ident("tax-papers-2026"))
        assert made is not None
        assert (made.title, made.agent, made.cwd, made.source) == (
            "Tax papers 2026",
            "fake",
            "/srv/desk",
            Source.RUNTIME,
        )
        bound = await on.store.binding(MADE)
        assert bound is not None
        assert (bound.session, bound.source) == (made.id, Source.RUNTIME)
        assert bound.topic == Topic("Tax papers 2026", ours=True, named_at=on.clock.now())
        assert "run by fake" in texts(on, MADE)
        assert "https://room.example/desk" in texts(on, MADE)


async def test_what_is_written_in_the_new_topic_is_for_its_session() -> None:
    async with stage(session("desk")) as on:
        await command(on, "/new Taxes")

        async def echo(agent: FakeAgent, prompt: Prompt) -> str:
            return f"taxes heard {prompt.words}"

        on.agent("taxes", echo)
        await on.say("topic-1", "hello")
        await on.quiet()
        assert "taxes heard hello" in texts(on, MADE)
        assert "taxes heard hello" not in texts(on)


async def test_alone_it_gives_a_fresh_context_as_ever() -> None:
    async with stage(session("desk")) as on:
        assert "starts afresh" in await command(on, "/new")
        assert on.chat.topics == {}


async def test_the_same_word_again_makes_nothing_again() -> None:
    async with stage(session("desk")) as on:
        for _ in range(2):
            await on.say("desk", "/new Taxes", key="room:desk:1")
        await on.quiet()
        assert list(on.chat.topics.values()) == ["Taxes"]
        assert len(on.chat.texts(DESK)) == 1


@pytest.mark.parametrize(
    ("text", "name", "agent"),
    [
        ("Taxes helper", "Taxes", "helper"),
        ("helper", "helper", "fake"),
        ('"Ask my helper" helper', "Ask my helper", "helper"),
        ('"Ask my helper"', "Ask my helper", "fake"),
        ("“Steuern”  helper", "Steuern", "helper"),
        ("Käse & Brot", "Käse & Brot", "fake"),
        ('"unclosed helper', '"unclosed', "helper"),
    ],
)
async def test_the_last_word_may_name_an_agent_and_quotes_hold_a_name_together(
    text: str, name: str, agent: str
) -> None:
    async with stage(session("desk")) as on:
        await command(on, f"/new {text}")
        assert list(on.chat.topics.values()) == [name]
        (bound,) = [one for one in await on.store.bindings() if one.place == MADE]
        assert bound.session is not None
        made = await on.store.session(bound.session)
        assert made is not None
        assert made.agent == agent


async def test_handles_are_never_given_again() -> None:
    async with stage(session("desk")) as on:
        for _ in range(2):
            await command(on, "/new Desk")
        await command(on, "/new 東京")
        bound = {one.place: one.session for one in await on.store.bindings()}
        assert bound[MADE] == ident("desk-2")
        assert bound[Place("room:topic-2")] == ident("desk-3")
        assert bound[Place("room:topic-3")] == ident("topic")


async def test_without_a_session_here_the_only_agent_is_taken_else_they_are_listed() -> None:
    runtime = FakeRuntime(configured=("fake", "helper"))
    async with stage(session("career"), runtime=runtime) as on:
        assert "Which agent is to work in “Taxes”?" in await command(on, "/new Taxes")
        assert on.chat.topics == {}
        on.runtime.configured = ("helper",)
        await command(on, "/new Taxes")
        made = await on.store.session(ident("taxes"))
        assert made is not None
        assert made.agent == "helper"


@pytest.mark.parametrize("name", ["Taxes", "Taxes of “2026”", "x" * 128])
async def test_of_several_agents_one_is_picked_and_the_list_becomes_what_came_of_it(name: str) -> None:
    runtime = FakeRuntime(configured=("fake", "helper"))
    store = MemoryStore()
    async with stage(session("career"), runtime=runtime, store=store) as on:
        await command(on, f"/new {name}")
    async with stage(session("career"), runtime=runtime, store=store, chat=on.chat) as on:
        assert "Type /new yourself" in await on.press("desk", "helper", USER)
        with pytest.raises(AssertionError):
            await on.press("desk", "nobody")
        assert await on.press("desk", "helper") == "helper"
        await on.quiet()
        assert on.chat.topics == {MADE: name}
        bound = await on.store.binding(MADE)
        made = await on.store.session(bound.session) if bound and bound.session else None
        assert made is not None
        assert (made.title, made.agent) == (name, "helper")
        (said,) = on.chat.texts(DESK)
        assert "https://room.example/topic-1" in said
        with pytest.raises(AssertionError):
            await on.press("desk", "helper")


async def test_of_an_agent_that_is_gone_by_then_and_of_a_topic_that_cannot_be_made_the_list_tells() -> None:
    runtime = FakeRuntime(configured=("fake", "helper"))
    async with stage(session("career"), runtime=runtime) as on:
        await command(on, "/new Taxes")
        runtime.configured = ("fake", "other")
        assert await on.press("desk", "helper") == OVER
        await on.quiet()
        assert on.chat.texts(DESK) == ["That agent is not there any more."]
        await command(on, "/new Rents")
        on.chat.refuses = lambda deed: NotDelivered("no right")
        await on.press("desk", "other")
        await on.quiet()
        assert "no topic was made: no right" in on.chat.texts(DESK)[-1]


async def test_an_emoji_of_several_is_a_name() -> None:
    async with stage(session("desk")) as on:
        assert "Made: 👩‍💻 Work" in await command(on, "/new 👩‍💻 Work")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('/new "Taxes" nobody', "there is no agent nobody"),
        (f"/new {'x' * 129}", "the name has 129 characters"),
        ('/new " "', "the name has 0 characters"),
        ("/new a\x07b", "cannot be shown"),
        ("/new a\u202eb", "cannot be shown"),
        ("/new \u200d", "the name has 1 characters"),
    ],
)
async def test_what_cannot_be_is_refused_before_anything_is_made(text: str, said: str) -> None:
    async with stage(session("desk")) as on:
        assert said in await command(on, text)
        assert on.chat.topics == {}
        assert [one.place for one in await on.store.bindings()] == [DESK]


async def test_what_the_chat_refuses_is_told_and_nothing_is_made() -> None:
    async with stage(session("desk")) as on:
        on.chat.refuses = lambda deed: NotDelivered("the bot may not manage topics: make it an administrator")
        assert "the bot may not manage topics" in await command(on, "/new Taxes")
        assert await on.store.session(ident("taxes")) is None
        on.chat.refuses = lambda deed: NotDelivered("too many", retry_at=on.clock.now() + 5)
        assert "no topic can be made now" in await command(on, "/new Taxes")


async def test_it_is_for_operators() -> None:
    async with stage(session("desk")) as on:
        for text in ("/new Taxes", "/rename Taxes", "/close", "/reopen"):
            assert "for operators" in await command(on, text, person=USER)
        assert on.chat.topics == {}


async def test_a_bridge_that_dies_before_it_could_store_the_topic_makes_one_that_is_whole() -> None:
    async with stage(session("desk")) as on:
        real, opened = on.chat.open_topic, asyncio.Event()

        async def dies(near: Place, name: str) -> Place:
            await real(near, name)
            opened.set()
            await asyncio.Event().wait()
            raise AssertionError

        on.chat.open_topic = dies  # type: ignore[method-assign]
        lost = asyncio.create_task(on.say("desk", "/new Taxes", key="room:desk:1"))
        await opened.wait()
        lost.cancel()
        await asyncio.wait([lost])
        on.chat.open_topic = real  # type: ignore[method-assign]
        await on.say("desk", "/new Taxes", key="room:desk:1")
        await on.quiet()
        assert [one.place for one in await on.store.places(ident("taxes"))] == [Place("room:topic-2")]
        assert await on.store.binding(MADE) is None


# Names


async def test_a_topic_that_the_bridge_has_named_follows_the_title_at_its_pace() -> None:
    async with stage(session("desk")) as on:
        await command(on, "/new Taxes")

        async def retitle(title: str) -> None:
            async def put(work: Work) -> None:
                now = await work.session(ident("taxes"))
                assert now is not None
                work.put(replace(now, title=title))

            await on.exchange.inbound._ledger.do(put)
            on.exchange._naming.look()
            await on.quiet()

        await retitle("Papers")
        await retitle("Paperwork")
        assert on.chat.renamed == []
        await on.clock.advance(301)
        await on.quiet()
        assert on.chat.renamed == [(MADE, "Paperwork")]
        await retitle("More")
        assert len(on.chat.renamed) == 1
        await on.clock.advance(301)
        await on.quiet()
        assert on.chat.renamed[1:] == [(MADE, "More")]


async def test_a_name_that_people_gave_is_not_taken_back() -> None:
    async with stage(session("desk")) as on:
        await command(on, "/new Taxes")
        await on.exchange.inbound.happened(Renamed(MADE, "My papers"))
        on.exchange._naming.look()
        await on.clock.advance(1_000)
        await on.quiet()
        assert on.chat.renamed == []
        bound = await on.store.binding(MADE)
        assert bound is not None
        assert bound.topic == Topic("My papers")


async def test_rename_gives_the_topic_and_the_session_another_name() -> None:
    async with stage(session("desk")) as on:
        await command(on, "/new Taxes")
        await on.say("topic-1", "/rename Tax papers")
        await on.quiet()
        taxes = await on.store.session(ident("taxes"))
        assert taxes is not None
        assert taxes.title == "Tax papers"
        assert on.chat.renamed == [(MADE, "Tax papers")]
        assert "called Tax papers now" in texts(on, MADE)
        await on.clock.advance(1_000)
        assert len(on.chat.renamed) == 1


async def test_rename_leaves_the_title_that_the_file_has() -> None:
    async with stage(session("desk")) as on:
        assert "keeps its title" in await command(on, "/rename Reception")
        assert on.chat.renamed == [(DESK, "Reception")]
        on.chat.refuses = lambda deed: NotDelivered("this is no topic of its own")
        said = await command(on, "/rename Hall")
        assert "that of tieline.toml" in said
        desk = await on.store.session(ident("desk"))
        assert desk is not None
        assert desk.title == "Desk"


def test_a_title_as_a_name_is_one_line_and_never_too_long() -> None:
    assert topic_name("  a\n b ") == "a b"
    assert len(topic_name("x" * 500)) == 128
    assert topic_name(" \n ") == "Session"


# Closing


async def test_close_returns_the_mail_and_closes_the_topic_once_that_is_told() -> None:
    async with stage(session("desk")) as on:
        await command(on, "/new Taxes")
        kept = await on.send("taxes", "a question", wake=False)
        await on.say("topic-1", "/close")
        await on.quiet()
        assert "is closed" in texts(on, MADE)
        assert on.chat.closed == {MADE}
        message = await on.message(kept.message_id)
        assert message.outcome is Outcome.FAILED
        refused = await on.refused("taxes", "another")
        assert refused.code is Code.SESSION_CLOSED
        await on.say("topic-1", "/reopen")
        await on.quiet()
        assert on.chat.closed == set()
        await on.send("taxes", "another")


async def test_close_ends_the_turn_that_runs() -> None:
    async with stage(session("desk")) as on:
        await command(on, "/new Taxes")

        async def endless(agent: FakeAgent, prompt: Prompt) -> str:
            await asyncio.Event().wait()
            return "never"

        on.agent("taxes", endless)
        await on.say("topic-1", "work")
        await on.quiet()
        await on.say("topic-1", "/close")
        await on.quiet()
        assert await on.store.live_turn(ident("taxes")) is None


async def test_a_session_of_the_file_is_not_closed_from_a_chat() -> None:
    async with stage(session("desk")) as on:
        assert "one of tieline.toml" in await command(on, "/close")
        assert on.chat.closed == set()


async def test_reopening_what_is_open_says_so() -> None:
    async with stage(session("desk")) as on:
        assert "was not closed" in await command(on, "/reopen")


# From a shell


async def person(on: Stage) -> Caller:
    return await on.shell(origin=Origin.USER)


async def test_a_session_made_in_a_shell_gets_a_topic_in_the_only_chat_that_has_some() -> None:
    async with stage(session("desk"), confirm_in_chat=False) as on:
        on.chat.chats = [Place("room:forum")]
        view = await on.exchange.new_session(await person(on), "taxes", "fake", None, None, "Tax papers", topic="")
        await on.quiet()
        assert view.places == (MADE,)
        assert on.chat.topics == {MADE: "Tax papers"}
        assert "default/taxes" in texts(on, MADE)


async def test_made_again_by_the_same_key_it_gets_no_second_topic() -> None:
    async with stage(session("desk"), confirm_in_chat=False) as on:
        for _ in range(2):
            await on.exchange.new_session(
                await person(on), "taxes", "fake", None, None, None, key="once", topic="room:forum"
            )
        assert len(on.chat.topics) == 1


@pytest.mark.parametrize("chats", [[], ["room:one", "room:two"]])
async def test_which_chat_is_meant_must_be_clear(chats: list[str]) -> None:
    async with stage(session("desk"), confirm_in_chat=False) as on:
        on.chat.chats = [Place(one) for one in chats]
        with pytest.raises(Refused, match=", ".join(chats) or "no chat") as refused:
            await on.exchange.make_topic(await person(on), "desk", None)
        assert refused.value.code is Code.INVALID_REQUEST
        made = await on.exchange.make_topic(await person(on), "desk", "room:two")
        assert (made.place, made.link) == (MADE, "https://room.example/topic-1")
        assert [one.place for one in await on.store.places(ident("desk"))] == [DESK, MADE]


async def test_it_waits_for_an_operators_word_and_is_made_then() -> None:
    async with stage(session("desk")) as on:
        view = await on.exchange.new_session(await person(on), "taxes", "fake", None, None, None, topic="room:forum")
        await on.quiet()
        assert view.waits_for == (OFFICE,)
        assert "topic: a new one in the chat of room:forum" in texts(on, OFFICE)
        assert on.chat.topics == {}
        await on.press("office", "Accept")
        await on.quiet()
        assert on.chat.topics == {MADE: "taxes"}
        again = await on.exchange.make_topic(await person(on), "taxes", "room:forum")
        await on.quiet()
        assert (again.place, again.waits_for) == (None, (OFFICE,))
        await on.press("office", "Accept")
        await on.quiet()
        assert [one.place for one in await on.store.places(ident("taxes"))] == [MADE, Place("room:topic-2")]


async def test_what_comes_in_between_is_told_to_the_operators() -> None:
    async with stage(session("desk")) as on:
        await on.exchange.make_topic(await person(on), "desk", "room:forum")
        await on.quiet()
        on.chat.refuses = lambda deed: NotDelivered("the bot may not manage topics")
        await on.press("office", "Accept")
        await on.quiet()
        assert "default/desk has no topic: no topic was made: the bot may not manage topics" in texts(on, OFFICE)
