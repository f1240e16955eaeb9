"""The life of a topic from end to end: the core, its store and the adapter, against the Bot API."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from adapters.memory.store import MemoryStore
from adapters.telegram.chat import TelegramChat
from adapters.telegram.joining import NEAR_UNITS
from bridge.flow import showing
from bridge.flow.exchange import Exchange
from bridge.ids import Place
from bridge.limits import Limits
from bridge.move import Why
from bridge.ports.runtime import Prompt
from bridge.ports.store import Store
from bridge.post import PostKind
from bridge.session import Declared, Kind
from policy.decide import Rules
from tests.adapters.telegram.stage import (
    DESK,
    DESK_PLACE,
    FORUM,
    OPERATOR,
    USER,
    LateClock,
    chat_for,
)
from tests.fakes.bot_api import BotApi
from tests.fakes.bot_api.server import Fault
from tests.fakes.bot_api.world import Sent
from tests.fakes.runtime import FakeAgent, FakeRuntime
from tests.flow.stage import ident, rule

GROUP, SUPER = -555, -1009876543210
GROUP_PLACE, SUPER_PLACE = Place(f"telegram:{GROUP}"), Place(f"telegram:{SUPER}")


@pytest.fixture
def clock() -> LateClock:
    return LateClock()


def session(handle: str, *places: Place) -> Declared:
    return Declared(ident(handle), handle.title(), Kind.CHAT, agent="fake", places=places)


@asynccontextmanager
async def bridge(
    api: BotApi, clock: LateClock, store: Store, *sessions: Declared, runtime: FakeRuntime | None = None
) -> AsyncIterator[Exchange]:
    """One life of a bridge. Give the same store again to act a restart."""
    moves = await store.moves()
    chat: TelegramChat = chat_for(api, clock, chats=frozenset({FORUM, GROUP}), moves=moves)
    exchange = Exchange(
        profile="default",
        version="test",
        pid=1,
        store=store,
        store_name="memory",
        policy=Rules([rule("*", "*")]),
        runtime=runtime or FakeRuntime(),
        chats={chat.scheme: chat},
        clock=clock,
        randomness=random.Random(len(api.requests)),
        limits=Limits(stop_grace_s=0.05),
        tools={},
    )
    async with exchange:
        await exchange.start(sessions)
        await exchange.begin()
        running = asyncio.create_task(chat.run(exchange.inbound, exchange.menu))
        await api.until(lambda: api.updates.polling)
        yield exchange
        running.cancel()
        await asyncio.wait([running])
        await exchange.drain()


async def show(on: Exchange, place: Place, *texts: str) -> None:
    for text in texts:
        await on.inbound._ledger.do(lambda work, text=text: showing.show(work, text, place, PostKind.FINAL, text))  # type: ignore[misc]


def made_by_bot(api: BotApi) -> list[str]:
    return [topic.name for topic in api.room(FORUM).topics.values() if topic.by_bot]


def texts(api: BotApi, chat: int, thread: int | None) -> list[str]:
    return [sent.text for sent in api.sent(chat, thread)]


async def seen(api: BotApi, text: str) -> Sent:
    return await api.seen(lambda sent: text in sent.text)


@pytest.fixture
def store() -> Store:
    return MemoryStore()


async def test_a_deleted_topic_is_made_again_with_its_name_and_holds_over_a_restart(
    api: BotApi, clock: LateClock, store: Store
) -> None:
    desk = session("desk", DESK_PLACE)
    async with bridge(api, clock, store, desk) as on:
        api.say("hello", user=USER, chat=FORUM, thread=DESK)
        await on.inbound._ledger.store.binding(DESK_PLACE)
        api.delete_topic(FORUM, DESK)
        await show(on, DESK_PLACE, "final one", "final two")
        made = (await seen(api, "final two")).thread
        assert made not in (None, DESK)
        assert api._world.rooms[FORUM].topics[made or 0].name in ("Front Desk", "Desk")
        shown = texts(api, FORUM, made)
        assert shown.index("final one") < shown.index("final two")
    async with bridge(api, clock, store, desk) as on:
        await show(on, DESK_PLACE, "final three")
        assert (await seen(api, "final three")).thread == made
        assert [one.place for one in await store.places(desk.id)] == [Place(f"telegram:{FORUM}/{made}")]
        assert [move.why for move in await store.moves()] == [Why.RECREATED]
    assert len(api.calls("createForumTopic")) == 1
    assert texts(api, FORUM, None) == []


async def test_what_waits_as_a_topic_is_made_anew_reaches_its_session_before_what_is_said_in_that(
    api: BotApi, clock: LateClock, store: Store
) -> None:
    read, all_read = [], asyncio.Event()

    async def reading(agent: FakeAgent, prompt: Prompt) -> str:
        read.append(prompt.words or "")
        if "later" in read[-1]:
            all_read.set()
        return "read"

    runtime = FakeRuntime(of_agents={"fake": reading})
    async with bridge(api, clock, store, session("desk", DESK_PLACE), runtime=runtime) as on:
        api.say("x" * NEAR_UNITS, user=USER, chat=FORUM, thread=DESK)  # it may go on, and is waited for
        await api.until(lambda: not api.updates.pending)
        api.delete_topic(FORUM, DESK)
        await show(on, DESK_PLACE, "final one")
        made = (await seen(api, "final one")).thread
        api.say("later", user=USER, chat=FORUM, thread=made)
        async with asyncio.timeout(5):
            await all_read.wait()
    assert "".join(read).startswith("x")


async def test_a_bridge_that_dies_as_it_makes_a_topic_anew_makes_no_second_one(
    api: BotApi, clock: LateClock, store: Store
) -> None:
    desk = session("desk", DESK_PLACE)
    async with bridge(api, clock, store, desk) as on:
        api.delete_topic(FORUM, DESK)
        api.fail("createForumTopic", Fault.SLOW_AFTER)
        await show(on, DESK_PLACE, "final one")
        await api.until(lambda: bool(made_by_bot(api)))
    async with bridge(api, clock, store, desk):
        await seen(api, "final one")
    assert made_by_bot(api) == ["Desk"]


async def test_a_bridge_that_dies_as_a_topic_is_asked_for_makes_no_second_one(
    api: BotApi, clock: LateClock, store: Store
) -> None:
    desk = session("desk", DESK_PLACE)
    async with bridge(api, clock, store, desk):
        api.fail("createForumTopic", Fault.SLOW_AFTER)
        api.say("/new Tax papers", user=OPERATOR, chat=FORUM, thread=DESK)
        await api.until(lambda: bool(made_by_bot(api)))
    assert await store.session(ident("tax-papers")) is None
    async with bridge(api, clock, store, desk):
        begun = await seen(api, "run by fake")
        await seen(api, "Made: Tax papers")
    assert made_by_bot(api) == ["Tax papers"]
    assert [one.place for one in await store.places(ident("tax-papers"))] == [Place(f"telegram:{FORUM}/{begun.thread}")]


async def test_one_that_is_deleted_again_is_reported_and_not_made_for_ever(
    api: BotApi, clock: LateClock, store: Store
) -> None:
    async with bridge(api, clock, store, session("desk", DESK_PLACE)) as on:
        api.say("hello", user=OPERATOR)
        api.delete_topic(FORUM, DESK)
        await show(on, DESK_PLACE, "final one")
        made = (await seen(api, "final one")).thread
        api.delete_topic(FORUM, made or 0)
        await show(on, DESK_PLACE, "final two", "final three")
        report = await seen(api, "bind default/desk elsewhere")
        assert (report.chat, report.thread) == (OPERATOR, None)
    assert len(api.calls("createForumTopic")) == 1
    assert not any(sent.text in ("final two", "final three") for sent in api.history)


async def test_without_the_right_to_make_topics_operators_are_told_which_is_missing(
    api: BotApi, clock: LateClock, store: Store
) -> None:
    api.member(FORUM, api.bot, "administrator", can_manage_topics=False)
    async with bridge(api, clock, store, session("desk", DESK_PLACE)) as on:
        api.say("hello", user=OPERATOR)
        api.delete_topic(FORUM, DESK)
        await show(on, DESK_PLACE, "final one")
        assert (await seen(api, "the right to manage topics")).chat == OPERATOR


async def test_a_closed_topic_that_the_bot_may_not_open_keeps_its_posts_until_a_person_opens_it(
    api: BotApi, clock: LateClock, store: Store
) -> None:
    api.member(FORUM, api.bot, "member")
    async with bridge(api, clock, store, session("desk", DESK_PLACE)) as on:
        api.say("hello", user=OPERATOR)
        api.close_topic(FORUM, DESK, user=OPERATOR)
        await show(on, DESK_PLACE, "final one", "final two")
        assert (await seen(api, "the topic is closed: open it again")).chat == OPERATOR
        assert texts(api, FORUM, DESK) == []
        api.reopen_topic(FORUM, DESK, user=OPERATOR)
        await seen(api, "final two")
        assert texts(api, FORUM, DESK) == ["final one", "final two"]
    assert sum("open it again" in sent.text for sent in api.history) == 1


async def test_posts_for_topics_that_are_switched_off_are_kept_and_never_go_to_the_chat(
    api: BotApi, clock: LateClock, store: Store
) -> None:
    async with bridge(api, clock, store, session("desk", DESK_PLACE)) as on:
        api.say("hello", user=OPERATOR)
        api.switch_topics(FORUM, on=False)
        await show(on, DESK_PLACE, "final one")
        await seen(api, "topics are switched off there")
        assert texts(api, FORUM, None) == []
        api.switch_topics(FORUM, on=True)
        clock.fly(700)
        await show(on, DESK_PLACE, "final two")
        await seen(api, "final two")
        assert texts(api, FORUM, DESK) == ["final one", "final two"]


@pytest.mark.parametrize("told", [OPERATOR, None])
async def test_a_migration_takes_all_that_waits_along_once_and_holds_over_a_restart(
    api: BotApi, clock: LateClock, store: Store, told: int | None
) -> None:
    """With `told` its service messages come, without only the refusal of what is sent."""
    api.group(GROUP)
    team = session("team", GROUP_PLACE)
    async with bridge(api, clock, store, team) as on:
        api.say("/status", user=USER, chat=GROUP)
        await seen(api, "Team (default/team)")
        api.migrate(GROUP, SUPER, user=told)
        await show(on, GROUP_PLACE, *(f"final {number}" for number in range(20)))
        await seen(api, "final 19")
        assert texts(api, SUPER, None) == [f"final {number}" for number in range(20)]
        api.say("/help", user=USER, chat=SUPER)
        await seen(api, "/handoff NAME TEXT")
        assert [one.place for one in await store.places(team.id)] == [SUPER_PLACE]
        moves = [(move.old, move.new) for move in await store.moves()]
        assert (GROUP_PLACE, SUPER_PLACE) in moves
    async with bridge(api, clock, store, team) as on:
        api.say("/status", user=USER, chat=SUPER)
        await api.until(lambda: sum("Team (default/team)" in sent.text for sent in api.history) == 2)
        await show(on, GROUP_PLACE, "after the restart")
        assert (await seen(api, "after the restart")).chat == SUPER


async def test_what_arrived_before_a_bridge_died_is_heard_in_the_new_chat(
    api: BotApi, clock: LateClock, store: Store
) -> None:
    api.group(GROUP)
    team = session("team", GROUP_PLACE)
    async with bridge(api, clock, store, team):
        pass
    api.say("/status", user=USER, chat=GROUP)
    api.migrate(GROUP, SUPER, user=OPERATOR)
    api.say("/help", user=USER, chat=SUPER)
    async with bridge(api, clock, store, team):
        await seen(api, "/handoff NAME TEXT")
        await seen(api, "Team (default/team)")
    assert {sent.chat for sent in api.history} == {SUPER}


async def test_a_group_that_becomes_a_forum_goes_on_in_general(api: BotApi, clock: LateClock, store: Store) -> None:
    api.group(GROUP)
    team = session("team", GROUP_PLACE)
    async with bridge(api, clock, store, team) as on:
        api.migrate(GROUP, SUPER, topics={7: "Else"}, user=OPERATOR)
        api.say("/status", user=USER, chat=SUPER)
        await seen(api, "Team (default/team)")
        assert [one.place for one in await store.places(team.id)] == [Place(f"telegram:{SUPER}/general")]
        await show(on, GROUP_PLACE, "goes on")
        assert (await seen(api, "goes on")).thread is None
        api.switch_topics(SUPER, on=False)
        api.say("/help", user=USER, chat=SUPER)
        await seen(api, "/handoff NAME TEXT")
        assert [one.place for one in await store.places(team.id)] == [SUPER_PLACE]


async def test_an_unbound_general_stays_silent(api: BotApi, clock: LateClock, store: Store) -> None:
    async with bridge(api, clock, store, session("desk", DESK_PLACE)):
        api.say("anybody here?", user=OPERATOR, chat=FORUM)
        api.say("/status", user=OPERATOR, chat=FORUM, thread=DESK)
        await seen(api, "Desk (default/desk)")
    assert texts(api, FORUM, None) == []


async def test_new_makes_a_topic_and_links_lead_there_and_back(api: BotApi, clock: LateClock, store: Store) -> None:
    async with bridge(api, clock, store, session("desk", DESK_PLACE)):
        api.say("/new Tax papers", user=OPERATOR, chat=FORUM, thread=DESK)
        begun = await seen(api, "run by fake")
        made = await seen(api, "Made: Tax papers")
        assert made.thread == DESK
        assert begun.thread is not None
        assert f"https://t.me/c/1234/{begun.thread}" in made.text
        assert f"https://t.me/c/1234/{DESK}" in begun.text
        assert api._world.rooms[FORUM].topics[begun.thread].name == "Tax papers"
        api.say("/status", user=USER, chat=FORUM, thread=begun.thread)
        assert (await seen(api, "Tax papers (default/tax-papers)")).thread == begun.thread
        api.say("/close", user=OPERATOR, chat=FORUM, thread=begun.thread)
        assert (await seen(api, "is closed, and its mail")).thread == begun.thread
        await api.until(lambda: api._world.rooms[FORUM].topics[begun.thread or 0].closed)
        api.say("/reopen", user=OPERATOR, chat=FORUM, thread=begun.thread)
        await seen(api, "is open again")
        assert not api._world.rooms[FORUM].topics[begun.thread].closed


async def test_delete_takes_the_topic_away_for_good(api: BotApi, clock: LateClock, store: Store) -> None:
    async with bridge(api, clock, store, session("desk", DESK_PLACE)):
        api.say("/new Tax papers", user=OPERATOR, chat=FORUM, thread=DESK)
        thread = (await seen(api, "run by fake")).thread or 0
        api.say("/delete", user=OPERATOR, chat=FORUM, thread=thread)
        asks = await seen(api, "Delete this topic")
        assert asks.thread == thread
        api.press(asks, next(action for label, action in asks.buttons if label == "Delete it"), OPERATOR)
        await api.until(lambda: api._world.rooms[FORUM].topics[thread].deleted)
        api.say("/status", user=OPERATOR, chat=FORUM, thread=DESK)
        await seen(api, "Desk (default/desk)")
    assert made_by_bot(api) == ["Tax papers"]
    assert await store.places(ident("tax-papers")) == []


async def test_without_the_right_to_delete_it_says_which_one(api: BotApi, clock: LateClock, store: Store) -> None:
    api.member(FORUM, api.bot, "administrator", can_delete_messages=False)
    async with bridge(api, clock, store, session("desk", DESK_PLACE)):
        api.say("/new Tax papers", user=OPERATOR, chat=FORUM, thread=DESK)
        thread = (await seen(api, "run by fake")).thread or 0
        api.say("/delete", user=OPERATOR, chat=FORUM, thread=thread)
        asks = await seen(api, "Delete this topic")
        api.press(asks, next(action for label, action in asks.buttons if label == "Delete it"), OPERATOR)
        assert "the right to delete messages" in (await seen(api, "could not be deleted")).text


async def test_a_persons_name_is_the_title_and_stays(api: BotApi, clock: LateClock, store: Store) -> None:
    async with bridge(api, clock, store, session("desk", DESK_PLACE)):
        api.say("/new Taxes", user=OPERATOR, chat=FORUM, thread=DESK)
        thread = (await seen(api, "run by fake")).thread or 0
        api.rename_topic(FORUM, thread, "Papers", user=OPERATOR)
        api.say("/status", user=USER, chat=FORUM, thread=thread)
        await seen(api, "Papers (default/taxes)")
        api.say("/rename Paperwork", user=OPERATOR, chat=FORUM, thread=thread)
        await seen(api, "called Paperwork now")
        assert api._world.rooms[FORUM].topics[thread].name == "Paperwork"


async def test_a_deleted_topic_of_a_private_chat_is_made_again_there_and_nothing_stays_beside_it(
    api: BotApi, clock: LateClock, store: Store
) -> None:
    api.private(OPERATOR, topics={7: "Notes"})
    notes = Place(f"telegram:{OPERATOR}/7")
    async with bridge(api, clock, store, session("notes", notes)) as on:
        api.delete_topic(OPERATOR, 7)
        await show(on, notes, "final one", "final two")
        await seen(api, "final two")
        (moved,) = await store.moves()
        thread = int(moved.new.rpartition("/")[2])
        await api.until(lambda: "final two" in texts(api, OPERATOR, thread))
        assert [text for text in texts(api, OPERATOR, thread) if "final" in text] == ["final one", "final two"]
        assert not any("final" in text for text in texts(api, OPERATOR, None))


async def test_a_plain_group_has_no_topics_and_says_so(api: BotApi, clock: LateClock, store: Store) -> None:
    api.group(GROUP)
    async with bridge(api, clock, store, session("team", GROUP_PLACE)):
        api.say("/new Taxes", user=OPERATOR, chat=GROUP)
        assert (await seen(api, "has no topics: switch them on")).chat == GROUP
    assert await store.session(ident("taxes")) is None
