"""An agent's question for permission goes to the people of its place, or is denied (DESIGN §4)."""

import asyncio
from collections.abc import Sequence

from bridge.limits import Limits
from bridge.ports.chat import Heard, Pressed
from bridge.ports.runtime import Prompt
from bridge.post import Post
from bridge.question import Answer, Asked, Option, Question
from tests.fakes.fragile import FragileStore
from tests.fakes.runtime import Behaviour, FakeAgent
from tests.flow.stage import OPERATOR, USER, Stage, room, session, stage

CAREER = room("career")
OPTIONS = (Option("yes", "Allow", True, False), Option("no", "Reject", False, False))


def asking(
    on: Stage, chosen: list[str | None], *, read: bool = False, options: Sequence[Option] = OPTIONS
) -> Behaviour:
    async def behaviour(agent: FakeAgent, prompt: Prompt) -> str:
        if read:
            await on.tools(agent).receive()
        assert agent.listener is not None
        answer = await agent.listener.asked(Question("rm -r build", options))
        chosen.append(answer.choice)
        return "done"

    return behaviour


async def test_an_operator_chooses_once_and_others_may_not() -> None:
    async with stage(session("career")) as on:
        chosen: list[str | None] = []
        on.agent("career", asking(on, chosen))
        await on.say("career", "clean up")
        asked = await on.chat.seen(CAREER, "career asks for permission: rm -r build")
        assert [button.label for button in asked.buttons] == ["Allow", "Reject"]
        assert "only an operator" in await on.press("career", "Allow", USER)
        assert chosen == []
        assert await on.press("career", "Allow") == "Allow"
        assert "decided" in await on.exchange.inbound.press(Pressed(CAREER, OPERATOR, asked.buttons[1].action))
        await on.chat.seen(CAREER, "rm -r build\n· Allow")
        assert chosen == ["yes"]
        assert all(not post.buttons for post in on.chat.posts.values())


async def test_a_forged_choice_decides_nothing() -> None:
    async with stage(session("career")) as on:
        chosen: list[str | None] = []
        on.agent("career", asking(on, chosen))
        await on.say("career", "clean up")
        asked = await on.chat.seen(CAREER, "asks for permission")
        base = asked.buttons[0].action.rpartition(":")[0]
        for action in (f"{base}:9", f"{base}:x", "answer:none:0", "unheard:of", ""):
            await on.exchange.inbound.press(Pressed(CAREER, OPERATOR, action))
        await on.quiet()
        assert chosen == []
        await on.press("career", "Reject")
        await on.quiet()
        assert chosen == ["no"]


async def test_no_answer_in_time_is_a_denial() -> None:
    async with stage(session("career"), limits=Limits(question_timeout_s=300)) as on:
        chosen: list[str | None] = []
        on.agent("career", asking(on, chosen))
        await on.say("career", "clean up")
        await on.clock.advance(299)
        assert chosen == []
        await on.clock.advance(1)
        assert chosen == [None]
        await on.chat.seen(CAREER, "denied: no answer in time")
        assert all(not post.buttons for post in on.chat.posts.values() if "permission" in post.text)


async def test_a_time_of_zero_waits_without_end() -> None:
    async with stage(session("career"), limits=Limits(question_timeout_s=0)) as on:
        chosen: list[str | None] = []
        on.agent("career", asking(on, chosen))
        await on.say("career", "clean up")
        await on.clock.advance(600)
        assert chosen == []
        await on.press("career", "Allow")
        await on.quiet()
        assert chosen == ["yes"]


async def test_where_nobody_attends_it_is_denied_at_once() -> None:
    async with stage(session("career")) as on:
        on.chat.open = False
        chosen: list[str | None] = []
        on.agent("career", asking(on, chosen))
        await on.say("career", "clean up")
        await on.chat.seen(CAREER, "denied: nobody attends who could allow it")
        assert chosen == [None]


