"""A person stops all traffic between agents at once, and nothing passes until a person lets it go on (DESIGN §4)."""

import asyncio
from dataclasses import replace

from bridge.audit import ActKind
from bridge.message import Intent, State
from bridge.ports.chat import Pressed
from bridge.ports.runtime import Prompt
from bridge.ports.store import Change
from bridge.request import Answer
from bridge.views import Send
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import OPERATOR, acts, person, room, session, stage
from tests.flow.two_bridges import two_bridges

DESK, CAREER = session("desk"), session("career")
OFFICE = room("office")


async def test_a_pause_stops_all_traffic_between_agents_and_what_comes_waits() -> None:
    async with stage(DESK, CAREER) as on:
        heard: list[str] = []

        async def behaviour(agent: FakeAgent, prompt: Prompt) -> str:
            heard.extend(mail.text for mail in (await on.tools(agent).receive()).messages)
            return "done"

        on.agent("career", behaviour)
        await on.say("desk", "/policy pause")
        await on.chat.seen(room("desk"), "No agent reaches another")
        receipt = await on.send("career", "from an agent")
        await on.send("career", "for information", wake=False, intent=Intent.INFORM)
        assert receipt.state is State.QUEUED
        await on.chat.seen(room("career"), "all traffic between agents is paused by Olga")
        assert (await on.exchange.status(await person(on))).paused_by == OPERATOR.id
        await on.quiet()
        assert heard == []
        await on.say("career", "a person's own words")
        await on.chat.seen(room("career"), "done")
        assert heard == []
        await on.say("desk", "/policy resume")
        await on.quiet()
        assert heard == ["from an agent", "for information"]
        assert (await on.message(receipt.message_id)).settled_at is not None
        assert await acts(on) == [(ActKind.PAUSED, OPERATOR.id), (ActKind.RESUMED, OPERATOR.id)]


async def test_a_pause_survives_a_restart() -> None:
    async with stage(DESK, CAREER) as on:
        await on.exchange.oversight.pause(await person(on))
        store, clock = on.store, on.clock
    async with stage(DESK, CAREER, store=store, clock=clock) as on:
        receipt = await on.send("career", "waits")
        await on.quiet()
        assert (await on.message(receipt.message_id)).state is State.QUEUED
        await on.say("desk", "/policy resume")
        await on.quiet()
        assert on.runtime.prompts


async def test_a_terminal_does_not_end_a_pause_where_there_is_a_chat_but_asks_there() -> None:
    async with stage(DESK) as on:
        oversight = on.exchange.oversight
        assert not (await oversight.resume(await person(on))).waits_for  # there is nothing to end
        await oversight.pause(await person(on))
        for _ in range(2):
            asked = await oversight.resume(await person(on))
            assert (asked.paused, asked.waits_for) == (True, (OFFICE,))
        assert await acts(on) == [(ActKind.PAUSED, "shell"), (ActKind.PROPOSED, "shell")]
        await on.press_when_seen("office", "Accept", "asks for the end of the pause (by shell)")
        assert not (await on.store.regime()).paused
        assert (await acts(on))[2:] == [(ActKind.APPROVED, OPERATOR.id), (ActKind.RESUMED, OPERATOR.id)]


async def test_a_terminal_at_a_bridge_that_has_not_heard_of_a_pause_does_not_end_it() -> None:
    async with two_bridges() as (one, other):
        assert (await other.exchange.status(await other.shell())).paused_by is None
        for on in (one, one, other):
            await one.exchange.oversight.pause(await person(one))
            asked = await on.exchange.oversight.resume(await person(on))
            assert (asked.paused, bool(asked.waits_for)) == (True, True)
        assert (await one.store.regime()).paused


async def test_a_pause_holds_though_its_bridge_has_not_heard_that_an_earlier_one_is_over() -> None:
    async with two_bridges() as (one, other):
        await one.exchange.oversight.pause(await person(one))
        assert (await one.exchange.status(await one.shell())).paused_by == "shell"
        await other.say("desk", "/policy resume")
        assert not (await one.store.regime()).paused
        await one.exchange.oversight.pause(await person(one))
        assert (await one.store.regime()).paused


