"""A store that fails in the middle of a change may have stored it: whoever goes on does so from either state."""

import asyncio
from contextlib import nullcontext

import pytest

from bridge.errors import Code, Refused
from bridge.message import Intent, Message, Outcome
from bridge.ports.runtime import Prompt
from bridge.ports.store import Change
from bridge.request import Answer
from bridge.turn import Turn, TurnState
from bridge.views import AnswerView, Mail
from tests.fakes.fragile import FragileStore
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import session, stage


class Once:
    """Says yes to the first change that holds such a thing."""

    def __init__(self, wanted: str) -> None:
        self._wanted = wanted
        self.done = False

    def __call__(self, change: Change) -> bool:
        found = not self.done and any(self._is(one) for one in change.puts)
        self.done = self.done or found
        return found

    def _is(self, one: object) -> bool:
        if isinstance(one, Turn):
            return one.state.value == self._wanted
        read = isinstance(one, Message) and one.read_at is not None
        return read and isinstance(one, Message) and (one.intent is Intent.REPLY) == (self._wanted == "answer")


@pytest.mark.parametrize("state", [TurnState.STARTING, TurnState.RUNNING])
async def test_a_turn_goes_on_whose_state_was_stored_by_a_change_that_failed(state: TurnState) -> None:
    store = FragileStore()
    async with stage(session("career"), store=store) as on:
        store.forgets = Once(state)
        began_with_its_input = state is TurnState.STARTING
        with pytest.raises(Refused) if began_with_its_input else nullcontext():
            await on.say("career", "hello")
        await on.quiet()
        await on.clock.advance(5)
        assert [prompt.words for _, prompt in on.runtime.prompts] == ["hello"]


async def test_what_was_read_by_a_look_that_failed_is_shown_by_the_next_one() -> None:
    store = FragileStore()
    async with stage(session("career"), store=store) as on:
        seen: list[Mail] = []

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            with pytest.raises(Refused, match="unavailable"):
                await on.tools(agent).receive()
            for _ in range(2):
                seen.extend((await on.tools(agent).receive()).messages)
            return "done"

        on.agent("career", career)
        store.forgets = Once("mail")
        sent = await on.send("career", "hello")
        await on.quiet()
        assert [(mail.message_id, mail.redelivered) for mail in seen] == [(sent.message_id, True)]
        assert (await on.message(sent.message_id)).outcome is Outcome.ACKED


async def test_a_final_text_answers_what_was_read_though_other_mail_was_not_heard_of() -> None:
    store = FragileStore()
    async with stage(session("career"), store=store) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            if len(on.runtime.prompts) > 1:
                return ""
            assert len((await on.tools(agent).receive(1)).messages) == 1
            store.forgets = Once("mail")
            with pytest.raises(Refused, match="unavailable"):
                await on.tools(agent).receive()
            return "done"

        on.agent("career", career)
        news = await on.send("career", "news", intent=Intent.INFORM, wake=False)
        sent = await on.send("career", "hello")
        await on.quiet()
        assert (await on.request(sent.message_id)).state is Answer.ANSWERED
        assert (await on.message(news.message_id)).outcome is None


async def test_what_was_read_by_a_look_that_was_cut_off_is_shown_by_the_next_one() -> None:
    store = FragileStore()
    async with stage(session("career"), store=store) as on:
        seen: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            store.gate = asyncio.Event()
            look = asyncio.ensure_future(on.tools(agent).receive())
            await on.quiet()
            look.cancel()
            store.gate = None
            seen.set_result([mail.text for mail in (await on.tools(agent).receive()).messages])
            return "done"

        on.agent("career", career)
        await on.send("career", "hello")
        assert await seen == ["hello"]


async def test_what_a_failed_look_had_read_is_shown_bit_by_bit_to_a_reader_that_takes_little_at_once() -> None:
    store = FragileStore()
    async with stage(session("notes", agent=None), store=store) as on:
        reader = await on.shell("notes")
        sent = [(await on.send("notes", f"number {number}")).message_id for number in range(3)]
        store.forgets = Once("mail")
        with pytest.raises(Refused, match="unavailable"):
            await on.exchange.receive(reader, 50)
        shown = [(await on.exchange.receive(reader, 1)).messages[0].message_id for _ in sent]
        assert shown == sent


async def test_a_reader_outside_of_turns_acknowledges_nothing_that_it_may_not_have_got() -> None:
    store = FragileStore()
    async with stage(session("notes", agent=None), store=store) as on:
        reader = await on.shell("notes")
        sent = await on.send("notes", "hello")
        store.forgets = Once("mail")
        with pytest.raises(Refused) as refused:
            await on.exchange.receive(reader, 50)
        assert refused.value.code is Code.UNAVAILABLE
        [again] = (await on.exchange.receive(reader, 50)).messages
        assert (again.message_id, again.redelivered) == (sent.message_id, True)
        assert (await on.exchange.receive(reader, 50)).messages == ()
        assert (await on.message(sent.message_id)).outcome is Outcome.ACKED


async def test_an_answer_is_given_though_it_is_not_known_whether_its_reading_was_stored() -> None:
    store = FragileStore()
    async with stage(session("desk"), session("career"), store=store) as on:
        views: list[AnswerView] = []

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            views.append(await on.tools(agent).ask("career", "how are you"))
            return "done"

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            await on.tools(agent).receive()
            return "fine"

        on.agent("desk", desk)
        on.agent("career", career)
        store.forgets = Once("answer")
        await on.say("desk", "ask career")
        await on.quiet()
        assert [(view.answer, view.reply and view.reply.text) for view in views] == [(Answer.ANSWERED, "fine")]