async def test_a_stop_withdraws_the_question() -> None:
    async with stage(session("career")) as on:
        chosen: list[str | None] = []
        on.agent("career", asking(on, chosen))
        await on.say("career", "clean up")
        asked = await on.chat.seen(CAREER, "asks for permission")
        await on.say("career", "/stop")
        await on.chat.seen(CAREER, "· withdrawn")
        assert "decided" in await on.exchange.inbound.press(Pressed(CAREER, OPERATOR, asked.buttons[0].action))


async def test_a_persons_turn_that_found_no_mail_still_asks_its_person() -> None:
    async with stage(session("career")) as on:
        chosen: list[str | None] = []
        on.agent("career", asking(on, chosen, read=True))
        await on.say("career", "read your mail")
        await on.chat.seen(CAREER, "asks for permission")
        await on.press("career", "Allow")
        await on.quiet()
        assert chosen == ["yes"]


async def test_a_question_goes_to_the_place_where_the_person_spoke() -> None:
    async with stage(session("career", places=(CAREER, room("second")))) as on:
        chosen: list[str | None] = []
        on.agent("career", asking(on, chosen))
        await on.exchange.inbound.hear(heard_at("second"))
        await on.chat.seen(room("second"), "asks for permission")
        assert on.chat.texts(CAREER) == []


def heard_at(handle: str) -> Heard:
    return Heard(room(handle), OPERATOR, "clean up", f"key:{handle}")


async def test_a_question_that_is_cancelled_waits_for_no_store_that_is_out_of_reach() -> None:
    store = FragileStore()
    async with stage(session("career"), store=store) as on:
        asking_now: list[asyncio.Task[Answer]] = []

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            assert agent.listener is not None
            asking_now.append(asyncio.ensure_future(agent.listener.asked(Question("rm -r build", OPTIONS))))
            await asyncio.wait(asking_now)
            return "done"

        on.agent("career", career)
        await on.say("career", "clean up")
        await on.chat.seen(CAREER, "asks for permission")
        store.down = True
        asking_now[0].cancel()
        await on.quiet()
        assert asking_now[0].cancelled()
        store.down = False


class Interrupted:
    """An agent that asks the same question twice in its turn: the bridge that had asked first has died, so that its
    post is as it was."""

    def __init__(self, on: Stage, store: FragileStore, options: Sequence[Option] = OPTIONS) -> None:
        self.answers: list[Answer] = []
        self._on = on
        self._store = store
        self._options = options
        self._again = asyncio.Event()
        self._first: list[asyncio.Task[Answer]] = []
        on.agent("career", self._behave)

    async def _behave(self, agent: FakeAgent, prompt: Prompt) -> str:
        assert agent.listener is not None
        question = Question("rm -r build", self._options, number=2, asked_at=self._on.clock.now())
        self._first.append(asyncio.ensure_future(agent.listener.asked(question)))
        await asyncio.wait(self._first)
        await self._again.wait()
        self.answers.append(await agent.listener.asked(question))
        return "done"

    async def die(self) -> Post:
        """Returns the post that asks, with its buttons."""
        await self._on.say("career", "clean up")
        asked = await self._on.chat.seen(CAREER, "asks for permission")
        self._store.down = True
        self._first[0].cancel()
        await self._on.quiet()
        self._store.down = False
        return asked

    async def ask_again(self) -> None:
        self._again.set()
        await self._on.quiet()

    def posts(self) -> list[Post]:
        return [post for post in self._on.chat.posts.values() if "rm -r build" in post.text]


async def test_a_bridge_that_goes_on_with_a_turn_asks_again_in_the_same_post_and_its_old_buttons_work() -> None:
    store = FragileStore()
    async with stage(session("career"), store=store) as on:
        agent = Interrupted(on, store)
        asked = await agent.die()
        await agent.ask_again()
        assert await on.exchange.inbound.press(Pressed(CAREER, OPERATOR, asked.buttons[0].action)) == "Allow"
        await on.quiet()
        assert [one.choice for one in agent.answers] == ["yes"]
        (post,) = agent.posts()
        assert (post.text.endswith("· Allow"), post.buttons) == (True, ())


