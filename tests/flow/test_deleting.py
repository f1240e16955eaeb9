"""A topic that its people delete goes once, with its session, and is never made anew."""

import asyncio

from adapters.memory.store import MemoryStore
from bridge.decision import Effect
from bridge.errors import Code
from bridge.flow.commands.command import OVER
from bridge.flow.showing import show
from bridge.ids import Place
from bridge.message import Outcome
from bridge.ports.chat import Gone, NotDelivered, Pressed
from bridge.ports.runtime import Prompt
from bridge.post import PostKind
from tests.fakes.chat import FakeChat
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import OPERATOR, USER, Stage, ident, room, rule, session, stage

MADE = room("topic-1")
OFFICE = Place("room:office")
ASKED = "Delete this topic"


def texts(on: Stage, place: Place = MADE) -> str:
    return "\n".join(on.chat.texts(place))


async def asked(on: Stage) -> str:
    await on.say("desk", "/new Taxes")
    await on.quiet()
    await on.say("topic-1", "/delete")
    return (await on.chat.seen(MADE, ASKED)).text


async def pressed(on: Stage, label: str = "Delete it") -> str:
    said = await on.press("topic-1", label)
    await on.quiet()
    return said


async def test_it_goes_with_its_session_once_that_is_confirmed() -> None:
    async with stage(session("desk")) as on:
        assert "Taxes (default/taxes) is closed, and its mail is returned." in await asked(on)
        kept = await on.send("taxes", "a question", wake=False)
        assert on.chat.topics == {MADE: "Taxes"}
        await pressed(on)
        assert on.chat.topics == {}
        assert "is being deleted" in texts(on)
        taxes = await on.store.session(ident("taxes"))
        assert taxes is not None
        assert taxes.closed_at is not None
        assert (await on.message(kept.message_id)).outcome is Outcome.FAILED
        assert await on.store.places(ident("taxes")) == []
        assert on.chat.texts(OFFICE) == []


async def test_what_is_still_to_be_shown_there_makes_no_other_topic() -> None:
    async with stage(session("desk")) as on:
        await asked(on)
        asks = next(one for one in on.chat.posts.values() if ASKED in one.text)
        await on.send("taxes", "a question", wake=False)
        await on.quiet()
        on.chat.fault = lambda post: NotDelivered("busy", retry_at=2e9) if post.key != asks.key else None
        await pressed(on)
        assert on.chat.topics == {}
        assert [one for one in await on.store.pending_posts("room") if one.place == MADE] == []
        assert on.chat.texts(OFFICE) == []


async def test_it_stays_where_it_is_left() -> None:
    async with stage(session("desk")) as on:
        await asked(on)
        assert await pressed(on, "Leave it") == "The topic stays."
        assert on.chat.topics == {MADE: "Taxes"}
        taxes = await on.store.session(ident("taxes"))
        assert taxes is not None
        assert taxes.closed_at is None


async def test_what_is_lost_with_it_is_told_before() -> None:
    async with stage(session("desk")) as on:
        await on.say("desk", "/new Taxes")
        await on.quiet()

        async def endless(agent: FakeAgent, prompt: Prompt) -> str:
            await asyncio.Event().wait()
            return "never"

        on.agent("taxes", endless)
        await on.say("topic-1", "work")
        await on.say("topic-1", "and then")
        await on.quiet()
        await on.say("topic-1", "/delete")
        asks = (await on.chat.seen(MADE, ASKED)).text
        assert "its mail (1 message in line) is returned. It is at work, and is stopped." in asks
        await pressed(on)
        assert await on.store.live_turn(ident("taxes")) is None
        assert on.chat.topics == {}


async def test_only_an_operator_asks_for_it_and_confirms_it() -> None:
    async with stage(session("desk")) as on:
        await asked(on)
        assert "only an operator" in await on.press("topic-1", "Delete it", USER)
        await on.say("topic-1", "/delete", USER)
        await on.chat.seen(MADE, "/delete is for operators")
        assert on.chat.topics == {MADE: "Taxes"}


async def test_a_session_with_another_place_goes_on_there() -> None:
    async with stage(session("desk"), session("lobby")) as on:
        await on.say("desk", "/new Taxes")
        await on.quiet()
        await on.say("hall", "/bind taxes")
        await on.quiet()
        await on.say("topic-1", "/delete")
        assert "Taxes (default/taxes) goes on at room:hall." in (await on.chat.seen(MADE, ASKED)).text
        await pressed(on)
        assert on.chat.topics == {}
        assert [one.place for one in await on.store.places(ident("taxes"))] == [room("hall")]
        assert (await on.send("taxes", "hello", wake=False)).state == "queued"


async def test_a_session_of_the_file_keeps_its_topic() -> None:
    async with stage(session("desk")) as on:
        on.chat.topics[room("desk")] = "Desk"
        await on.say("desk", "/delete")
        await on.chat.seen(room("desk"), "default/desk is one of tieline.toml")


async def test_what_is_no_topic_is_not_deleted() -> None:
    async with stage(session("desk")) as on:
        await on.say("desk", "/delete")
        await on.chat.seen(room("desk"), "this is no topic of its own")