async def test_an_old_question_ends_no_later_pause() -> None:
    async with stage(DESK) as on:
        oversight = on.exchange.oversight
        await oversight.pause(await person(on))
        await oversight.resume(await person(on))
        asked = await on.chat.seen(OFFICE, "asks for the end of the pause")
        await on.say("desk", "/policy resume")
        await on.chat.seen(OFFICE, "withdrawn")
        await on.clock.advance(1)
        await oversight.pause(await person(on))
        pressed = Pressed(OFFICE, OPERATOR, asked.buttons[0].action)
        assert await on.exchange.inbound.press(pressed) == "This was withdrawn already."
        assert (await on.store.regime()).paused


async def test_a_question_that_is_open_still_ends_no_other_pause() -> None:
    async with stage(DESK) as on:
        await on.exchange.oversight.pause(await person(on))
        await on.exchange.oversight.resume(await person(on))
        await on.chat.seen(OFFICE, "asks for the end of the pause")
        regime = await on.store.regime()
        later = replace(regime, paused_at=on.clock.now() + 1, paused_by="another bridge")
        await on.store.commit(Change(puts=[later]))
        assert "that pause is over" in await on.press("office", "Accept")
        assert (await on.store.regime()).paused_by == "another bridge"


async def test_what_a_pause_holds_back_from_a_terminal_comes_after_it() -> None:
    async with stage(DESK, session("tool", agent=None)) as on:
        tool = await on.shell("tool")
        await on.exchange.oversight.pause(await person(on))
        await on.send("tool", "for the terminal", wake=False)
        assert (await on.exchange.receive(tool, 9)).messages == ()
        assert await on.exchange.inbox(tool, None, take=True) == []
        await on.say("desk", "/policy resume")
        assert [mail.text for mail in (await on.exchange.receive(tool, 9)).messages] == ["for the terminal"]


async def test_nothing_is_read_past_a_pause_but_by_people() -> None:
    async with stage(DESK, session("tool", agent=None)) as on:
        tool = await on.shell("tool")
        await on.exchange.oversight.pause(await person(on))
        await on.send("tool", "for the terminal", wake=False)
        assert await on.exchange.inbox(tool, None, take=False) == []
        assert await on.exchange.wait_inbox(tool, None, set(), 0) == []
        assert [mail.text for mail in await on.inbox("tool")] == ["for the terminal"]
        follows = asyncio.create_task(on.exchange.wait_inbox(tool, None, set(), 60))
        await on.quiet()
        await on.say("desk", "/policy resume")
        assert [mail.text for mail in await follows] == ["for the terminal"]


async def test_who_waits_for_an_answer_gets_it_after_a_pause() -> None:
    async with stage(DESK, session("tool", agent=None)) as on:
        tool, asker = await on.shell("tool"), await on.shell()
        waits = asyncio.create_task(on.exchange.ask(asker, Send("tool", "and?"), 60))
        await on.quiet()
        (mail,) = await on.exchange.inbox(tool, None, take=True)
        await on.exchange.oversight.pause(await person(on))
        await on.exchange.reply(tool, mail.message_id, "it is done")
        await on.quiet()
        assert not waits.done()
        looked = await on.exchange.answer(asker, mail.message_id, 0)
        assert (looked.answer, looked.reply) == (Answer.OPEN, None)
        assert looked.reason == "all traffic between agents is paused by shell"
        told = await on.exchange.answer(await person(on), mail.message_id, 0)
        assert told.reply is not None
        await on.say("desk", "/policy resume")
        view = await waits
        assert view.reply is not None
        assert view.reply.text == "it is done"


async def test_a_late_answer_is_not_read_past_a_pause_either() -> None:
    async with stage(DESK, session("tool", agent=None)) as on:
        tool, asker = await on.shell("tool"), await on.shell()
        sent = await on.send("tool", "and?", caller=asker)
        (mail,) = await on.exchange.inbox(tool, None, take=True)
        await on.exchange.cancel(asker, sent.message_id)
        await on.exchange.oversight.pause(await person(on))
        await on.exchange.reply(tool, mail.message_id, "late")
        looked = await on.exchange.answer(asker, sent.message_id, 0)
        assert (looked.answer, looked.reply) == (Answer.CANCELLED, None)