async def test_an_answer_that_comes_before_the_question_is_asked_again_is_kept_for_it_once() -> None:
    store = FragileStore()
    async with stage(session("career"), store=store) as on:
        agent = Interrupted(on, store)
        asked = await agent.die()
        press = on.exchange.inbound.press
        assert "only an operator" in await press(Pressed(CAREER, USER, asked.buttons[0].action))
        assert "passed on as soon as" in await press(Pressed(CAREER, OPERATOR, asked.buttons[1].action))
        assert "decided" in await press(Pressed(CAREER, OPERATOR, asked.buttons[0].action))
        await agent.ask_again()
        assert [(one.outcome, one.choice) for one in agent.answers] == [(Asked.ANSWERED, "no")]
        assert "decided" in await press(Pressed(CAREER, OPERATOR, asked.buttons[0].action))
        (post,) = agent.posts()
        assert (post.text.endswith("· Reject"), post.buttons) == (True, ())


async def test_what_no_post_offers_is_kept_for_nothing() -> None:
    store = FragileStore()
    async with stage(session("career"), store=store) as on:
        agent = Interrupted(on, store)
        asked = await agent.die()
        base = asked.buttons[0].action.rpartition(":")[0]
        for action in (f"{base}:9", f"{base}:x", f"{base}.1:0", "answer:none.1:0"):
            assert "decided" in await on.exchange.inbound.press(Pressed(CAREER, OPERATOR, action))
        await agent.ask_again()
        assert agent.answers == []
        await on.press("career", "Reject")
        await on.quiet()
        assert [one.choice for one in agent.answers] == ["no"]


async def test_the_time_is_counted_from_when_it_was_first_asked() -> None:
    store = FragileStore()
    async with stage(session("career"), store=store, limits=Limits(question_timeout_s=300)) as on:
        agent = Interrupted(on, store)
        await agent.die()
        await on.clock.advance(200)
        await agent.ask_again()
        await on.clock.advance(99)
        assert agent.answers == []
        await on.clock.advance(1)
        assert [one.outcome for one in agent.answers] == [Asked.TIMED_OUT]
        (post,) = agent.posts()
        assert (post.text.endswith("denied: no answer in time"), post.buttons) == (True, ())


async def test_a_kept_answer_counts_even_where_the_time_is_over_by_then() -> None:
    store = FragileStore()
    async with stage(session("career"), store=store, limits=Limits(question_timeout_s=300)) as on:
        agent = Interrupted(on, store)
        asked = await agent.die()
        await on.exchange.inbound.press(Pressed(CAREER, OPERATOR, asked.buttons[0].action))
        await on.clock.advance(400)
        await agent.ask_again()
        assert [one.choice for one in agent.answers] == ["yes"]


async def test_a_button_means_the_option_that_it_showed_whatever_is_offered_when_it_is_asked_again() -> None:
    """Once mail of a peer was read, the agent's lasting options are not offered any more."""
    options = (
        Option("no", "Reject", False, False),
        Option("never", "Never", False, True),
        Option("yes", "Allow", True, False),
    )
    store = FragileStore()
    async with stage(session("career"), store=store) as on:
        agent = Interrupted(on, store, options)
        asked = await agent.die()
        await on.send("career", "allow it", wake=False)
        await on.tools(on.runtime.agents[0]).receive()
        await on.exchange.inbound.press(Pressed(CAREER, OPERATOR, asked.buttons[1].action))
        await agent.ask_again()
        assert agent.answers == []
        post = await on.chat.seen(CAREER, "another session's message is behind it")
        assert [(one.label, one.action[-1]) for one in post.buttons] == [("Reject", "0"), ("Allow", "2")]


async def test_a_stopped_turn_keeps_no_answers() -> None:
    store = FragileStore()
    async with stage(session("career"), store=store) as on:
        agent = Interrupted(on, store)
        asked = await agent.die()
        await on.say("career", "/stop")
        assert "decided" in await on.exchange.inbound.press(Pressed(CAREER, OPERATOR, asked.buttons[0].action))
        assert agent.answers == []
