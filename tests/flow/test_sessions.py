"""What a terminal makes or lets take work again waits for an operator's word, where there is a chat (DESIGN §7)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from adapters.memory.store import MemoryStore
from bridge.audit import ActKind
from bridge.errors import Code, Refused
from bridge.ports.runtime import Prompt
from bridge.views import SessionView
from tests.fakes.chat import FakeChat
from tests.fakes.clock import ManualClock
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import OPERATOR, USER, Stage, acts, ident, person, room, session, stage

OFFICE = room("office")
CAREER = session("career")


async def wished(on: Stage, handle: str = "research", place: str | None = "room:research") -> SessionView:
    return await on.exchange.new_session(await person(on), handle, "fake", "/srv/work", place, "Research")


def asked(on: Stage) -> list[str]:
    """What operators are asked now."""
    return [post.text for post in on.chat.posts.values() if post.place == OFFICE and post.buttons]


@asynccontextmanager
async def stopped() -> AsyncIterator[Stage]:
    """A session that a person has stopped, and that has mail of another."""
    async with stage(CAREER) as on:
        await on.exchange.stop(await person(on), "career", False)
        await on.send("career", "while it was stopped")
        await on.quiet()
        assert on.runtime.prompts == []
        yield on


# Made


async def test_a_session_is_made_once_an_operator_accepts_all_of_it() -> None:
    async with stage(CAREER) as on:
        view = await wished(on)
        assert (view.id, view.title, view.cwd) == (ident("research"), "Research", "/srv/work")
        assert view.places == (room("research"),)
        assert (view.reachable, view.waits_for) == ("none", (OFFICE,))
        post = await on.chat.seen(OFFICE, "A terminal (default/shell) asks for this")
        assert post.text.splitlines()[:-1] == [
            "A terminal (default/shell) asks for this: a new session, default/research",
            "· agent: fake",
            "· directory: /srv/work",
            "· place: room:research",
            "· title: Research",
        ]
        assert await on.store.session(ident("research")) is None
        assert await on.store.binding(room("research")) is None
        assert "only an operator" in await on.press("office", "Accept", USER)
        assert await on.press("office", "Accept") == "Accepted."
        done = await on.chat.seen(OFFICE, "· accepted by Olga")
        assert ("· directory: /srv/work" in done.text, done.buttons) == (True, ())
        await on.say("research", "hello")
        await on.quiet()
        assert [launch.cwd for launch in on.runtime.launches] == ["/srv/work"]
        assert await acts(on) == [
            (ActKind.PROPOSED, "shell"),
            (ActKind.REFUSED, USER.id),
            (ActKind.APPROVED, OPERATOR.id),
        ]


async def test_the_same_again_is_the_same_question_and_another_is_another() -> None:
    async with stage(CAREER) as on:
        for _ in range(2):
            await wished(on)
        await on.chat.seen(OFFICE, "Research")
        assert len(asked(on)) == 1
        await wished(on, place="room:library")
        await on.chat.seen(OFFICE, "room:library")
        assert len(asked(on)) == 2


@pytest.mark.parametrize(("end", "told"), [("Refuse", "refused by Olga"), ("time", "expired: nobody decided in time")])
async def test_what_is_refused_or_too_old_is_not_made(end: str, told: str) -> None:
    async with stage(CAREER) as on:
        await wished(on)
        post = await on.chat.seen(OFFICE, "asks for this")
        if end == "time":
            await on.clock.advance(1_800)
        else:
            await on.press("office", end)
        gone = await on.chat.seen(OFFICE, told)
        assert (gone.key, gone.buttons, "a new session, default/research" in gone.text) == (post.key, (), True)
        assert await on.store.session(ident("research")) is None


async def test_a_bridge_that_was_started_again_makes_what_is_accepted_then() -> None:
    store, chat, clock = MemoryStore(), FakeChat(), ManualClock()
    async with stage(CAREER, store=store, chat=chat, clock=clock) as on:
        await wished(on)
        await on.chat.seen(OFFICE, "asks for this")
    async with stage(CAREER, store=store, chat=chat, clock=clock) as on:
        assert await on.press("office", "Accept") == "Accepted."
        made = await store.session(ident("research"))
        assert made is not None
        assert (made.agent, made.cwd, made.title) == ("fake", "/srv/work", "Research")


async def test_an_operator_sees_from_whom_a_place_is_taken() -> None:
    async with stage(CAREER) as on:
        await wished(on, "first")
        await on.press_when_seen("office", "Accept", "default/first")
        await wished(on, "second")
        await on.chat.seen(OFFICE, "· place: room:research, which is default/first's so far")
        await on.press("office", "Accept")
        binding = await on.store.binding(room("research"))
        assert binding is not None
        assert binding.session == ident("second")


async def test_what_went_wrong_meanwhile_is_told_and_the_question_stays_until_it_is_set_right() -> None:
    store, chat, clock = MemoryStore(), FakeChat(), ManualClock()
    async with stage(CAREER, store=store, chat=chat, clock=clock) as on:
        await wished(on)
        await on.chat.seen(OFFICE, "asks for this")
    taken = session("desk", places=(room("research"),))
    async with stage(CAREER, taken, store=store, chat=chat, clock=clock) as on:
        said = await on.press("office", "Accept")
        reason = "Not done: room:research is bound to default/desk by the operator's file"
        assert said.startswith(reason)
        kept = await chat.seen(OFFICE, reason)
        assert [button.label for button in kept.buttons] == ["Accept", "Refuse"]
        assert kept.text.startswith("a new session, default/research\n· agent: fake\n· directory: /srv/work")
        assert await store.session(ident("research")) is None
        assert (ActKind.APPROVED, OPERATOR.id) not in await acts(on)
    async with stage(CAREER, store=store, chat=chat, clock=clock) as on:
        assert await on.press("office", "Accept") == "Accepted."
        assert await store.session(ident("research")) is not None


async def test_a_place_that_has_found_another_session_meanwhile_is_not_taken_from_it() -> None:
    async with stage(CAREER, session("desk")) as on:
        await wished(on)
        await on.chat.seen(OFFICE, "asks for this")
        await on.say("research", "/bind desk")
        await on.chat.seen(room("research"), "is bound to Desk")
        assert "room:research is default/desk's by now" in await on.press("office", "Accept")
        assert await on.store.session(ident("research")) is None


async def test_of_two_questions_for_one_handle_one_can_be_accepted() -> None:
    async with stage(CAREER) as on:
        for place in ("room:one", "room:two"):
            await wished(on, place=place)
            await on.chat.seen(OFFICE, place)
        assert await on.press("office", "Accept") == "Accepted."
        await on.chat.seen(OFFICE, "accepted by")
        assert "default/research exists" in await on.press("office", "Accept")
        assert await on.press("office", "Refuse") == "Refused."


@pytest.mark.parametrize(
    ("place", "title", "code"),
    [("room:career", "Research", Code.NOT_PERMITTED), (None, "x" * 2_000, Code.INVALID_REQUEST)],
)
async def test_nobody_is_asked_for_what_cannot_be_made_or_shown(place: str | None, title: str, code: Code) -> None:
    async with stage(CAREER) as on:
        with pytest.raises(Refused) as refused:
            await on.exchange.new_session(await person(on), "research", "fake", None, place, title)
        assert refused.value.code is code
        await on.quiet()
        assert asked(on) == []


async def test_no_title_or_directory_passes_for_a_line_of_the_question() -> None:
    async with stage(CAREER) as on:
        title = "Research\n· directory: /srv/harmless"
        await on.exchange.new_session(await person(on), "research", "fake", "/srv/a\u202eb", None, title)
        post = await on.chat.seen(OFFICE, "asks for this")
        assert post.text.splitlines()[2:4] == [
            r"· directory: '/srv/a\u202eb'",
            r"· title: 'Research\n· directory: /srv/harmless'",
        ]


# Resumed


async def test_a_stopped_session_takes_work_again_once_an_operator_accepts_that() -> None:
    async with stopped() as on:
        for _ in range(2):  # asked twice, it is one wish
            view = await on.exchange.resume(await person(on), "career")
            assert (view.resumed, view.waits_for) == (False, (OFFICE,))
        post = await on.chat.seen(OFFICE, "A terminal (default/shell) asks for this: default/career takes work again")
        assert "\n· now stopped\n" in post.text
        assert len(asked(on)) == 1
        await on.quiet()
        assert on.runtime.prompts == []
        assert await on.press("office", "Accept") == "Accepted."
        await on.quiet()
        assert {who for who, _ in on.runtime.prompts} == {ident("career")}
        view = await on.exchange.resume(await person(on), "career")
        assert (view.resumed, view.waits_for) == (False, ()), "there is nothing to ask for any more"


@pytest.mark.parametrize("end", ["Refuse", "time"])
async def test_what_is_refused_or_too_old_resumes_nothing(end: str) -> None:
    async with stopped() as on:
        await on.exchange.resume(await person(on), "career")
        await on.chat.seen(OFFICE, "takes work again")
        if end == "time":
            await on.clock.advance(1_800)
        else:
            await on.press("office", end)
        await on.quiet()
        assert (on.runtime.prompts, asked(on)) == ([], [])


async def test_a_session_that_was_closed_meanwhile_stays_closed() -> None:
    async with stopped() as on:
        await on.exchange.resume(await person(on), "career")
        await on.chat.seen(OFFICE, "takes work again")
        await on.exchange.redeclare([])
        assert "default/career has been closed" in await on.press("office", "Accept")
        await on.chat.seen(OFFICE, "Not done: default/career")
        with pytest.raises(Refused) as refused:
            await on.exchange.resume(await person(on), "career")
        assert refused.value.code is Code.SESSION_CLOSED


async def test_a_stop_from_a_terminal_and_a_word_in_the_chat_hold_at_once() -> None:
    async with stage(CAREER) as on:
        started = asyncio.Event()

        async def endless(agent: FakeAgent, prompt: Prompt) -> str:
            started.set()
            await asyncio.Event().wait()
            return "never"

        on.agent("career", endless)
        await on.send("career", "work")
        await started.wait()
        assert await on.exchange.stop(await person(on), "career", False) == (True, 0)
        await on.say("career", "/resume")
        await on.chat.seen(room("career"), "Career takes work again.")
        await on.say("research", "/bind career")
        await on.chat.seen(room("research"), "is bound to Career")
        assert asked(on) == []


class Unattended(FakeChat):
    """Nobody is told anything there of their own."""

    def reports(self) -> tuple[()]:
        return ()


@pytest.mark.parametrize(("chat", "confirm"), [(FakeChat(), False), (Unattended(), True)])
async def test_without_an_operator_to_ask_a_terminals_word_is_enough(chat: FakeChat, confirm: bool) -> None:
    async with stage(CAREER, chat=chat, confirm_in_chat=confirm) as on:
        view = await wished(on)
        assert (view.reachable, view.waits_for) == ("wake", ())
        await on.exchange.stop(await person(on), "research", False)
        resumed = await on.exchange.resume(await person(on), "research")
        assert (resumed.resumed, resumed.waits_for) == (True, ())
        assert asked(on) == []
