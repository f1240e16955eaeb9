"""A turn on show: one message while it runs, a button that stops it, and one line that is left."""

import asyncio

import pytest

from bridge.flow.progress import GLIMPSE_S
from bridge.message import Outcome, State
from bridge.ports.chat import NotDelivered, Pressed
from bridge.ports.runtime import Event, Prompt, Text, ToolBegun, ToolEnded
from bridge.post import Post, PostKind
from bridge.turn import TurnState
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import OPERATOR, USER, Stage, ident, room, session, stage
from tests.flow.test_adoption import Desk

CAREER = room("career")
BASH = ToolBegun("1", "Bash", reading=False, title="git status")


class Busy:
    """An agent at work until it is let, of whose turn `events` happen at once."""

    def __init__(self, on: Stage, *events: Event) -> None:
        self.events = events
        self.go = asyncio.Event()
        on.agent("career", self.works)

    async def works(self, agent: FakeAgent, prompt: Prompt) -> str:
        assert agent.listener is not None
        for event in self.events:
            await agent.listener.happened(event)
        await self.go.wait()
        return f"about {prompt.words}"


def progress(on: Stage) -> Post:
    return next(post for post in on.chat.posts.values() if post.kind is PostKind.PROGRESS)


async def press(on: Stage, action: str, person: object = OPERATOR) -> str:
    return await on.exchange.inbound.press(Pressed(CAREER, person, action))  # type: ignore[arg-type]


async def test_a_sign_of_life_is_there_at_once_and_lasts_while_the_turn_runs() -> None:
    async with stage(session("career")) as on:
        busy = Busy(on)
        await on.say("career", "search")
        await on.quiet()
        assert on.chat.glimpses == [(CAREER, "")]
        await on.clock.advance(2 * GLIMPSE_S)
        assert len(on.chat.glimpses) == 3
        busy.go.set()
        await on.clock.advance(60)
        assert len(on.chat.glimpses) == 3


async def test_the_message_tells_what_is_done_and_becomes_one_line_that_unfolds() -> None:
    async with stage(session("career")) as on:
        busy = Busy(on, BASH, ToolEnded("1", ok=True, result="clean"), Text("It is clean."))
        await on.say("career", "search")
        await on.clock.advance(3)
        assert progress(on).text == "Working · 0:03\nIt is clean.\n> ✓ Bash: git status → clean"
        assert progress(on).markup == "rich"
        await on.clock.advance(62)
        busy.go.set()
        await on.quiet()
        assert progress(on).text == "Done after 1:05 · 1 tool"
        assert [post.text for post in on.chat.deliveries][-2:] == ["about search", "Done after 1:05 · 1 tool"]
        (show,) = progress(on).buttons
        assert await press(on, show.action, USER) == "Unfolded."
        await on.quiet()
        assert progress(on).text == "Done after 1:05 · 1 tool\n> ✓ Bash: git status"
        (fold,) = progress(on).buttons
        assert await press(on, fold.action) == "Folded."
        await on.quiet()
        assert progress(on).text == "Done after 1:05 · 1 tool"


async def test_the_tools_of_another_place_are_not_unfolded() -> None:
    async with stage(session("career")) as on:
        busy = Busy(on, BASH)
        await on.say("career", "search")
        await on.clock.advance(3)
        busy.go.set()
        await on.quiet()
        (show,) = progress(on).buttons
        pressed = Pressed(room("desk"), OPERATOR, show.action)
        assert "not kept any more" in await on.exchange.inbound.press(pressed)
        assert progress(on).text == "Done after 0:03 · 1 tool"


async def test_where_the_text_grows_by_itself_the_message_does_not_repeat_it() -> None:
    async with stage(session("career")) as on:
        on.chat.streams = True
        Busy(on, BASH, Text("It grows."))
        await on.say("career", "search")
        await on.clock.advance(3)
        assert on.chat.glimpses[-1] == (CAREER, "It grows.")
        assert progress(on).text == "Working · 0:03\n> ▸ Bash: git status"


async def test_what_nobody_saw_while_it_ran_is_not_shown_afterwards() -> None:
    async with stage(session("career")) as on:
        busy = Busy(on)
        shedding = NotDelivered("too much", retry_at=on.clock.now() + 10)
        on.chat.fault = lambda post: shedding if post.kind is PostKind.PROGRESS else None
        await on.say("career", "search")
        await on.clock.advance(3)
        busy.go.set()
        await on.quiet()
        on.chat.fault = lambda post: None
        await on.clock.advance(60)
        assert on.chat.texts(CAREER) == ["about search"]


async def test_what_was_on_its_way_at_the_end_becomes_the_line_once_it_has_arrived() -> None:
    async with stage(session("career")) as on:
        busy = Busy(on)
        await on.say("career", "search")
        on.chat.held[CAREER] = asyncio.Event()
        await on.clock.advance(3)
        busy.go.set()
        await on.quiet()
        assert on.chat.texts(CAREER) == []
        on.chat.held.pop(CAREER).set()
        await on.quiet()
        assert sorted(on.chat.texts(CAREER)) == ["Done after 0:03", "about search"]


async def test_the_button_stops_its_turn_and_nothing_else() -> None:
    async with stage(session("career")) as on:
        Busy(on)
        first, second = await on.say("career", "one"), await on.say("career", "two")
        await on.clock.advance(3)
        (stop,) = progress(on).buttons
        assert "only an operator" in await press(on, stop.action, USER)
        assert (await on.message(first)).state is State.LEASED
        assert await press(on, stop.action) == "Stopped."
        await on.quiet()
        assert (await on.message(first)).outcome is Outcome.CANCELLED
        assert (await on.message(second)).state is State.LEASED
        assert progress(on).text == "Stopped after 0:03"
        assert await press(on, stop.action) == "This turn is over."
        await on.quiet()
        assert (await on.message(second)).state is State.LEASED
        known = await on.store.session(ident("career"))
        assert known is not None
        assert not known.rested


@pytest.mark.parametrize("which", ["", "nothing", "🙂"])
async def test_a_stop_of_what_never_ran_says_that_it_is_over(which: str) -> None:
    async with stage(session("career")) as on:
        assert await press(on, f"stop:{which}") == "This turn is over."


async def test_a_turn_that_was_taken_over_goes_on_in_the_same_message_with_its_button() -> None:
    desk = Desk()
    async with desk.bridge() as on:
        sent = await on.send("career", "look it up")
        await on.clock.advance(3)
        before = progress(on)
        assert "▸ edit" in before.text
    async with desk.bridge() as on:
        await on.clock.advance(3)
        now = progress(on)
        assert (now.receipt, now.id) == ("2", before.id)
        assert "Working · 0:06" in now.text
        assert "▸ edit" in now.text
        (stop,) = now.buttons
        assert await press(on, stop.action) == "Stopped."
        await on.quiet()
        assert (await desk.turn()).state is TurnState.CANCELLED
        assert (await on.message(sent.message_id)).state is State.PARKED
        assert progress(on).text == "Stopped after 0:06 · 2 tools"


async def test_a_stop_that_comes_before_the_next_bridge_has_gone_on_holds() -> None:
    desk = Desk()
    async with desk.bridge() as on:
        await on.send("career", "look it up")
        await on.clock.advance(3)
        (stop,) = progress(on).buttons
    async with desk.bridge() as on:
        assert await press(on, stop.action) == "Stopped."
        assert (await desk.turn()).state is TurnState.CANCELLED