async def test_what_the_chat_refuses_is_told_and_can_be_said_again() -> None:
    async with stage(session("desk")) as on:
        await asked(on)
        on.chat.refuses = lambda deed: NotDelivered("give the bot the right to delete messages")
        await pressed(on)
        assert "could not be deleted: give the bot the right to delete messages." in texts(on)
        assert (await on.refused("taxes")).code is Code.SESSION_CLOSED
        on.chat.refuses = lambda deed: None
        await on.say("topic-1", "/delete")
        assert "is closed already" in (await on.chat.seen(MADE, "closed already")).text
        await pressed(on)
        assert on.chat.topics == {}


async def test_one_that_people_have_deleted_meanwhile_is_gone_all_the_same() -> None:
    async with stage(session("desk")) as on:
        await asked(on)
        on.chat.refuses = lambda deed: Gone("the topic was deleted") if deed == "delete" else None
        await pressed(on)
        assert await on.store.places(ident("taxes")) == []


async def test_an_old_button_does_nothing() -> None:
    async with stage(session("desk")) as on:
        await asked(on)
        [asks] = [one for one in on.chat.posts.values() if ASKED in one.text]
        button = Pressed(MADE, OPERATOR, asks.buttons[0].action, on.chat.receipts[asks.key])
        await pressed(on, "Leave it")
        assert await on.exchange.inbound.press(button) == OVER
        await on.quiet()
        assert on.chat.topics == {MADE: "Taxes"}


async def test_a_bridge_that_dies_before_it_is_done_leaves_a_topic_that_can_go_still() -> None:
    async with stage(session("desk")) as on:
        await asked(on)
        on.chat.refuses = lambda deed: asyncio.CancelledError() if deed == "delete" else None
        await pressed(on)
        assert on.chat.topics == {MADE: "Taxes"}
        assert (await on.refused("taxes")).code is Code.SESSION_CLOSED
        on.chat.refuses = lambda deed: None
        await on.say("topic-1", "/delete")
        await on.chat.seen(MADE, "closed already")
        await pressed(on)
        assert on.chat.topics == {}


def dies(deed: str) -> BaseException | None:
    return asyncio.CancelledError() if deed == "delete" else None


async def test_the_next_bridge_goes_on_with_it() -> None:
    store, chat = MemoryStore(), FakeChat()
    async with stage(session("desk"), store=store, chat=chat) as on:
        await asked(on)
        chat.refuses = dies
        await pressed(on)
        assert chat.topics == {MADE: "Taxes"}
    chat.refuses = lambda deed: None
    async with stage(session("desk"), store=store, chat=chat) as on:
        await on.quiet()
        assert chat.topics == {}
    async with stage(session("desk"), store=store, chat=chat) as on:
        await on.quiet()
        assert [binding.place for binding in await store.bindings() if binding.gone_at is not None] == [MADE]


async def test_none_is_made_in_the_stead_of_one_that_is_to_go_where_its_session_goes_on_elsewhere() -> None:
    store, chat = MemoryStore(), FakeChat()
    sessions = (session("desk"), session("lobby"))
    async with stage(*sessions, store=store, chat=chat) as on:
        await on.say("desk", "/new Taxes")
        await on.quiet()
        await on.say("hall", "/bind taxes")
        await on.quiet()
        await on.say("topic-1", "/delete")
        await on.chat.seen(MADE, ASKED)
        chat.refuses = dies
        await pressed(on)
        chat.topics.clear()  # it was done, and nobody lived to hear that
        chat.fault = lambda post: Gone("the topic was deleted") if post.place == MADE else None
        await on.exchange.inbound._ledger.do(lambda work: show(work, "late", MADE, PostKind.FINAL, "the end"))
        await on.quiet()
        assert chat.topics == {}
    chat.refuses = lambda deed: Gone("the topic was deleted") if deed == "delete" else None
    async with stage(*sessions, store=store, chat=chat) as on:
        await on.quiet()
        assert [one.place for one in await store.places(ident("taxes"))] == [room("hall")]
    assert chat.topics == {}


async def test_what_the_chat_takes_later_only_is_tried_again() -> None:
    async with stage(session("desk")) as on:
        await asked(on)
        later = NotDelivered("too many requests", retry_at=on.clock.now() + 20)
        on.chat.refuses = lambda deed: later if deed == "delete" else None
        await pressed(on)
        await on.clock.advance(19)
        assert "is being deleted" in texts(on)
        on.chat.refuses = lambda deed: None
        await on.clock.advance(2)
        await on.quiet()
        assert on.chat.topics == {}


async def test_what_is_not_approved_yet_is_counted() -> None:
    rules = [rule("default/shell", "default/taxes", effect=Effect.ASK), rule("*", "*")]
    async with stage(session("desk"), rules=rules) as on:
        await on.say("desk", "/new Taxes")
        await on.quiet()
        held = [await on.send("taxes", f"question {number}", wake=False) for number in range(2)]
        await on.say("topic-1", "/delete")
        asks = (await on.chat.seen(MADE, ASKED)).text
        assert "its mail (2 messages not approved yet) is returned." in asks
        await pressed(on)
        assert [(await on.message(one.message_id)).outcome for one in held] == [Outcome.FAILED] * 2
