"""A place that goes on elsewhere is followed, one whose topic is lost is made anew once, and nothing goes anywhere
else (invariant 11)."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from adapters.memory.store import MemoryStore
from bridge.approval import Approval, ApprovalId, Subject
from bridge.errors import Code, Refused
from bridge.flow import showing
from bridge.ids import Place
from bridge.message import Origin
from bridge.move import Move, Why
from bridge.ports.chat import Admitted, Blocked, Gone, Migrated, Moved, NotDelivered, Person, Renamed, Reopened
from bridge.ports.runtime import Prompt
from bridge.ports.store import Change
from bridge.post import Button, Post, PostKind, PostState
from bridge.session import Binding, Source, Topic
from tests.fakes.chat import FakeChat
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import OPERATOR, USER, Stage, ident, room, session, stage

OLD, NEW = room("career"), Place("room:career-2")
OFFICE = Place("room:office")
MADE = Place("room:topic-1")


async def show(on: Stage, key: str, text: str, place: Place = OLD, kind: PostKind = PostKind.FINAL) -> None:
    await on.exchange.inbound._ledger.do(lambda work: showing.show(work, key, place, kind, text))


def refusing(error: Callable[[], Exception], place: Place = OLD) -> Callable[[Post], Exception | None]:
    return lambda post: error() if post.place == place else None


def deleted() -> Exception:
    return Gone("the topic was deleted")


def migrated() -> Exception:
    return Moved("the group is a supergroup now", NEW)


async def echo(agent: FakeAgent, prompt: Prompt) -> str:
    return f"you said {prompt.words}"


async def test_all_that_waits_goes_where_the_place_has_gone() -> None:
    async with stage(session("career")) as on:
        on.chat.fault = refusing(migrated)
        for number in range(3):
            await show(on, f"final-{number}", f"final {number}")
        await on.quiet()
        assert on.chat.texts(NEW) == ["final 0", "final 1", "final 2"]
        assert on.chat.texts(OLD) == []
        assert await on.store.binding(OLD) is None
        bound = await on.store.binding(NEW)
        assert bound is not None
        assert (bound.session, bound.source) == (ident("career"), Source.FILE)


async def test_what_is_said_while_its_place_moves_is_said_at_the_new_one() -> None:
    async with stage(session("career")) as on:
        on.agent("career", echo)
        ledger = on.exchange.inbound._ledger
        await on.exchange.inbound.happened(Migrated(OLD, NEW))
        ledger.moves = {}  # it had been led by what this bridge knew before
        await on.say("career", "hello")
        await on.quiet()
        assert [prompt.words for _, prompt in on.runtime.prompts] == ["hello"]
        assert not any("No session is bound" in post.text for post in on.chat.posts.values())


async def test_whichever_word_of_a_migration_comes_first_it_happens_once() -> None:
    async with stage(session("career")) as on:
        await on.exchange.inbound.happened(Migrated(OLD, NEW))
        on.chat.fault = refusing(migrated)
        await show(on, "late", "put at the old place by whoever has not heard")
        await on.exchange.inbound.happened(Migrated(OLD, NEW))
        await on.quiet()
        assert on.chat.texts(NEW) == ["put at the old place by whoever has not heard"]
        assert [(one.old, one.new) for one in await on.store.moves()] == [(OLD, NEW)]


async def test_what_is_said_and_pressed_at_the_old_place_counts_at_the_new_one() -> None:
    async with stage(session("career")) as on:
        on.agent("career", echo)
        await on.exchange.inbound.happened(Migrated(OLD, NEW))
        await on.say("career", "hello")
        await on.say("career", "/status")
        await on.quiet()
        assert on.chat.texts(OLD) == []
        assert "you said hello" in on.chat.texts(NEW)
        assert len(on.chat.texts(NEW)) == 2


async def test_the_file_that_names_the_old_place_means_the_new_one_after_a_restart() -> None:
    store, declared = MemoryStore(), session("career")
    async with stage(declared, store=store) as on:
        await on.exchange.inbound.happened(Migrated(OLD, NEW))
    async with stage(declared, store=store) as on:
        assert [one.place for one in await store.places(ident("career"))] == [NEW]
        await on.exchange.redeclare([declared])
        assert [one.place for one in await store.bindings()] == [NEW]
        await on.exchange.redeclare([replace(declared, places=(NEW,))])
        assert [one.place for one in await store.bindings()] == [NEW]


async def test_a_place_that_the_file_names_itself_is_not_taken_by_one_that_was_led_there() -> None:
    async with stage(session("career"), session("desk")) as on:
        await on.exchange.inbound.happened(Migrated(OLD, NEW))
        await on.exchange.redeclare([session("career"), replace(session("desk"), places=(NEW,))])
        assert [(one.place, one.session) for one in await on.store.bindings()] == [(NEW, ident("desk"))]


async def test_a_turn_that_runs_meanwhile_answers_at_the_new_place() -> None:
    async with stage(session("career")) as on:
        going = asyncio.Event()

        async def slow(agent: FakeAgent, prompt: Prompt) -> str:
            await going.wait()
            return "the answer"

        on.agent("career", slow)
        await on.say("career", "think")
        await on.quiet()
        await on.exchange.inbound.happened(Migrated(OLD, NEW))
        going.set()
        await on.quiet()
        assert "the answer" in on.chat.texts(NEW)
        assert "the answer" not in on.chat.texts(OLD)


async def test_what_is_still_asked_is_shown_anew_and_the_rest_is_not_repeated() -> None:
    async with stage(session("career")) as on:
        await show(on, "final", "said before")
        await show(on, "handoff", "→ desk: do it\n· queued", kind=PostKind.HANDOFF)
        ask = (Button("Retry", "retry:1:1"),)
        await on.exchange.inbound._ledger.do(
            lambda work: showing.show(work, "ask", OLD, PostKind.QUESTION, "Retry or discard?", buttons=ask)
        )
        await on.quiet()
        before = len(on.chat.deliveries)
        del on.chat.posts["ask"]
        await on.exchange.inbound.happened(Migrated(OLD, NEW))
        on.chat.fault = lambda post: NotDelivered("no message of it") if post.key == "handoff" else None
        await on.exchange.inbound._ledger.do(lambda work: showing.show(work, "handoff", OLD, PostKind.HANDOFF, "done"))
        await on.quiet()
        assert [(one.key, one.place, one.receipt) for one in on.chat.deliveries[before:]] == [("ask", NEW, None)]
        assert on.chat.texts(OFFICE) == []


async def test_proposals_and_questions_that_name_the_old_place_name_the_new_one() -> None:
    async with stage(session("career")) as on:
        content = json.dumps({"place": OLD, "options": {"files": [OLD]}})
        asked = Approval(ApprovalId("a-1"), Subject.SESSION, "a session", content, "somebody", opened_at=1.0)
        await on.store.commit(Change(puts=[asked]))
        await on.exchange.inbound.happened(Migrated(OLD, NEW))
        kept = await on.store.approval(asked.id)
        assert kept is not None
        assert json.loads(kept.content) == {"place": NEW, "options": {"files": [NEW]}}


# A topic that was deleted


async def test_a_deleted_topic_is_made_anew_once_with_its_name_and_what_waits_goes_there() -> None:
    async with stage(session("career"), session("desk")) as on:
        on.chat.fault = refusing(deleted)
        for number in range(3):
            await show(on, f"final-{number}", f"final {number}")
        await on.quiet()
        assert on.chat.topics == {MADE: "Career"}
        shown = on.chat.texts(MADE)
        assert [text for text in shown if text.startswith("final")] == ["final 0", "final 1", "final 2"]
        assert any("stands in for one that was deleted" in text for text in shown)
        assert [one.place for one in await on.store.places(ident("career"))] == [MADE]
        assert on.chat.texts(OLD) == on.chat.texts(room("desk")) == on.chat.texts(OFFICE) == []


async def test_it_has_the_name_that_people_gave_it() -> None:
    async with stage(session("career")) as on:
        await on.exchange.inbound.happened(Renamed(OLD, "My own name"))
        on.chat.fault = refusing(deleted)
        await show(on, "final", "final")
        await on.quiet()
        assert on.chat.topics == {MADE: "My own name"}


async def test_one_that_is_deleted_again_is_reported_with_what_to_do_and_not_made_again() -> None:
    async with stage(session("career")) as on:
        on.chat.fault = lambda post: deleted() if post.place in (OLD, MADE) else None
        await show(on, "final-1", "a secret")
        await show(on, "final-2", "another secret")
        await on.quiet()
        assert on.chat.topics == {MADE: "Career"}
        (report,) = on.chat.texts(OFFICE)
        assert "bind default/career elsewhere" in report
        assert "secret" not in report
        assert (await on.store.pending_posts("room")) == []
        bound = await on.store.binding(MADE)
        assert bound is not None
        assert bound.gone_at is not None


async def test_the_file_holds_at_the_topic_that_was_made_anew() -> None:
    store, declared = MemoryStore(), session("career")
    async with stage(declared, store=store) as on:
        on.chat.fault = refusing(deleted)
        await show(on, "final", "final")
        await on.quiet()
    async with stage(declared, store=store) as on:
        assert [one.place for one in await store.places(ident("career"))] == [MADE]
        assert await store.moves() == [Move(OLD, MADE, (await store.moves())[0].at, Why.RECREATED)]


async def test_where_none_can_be_made_operators_are_told_why_and_it_waits() -> None:
    async with stage(session("career")) as on:
        on.chat.fault = refusing(deleted)
        on.chat.refuses = lambda deed: NotDelivered("the bot may not manage topics")
        await show(on, "final", "final")
        await on.quiet()
        (report,) = on.chat.texts(OFFICE)
        assert "the bot may not manage topics" in report
        assert (await _bound(on, OLD)).gone_at is not None
        on.chat.refuses = lambda deed: None
        await on.clock.advance(601)
        await on.quiet()
        assert "final" in on.chat.texts(MADE)
        assert (await _bound(on, MADE)).gone_at is None


async def test_while_the_chat_is_out_of_reach_it_is_tried_later() -> None:
    async with stage(session("career")) as on:
        on.chat.fault = refusing(deleted)
        on.chat.refuses = lambda deed: NotDelivered("too many requests", retry_at=on.clock.now() + 5)
        await show(on, "final", "final")
        await on.quiet()
        assert on.chat.topics == {}
        on.chat.refuses = lambda deed: None
        await on.clock.advance(6)
        await on.quiet()
        assert "final" in on.chat.texts(MADE)


async def test_a_place_without_a_session_is_not_made_anew() -> None:
    async with stage(session("desk")) as on:
        on.chat.fault = refusing(deleted)
        await show(on, "final", "final")
        await on.quiet()
        assert on.chat.topics == {}
        assert len(on.chat.texts(OFFICE)) == 1


async def test_a_bridge_that_dies_while_it_makes_a_topic_comes_to_one_in_the_end() -> None:
    store, chat = MemoryStore(), FakeChat()
    chat.fault = refusing(deleted)
    stuck = asyncio.Event()

    class Dying(FakeChat):
        async def open_topic(self, near: Place, name: str) -> Place:
            stuck.set()
            await asyncio.Event().wait()
            raise AssertionError

    dying = Dying()
    dying.fault = refusing(deleted)
    async with stage(session("career"), store=store, chat=dying) as on:
        await show(on, "final", "final")
        await stuck.wait()
    async with stage(session("career"), store=store, chat=chat) as on:
        await on.quiet()
        assert "final" in chat.texts(MADE)
        assert [one.place for one in await store.places(ident("career"))] == [MADE]


async def test_sessions_answer_at_their_other_place_where_one_is_gone() -> None:
    second = Place("room:phone")
    async with stage(session("career", places=(OLD, second))) as on:
        await on.store.commit(Change(puts=[replace(await _bound(on, OLD), gone_at=5.0)]))
        await on.send("career", "a question")
        await on.quiet()
        assert on.chat.texts(OLD) == []
        assert on.chat.texts(second) != []


async def _bound(on: Stage, place: Place) -> Binding:
    bound = await on.store.binding(place)
    assert bound is not None
    return bound


# What people must set right


async def test_what_people_must_set_right_is_kept_told_once_and_shown_when_they_have() -> None:
    async with stage(session("career")) as on:
        on.chat.fault = refusing(lambda: Blocked("the topic is closed: open it again", retry_at=on.clock.now() + 600))
        await show(on, "final-1", "final 1")
        await show(on, "final-2", "final 2")
        await on.quiet()
        assert len(on.chat.texts(OFFICE)) == 1
        assert "the topic is closed: open it again" in on.chat.texts(OFFICE)[0]
        assert on.chat.topics == {}
        on.chat.fault = lambda post: None
        await on.exchange.inbound.happened(Reopened(OLD))
        await on.quiet()
        assert on.chat.texts(OLD) == ["final 1", "final 2"]


async def test_without_a_word_it_is_tried_again_after_a_while() -> None:
    async with stage(session("career")) as on:
        on.chat.fault = refusing(lambda: Blocked("closed", retry_at=on.clock.now() + 600))
        await show(on, "final", "final")
        await on.quiet()
        on.chat.fault = lambda post: None
        await on.clock.advance(601)
        await on.quiet()
        assert on.chat.texts(OLD) == ["final"]


async def test_once_the_bot_is_let_in_again_all_that_waits_is_tried_at_once() -> None:
    async with stage(session("career"), session("desk")) as on:
        on.chat.fault = lambda post: Blocked("kicked", retry_at=on.clock.now() + 900)
        for name in ("career", "desk"):
            await show(on, name, "final", room(name))
        await on.quiet()
        on.chat.fault = lambda post: None
        await on.exchange.inbound.happened(Admitted(OLD))
        await on.quiet()
        assert [on.chat.texts(room(name))[0] for name in ("career", "desk")] == ["final", "final"]


async def test_a_second_time_is_told_again() -> None:
    async with stage(session("career")) as on:
        for number in (1, 2):
            on.chat.fault = refusing(lambda: Blocked("closed", retry_at=on.clock.now() + 600))
            await show(on, f"final-{number}", f"final {number}")
            await on.quiet()
            on.chat.fault = lambda post: None
            await on.exchange.inbound.happened(Reopened(OLD))
            await on.quiet()
        assert len(on.chat.texts(OFFICE)) == 2


# Names


@pytest.mark.parametrize(("person", "title"), [(OPERATOR, "Taxes"), (USER, "Papers"), (None, "Papers")])
async def test_a_name_that_people_give_is_theirs_and_an_operators_the_title(person: Person | None, title: str) -> None:
    async with stage(session("desk"), confirm_in_chat=False) as on:
        await on.exchange.new_session(await on.shell(origin=Origin.USER), "papers", None, None, OLD, "Papers")
        await on.exchange.inbound.happened(Renamed(OLD, "Taxes", person))
        assert (await _bound(on, OLD)).topic == Topic("Taxes")
        papers = await on.store.session(ident("papers"))
        assert papers is not None
        assert papers.title == title


async def test_the_title_of_a_session_of_the_file_stays() -> None:
    async with stage(session("career")) as on:
        await on.exchange.inbound.happened(Renamed(OLD, "Something else", OPERATOR))
        assert (await _bound(on, OLD)).topic == Topic("Something else")
        career = await on.store.session(ident("career"))
        assert career is not None
        assert career.title == "Career"


async def test_while_the_store_is_away_nothing_of_it_is_taken_for_done() -> None:
    async with stage(session("career")) as on:
        real = on.store.commit

        async def away(change: Change) -> None:
            raise Refused(Code.UNAVAILABLE, "the disk is full")

        on.store.commit = away  # type: ignore[method-assign]
        with pytest.raises(Refused):
            await on.exchange.inbound.happened(Renamed(OLD, "Another"))
        on.store.commit = real  # type: ignore[method-assign]
        assert (await _bound(on, OLD)).topic is None


async def test_a_chat_that_says_that_a_place_has_moved_to_itself_is_not_asked_for_ever() -> None:
    async with stage(session("career")) as on:
        on.chat.fault = refusing(lambda: Moved("round and round", OLD))
        await show(on, "final", "final")
        await on.quiet()
        post = await on.store.post("final")
        assert post is not None
        assert post.state is PostState.FAILED
