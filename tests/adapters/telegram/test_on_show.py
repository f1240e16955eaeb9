"""A turn, a handoff and a list as a person in Telegram sees them, from the bridge to the Bot API."""

import asyncio

from adapters.telegram.place import SCHEME
from bridge.ports.runtime import Prompt, ToolBegun, ToolEnded
from tests.adapters.telegram.stage import CAREER, DESK, FORUM, OPERATOR, USER, FlyingClock
from tests.adapters.telegram.test_uninvited import Office, office
from tests.fakes.bot_api import BotApi, Fault, Sent, Upload
from tests.fakes.runtime import FakeAgent


class Busy:
    def __init__(self, here: Office, handle: str) -> None:
        self.go = asyncio.Event()
        here.on.agent(handle, self.works)

    async def works(self, agent: FakeAgent, prompt: Prompt) -> str:
        assert agent.listener is not None
        await agent.listener.happened(ToolBegun("1", "Bash", reading=False, title="git *status*"))
        await agent.listener.happened(ToolEnded("1", ok=True, result="clean"))
        await self.go.wait()
        return "It is clean."


def labels(sent: Sent) -> list[str]:
    return [label for label, _ in sent.buttons]


def is_over(sent: Sent) -> bool:
    return sent.text.endswith("· answered") and bool(sent.buttons)


async def test_a_turn_is_one_silent_message_with_a_stop_and_then_a_final_that_is_heard(
    api: BotApi, clock: FlyingClock
) -> None:
    async with office(api, clock) as here:
        busy = Busy(here, "desk")
        api.say("look", chat=FORUM, thread=DESK, user=OPERATOR)
        await api.until(lambda: bool(api.calls("sendChatAction")))
        await here.on.clock.advance(3)
        live = await api.seen(lambda sent: "Working · 0:03" in sent.text)
        assert live.marked("blockquote") == ["✓ Bash: git *status* → clean"]
        assert live.thread == DESK
        assert labels(live) == ["Stop"]
        await here.on.clock.advance(62)
        busy.go.set()
        final = await api.seen(lambda sent: sent.text == "It is clean.")
        assert (live.silent, final.silent) == (True, False)
        await api.seen(lambda sent: sent.text == "Done after 1:05 · 1 tool")
        assert [sent.text for sent in api.sent(FORUM, DESK)] == ["Done after 1:05 · 1 tool", "It is clean."]


async def test_a_final_that_telegram_takes_for_too_long_comes_as_a_document(api: BotApi, clock: FlyingClock) -> None:
    async with office(api, clock) as here:
        busy = Busy(here, "desk")
        busy.go.set()
        api.fail("sendMessage", Fault.TOO_LARGE)
        api.say("look", chat=FORUM, thread=DESK, user=OPERATOR)
        final = await api.seen(lambda sent: sent.file is not None)
        assert (final.thread, final.silent, final.file) == (
            DESK,
            False,
            Upload("document", "answer.md", b"It is clean."),
        )


async def test_the_button_stops_the_turn_for_an_operator_only_and_says_so(api: BotApi, clock: FlyingClock) -> None:
    async with office(api, clock) as here:
        Busy(here, "desk")
        api.say("look", chat=FORUM, thread=DESK, user=OPERATOR)
        await here.on.clock.advance(0)
        await api.until(lambda: bool(api.calls("sendChatAction")))
        await here.on.clock.advance(3)
        live = await api.seen(lambda sent: "Working" in sent.text)
        ((_, stop),) = live.buttons
        assert len(stop.encode()) <= 64
        assert "only an operator" in str(await api.answered(api.press(live, stop, user=USER)))
        assert await api.answered(api.press(live, stop, user=OPERATOR)) == "Stopped."
        await api.seen(lambda sent: sent.text.startswith("Stopped after 0:03"))
        assert await api.answered(api.press(live, stop, user=OPERATOR)) == "This turn is over."


async def test_a_handoff_is_in_both_topics_with_links_and_its_answer_below_it(api: BotApi, clock: FlyingClock) -> None:
    async with office(api, clock) as here:

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            return "yes"

        here.on.agent("career", career)
        api.say("/handoff career is it real?", chat=FORUM, thread=DESK, user=OPERATOR)
        mine = await api.seen(lambda sent: sent.thread == DESK and "· answered" in sent.text and bool(sent.buttons))
        theirs = await api.seen(lambda sent: sent.thread == CAREER and "· answered" in sent.text and bool(sent.buttons))
        assert mine.text == theirs.text == "desk → career: is it real?\n· answered"
        for one, other, name in ((mine, theirs, "Career"), (theirs, mine, "Desk")):
            assert one.buttons == ((f"Open in {name}", f"https://t.me/c/1234/{other.message_id}"),)
        answer = await api.seen(lambda sent: sent.thread == DESK and sent.text == "career: yes")
        assert answer.reply_to == mine.message_id
        there = await api.seen(lambda sent: sent.thread == CAREER and sent.text == "yes")
        assert (answer.silent, there.silent) == (False, True)


async def test_a_session_is_picked_and_its_text_written_as_a_reply(api: BotApi, clock: FlyingClock) -> None:
    async with office(api, clock) as here:

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            return f"about {prompt.words}"

        here.on.agent("career", career)
        api.say("/ask", chat=FORUM, thread=DESK, user=OPERATOR)
        shown = await api.seen(lambda sent: "Which session?" in sent.text)
        assert labels(shown) == ["Career"]
        ((_, pick),) = shown.buttons
        assert "somebody else" in str(await api.answered(api.press(shown, pick, user=USER)))
        assert await api.answered(api.press(shown, pick, user=OPERATOR)) == "Career"
        asks = await api.seen(lambda sent: "Reply to this message with the text for Career." in sent.text)
        api.say("is it real?", chat=FORUM, thread=DESK, user=OPERATOR, reply_to=asks.message_id)
        await api.seen(lambda sent: sent.thread == DESK and sent.text == "career: about is it real?")
        assert await here.on.store.last_update(SCHEME)


async def test_a_reply_to_ones_own_message_hands_that_on_and_anothers_only_as_a_quote(
    api: BotApi, clock: FlyingClock
) -> None:
    async with office(api, clock) as here:

        async def agent(agent: FakeAgent, prompt: Prompt) -> str:
            return f"about {prompt.words}"

        here.on.agent("career", agent)
        here.on.agent("desk", agent)
        mine = api.say("is it real?", chat=FORUM, thread=DESK, user=OPERATOR)
        theirs = api.say("not mine", chat=FORUM, thread=DESK, user=USER)
        api.say("/ask career", chat=FORUM, thread=DESK, user=OPERATOR, reply_to=mine)
        await api.seen(lambda sent: sent.text == "career: about is it real?")
        api.say("/ask career", chat=FORUM, thread=DESK, user=OPERATOR, reply_to=theirs)
        await api.until(lambda: len(here.on.runtime.prompts) == 4)
        last = here.on.runtime.prompts[-1][1]
        assert (last.words or "", [one.text for one in last.attachments]) == ("", ["not mine"])
