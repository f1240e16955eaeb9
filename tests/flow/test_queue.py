"""What waits for a session can be seen at its place, and cancelled there."""

import asyncio

from bridge.decision import Effect, Verb
from bridge.message import Intent, Origin, Outcome, State
from bridge.ports.chat import Pressed
from bridge.ports.runtime import Prompt
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import OPERATOR, USER, Stage, room, rule, session, stage
from tests.flow.test_commands import DESK, said
from tests.flow.test_picking import labels, shown


async def waiting(on: Stage, *texts: str) -> list[str]:
    """A desk at work, for which these wait."""

    async def desk(agent: FakeAgent, prompt: Prompt) -> str:
        await asyncio.Event().wait()
        return ""

    on.agent("desk", desk)
    await on.say("desk", "work on this")
    await on.quiet()
    return [(await on.send("desk", text)).message_id for text in texts]


async def test_the_queue_tells_what_waits_and_why_and_the_status_what_is_done() -> None:
    async with stage(session("desk"), session("career")) as on:
        assert await said(on, "/queue") == "Nothing waits for Desk."
        await waiting(on, "one", "two\nlines")
        await on.clock.advance(65)
        told = (await said(on, "/queue")).splitlines()
        assert told == [
            "2 messages for Desk:",
            "1. shell, 1:05 ago: “one”",
            "2. shell, 1:05 ago: “two lines”",
        ]
        status = (await said(on, "/status")).splitlines()
        assert status[0].startswith("Desk (default/desk): at work")
        assert status[1:3] == [
            "At work for 1:05 on what a person sent: “work on this”.",
            "Waiting: 2 messages. See /queue.",
        ]


async def test_the_status_tells_whose_answers_are_waited_for() -> None:
    async with stage(session("desk"), session("notes", agent=None)) as on:
        caller = await on.shell("desk", origin=Origin.USER)
        await on.send("notes", "what do you know?", caller=caller)
        await on.clock.advance(5)
        assert "It waits for answers of: notes for 0:05." in await said(on, "/status")


async def test_clearing_is_confirmed_cancels_what_waits_and_leaves_what_runs() -> None:
    async with stage(session("desk")) as on:
        first, second = await waiting(on, "one", "two")
        await on.say("desk", "/queue clear")
        asks = await on.chat.seen(DESK, "Cancel what waits for Desk (2 queued messages)?")
        assert labels(asks) == ["Cancel them", "Keep them"]
        assert (await on.message(first)).state is State.QUEUED
        clear, receipt = asks.buttons[0].action, on.chat.receipts[asks.key]
        assert "only an operator" in await on.press("desk", "Cancel them", USER)
        assert await on.press("desk", "Cancel them") == "Cancelled: 2 queued messages."
        await on.quiet()
        assert on.chat.posts[asks.key].text == "Cancelled: 2 queued messages."
        assert [(await on.message(one)).outcome for one in (first, second)] == [Outcome.CANCELLED] * 2
        assert len(await on.store.live_turns()) == 1
        third = (await on.send("desk", "three")).message_id
        assert "is over" in await on.exchange.inbound.press(Pressed(DESK, OPERATOR, clear, receipt))
        assert (await on.message(third)).state is State.QUEUED


async def test_who_keeps_them_cancels_nothing() -> None:
    async with stage(session("desk")) as on:
        (first,) = await waiting(on, "one")
        await on.say("desk", "/queue clear")
        await on.quiet()
        assert await on.press("desk", "Keep them") == "Nothing is cancelled."
        assert (await on.message(first)).state is State.QUEUED


async def test_clearing_is_for_operators_and_seeing_is_not() -> None:
    async with stage(session("desk")) as on:
        await waiting(on, "one")
        await on.say("desk", "/queue clear", USER)
        await on.chat.seen(DESK, "/queue clear is for operators")
        await on.say("desk", "/queue", USER)
        await on.chat.seen(DESK, "1 message for Desk:")


async def test_the_inbox_shows_open_mail_but_not_what_nobody_has_approved() -> None:
    held = rule("*", "default/desk", [Verb.ASK], Effect.ASK)
    async with stage(session("desk"), rules=[rule("*", "*"), held]) as on:
        assert await said(on, "/inbox") == "The inbox of Desk is empty."
        await on.send("desk", "for later", intent=Intent.INFORM, wake=False)
        await on.send("desk", "may I?")
        await on.say("desk", "/inbox")
        inbox = await on.chat.seen(DESK, "The inbox of Desk, 1 message")
        assert inbox.text == ("The inbox of Desk, 1 message:\n· shell, 0:00 ago: “for later”; waits to be read")


async def test_a_trace_is_found_by_id_by_its_post_and_as_the_newest_of_the_place() -> None:
    async with stage(session("desk"), session("career")) as on:
        await on.say("career", "/trace")
        await on.chat.seen(room("career"), "no conversation is known here")
        await on.say("desk", "/handoff career go")
        await on.quiet()
        handoff = await on.chat.seen(DESK, "→ career: go")
        assert handoff.message is not None
        by_id = await said(on, f"/trace {handoff.message}")
        assert not [noise for noise in ("epoch", "False", "outcome", "['") if noise in by_id]
        assert by_id.splitlines()[0] == f"Trace of {handoff.message}:"
        assert "desk: accepted (" in by_id
        newest = await said(on, "/trace")
        assert newest.splitlines()[1:] == by_id.splitlines()[1:]
        await on.say("desk", "/trace", to=handoff)
        await on.quiet()
        assert shown(on).text == by_id


async def test_unbinding_frees_a_place_but_not_one_of_the_file() -> None:
    async with stage(session("desk"), session("career")) as on:
        assert (await said(on, "/unbind")).startswith("Not done: room:desk is bound")
        await on.say("side", "/bind career")
        await on.say("side", "/unbind")
        await on.chat.seen(room("side"), "This place is not bound to default/career any more")
        assert await on.store.binding(room("side")) is None
        await on.say("side", "/unbind")
        await on.chat.seen(room("side"), "There is nothing to do.")


async def test_help_is_of_this_person_at_this_place() -> None:
    async with stage(session("desk")) as on:
        mine = await said(on, "/help")
        assert "Hand over work:\n/ask NAME TEXT" in mine
        assert "What you write here goes to Desk." in mine
        await on.say("nowhere", "/help", USER)
        theirs = await on.chat.seen(room("nowhere"), "No session is bound to this place: ask an operator to bind one.")
        assert not any(f"/{name}" in theirs.text for name in ("ask", "stop", "bind", "policy", "queue"))
        on.chat.open = False
        assert "No operator is here" in await said(on, "/help")
