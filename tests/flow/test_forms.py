"""What an agent asks people for, beside leave to use a tool: by buttons, or by what they type (DESIGN §8)."""

import asyncio
from collections.abc import Sequence

import pytest

from bridge.audit import ActKind
from bridge.limits import Limits
from bridge.ports.chat import Heard, Person
from bridge.ports.runtime import Prompt
from bridge.question import Answer, Asked, Choice, Field, Question, Typed, Value
from bridge.session import PeerTools
from tests.fakes.fragile import FragileStore
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import OPERATOR, USER, Stage, acts, room, session, stage

CAREER = room("career")
NAME = Field("name", "Name of the branch", typed=Typed.TEXT, least=2, most=20)
COUNT = Field("count", "How many", typed=Typed.INTEGER, least=1, most=9)
PUSH = Field("push", "Push it", (Choice("Yes", True), Choice("No", False)))
COLOUR = Field("colour", "Colour", (Choice("Dark red", "red"), Choice("Blue", "blue")), required=False)
BEHIND = "another session's message is behind it"


def asking(on: Stage, *form: Field, url: str | None = None, unfit: str | None = None, number: int = 1) -> list[Answer]:
    """Its agent reads its mail and asks; what it was answered is in the list."""
    answers: list[Answer] = []

    async def behaviour(agent: FakeAgent, prompt: Prompt) -> str:
        await on.tools(agent).receive()
        assert agent.listener is not None
        question = Question("I need something", form=form, url=url, unfit=unfit, number=number)
        answers.append(await agent.listener.asked(question))
        return "done"

    on.agent("career", behaviour)
    return answers


async def reply(on: Stage, part: str, text: str, person: Person = OPERATOR, *, forwarded: bool = False) -> None:
    """A person replies to the post that shows `part`."""
    await on.chat.seen(CAREER, part)
    shown = next(post for post in on.chat.posts.values() if part in post.text)
    stored = await on.store.post(shown.key)
    assert stored is not None
    heard = Heard(CAREER, person, text, f"key:{text}:{person.id}", reply_to=stored.receipt, passed_on=forwarded)
    await on.exchange.inbound.hear(heard)


def values(answers: Sequence[Answer]) -> list[tuple[Asked, dict[str, Value] | None]]:
    return [(one.outcome, dict(one.values) if one.values is not None else None) for one in answers]


async def test_a_choice_is_made_by_its_button() -> None:
    async with stage(session("career")) as on:
        answers = asking(on, PUSH)
        await on.say("career", "go on")
        asked = await on.chat.seen(CAREER, "career asks: I need something\n  Push it")
        assert [button.label for button in asked.buttons] == ["Yes", "No", "Decline"]
        assert max(len(button.action) for button in asked.buttons) <= 64
        assert await on.press("career", "No") == "No"
        await on.chat.seen(CAREER, "Push it\n· No")
        assert values(answers) == [(Asked.ANSWERED, {"push": False})]


@pytest.mark.parametrize("how", ["reply", "command"])
async def test_what_an_operator_types_goes_to_the_agent_as_that_and_as_nothing_else(how: str) -> None:
    async with stage(session("career")) as on:
        answers = asking(on, NAME)
        await on.say("career", "go on")
        asked = await on.chat.seen(CAREER, "Name of the branch\n· reply to this message")
        assert [button.label for button in asked.buttons] == ["Decline"]
        if how == "reply":
            await reply(on, "Name of the branch", " open sesame ")
        else:
            await on.say("career", "/answer open sesame")
        await on.chat.seen(CAREER, "· answered")
        await on.quiet()
        assert values(answers) == [(Asked.ANSWERED, {"name": "open sesame"})]
        assert [prompt.words for _, prompt in on.runtime.prompts] == ["go on"]
        assert not [text for text in on.chat.texts(CAREER) if "sesame" in text]


@pytest.mark.parametrize(
    ("field", "text", "why"),
    [
        (NAME, "x", "at least 2 characters"),
        (NAME, "x" * 21, "at most 20 characters"),
        (COUNT, "many", "a whole number is asked for"),
        (COUNT, "2.5", "a whole number is asked for"),
        (COUNT, "10", "at most 9"),
        (COUNT, "9" * 400, "a whole number is asked for"),
        (Field("n", "N", typed=Typed.NUMBER), "nan", "a number is asked for"),
        (Field("n", "N", typed=Typed.NUMBER), "1e999", "a number is asked for"),
        (Field("n", "N", typed=Typed.TEXT), "x" * 10_001, "the limit is 10000"),
        (PUSH, "perhaps", "They are: Yes, No, Decline."),
    ],
)
async def test_what_does_not_fit_is_told_and_the_question_stays_open(field: Field, text: str, why: str) -> None:
    async with stage(session("career")) as on:
        answers = asking(on, field)
        await on.say("career", "go on")
        await on.chat.seen(CAREER, "I need something")
        await on.say("career", f"/answer {text}")
        await on.chat.seen(CAREER, why)
        assert answers == []
        await on.press("career", "Decline")
        await on.quiet()
        assert values(answers) == [(Asked.ANSWERED, None)]


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        (COUNT, "7", 7),
        (Field("count", "N", typed=Typed.NUMBER), " -2.5 ", -2.5),
        (PUSH, "yes", True),
        (COLOUR, "dark RED", "red"),
        (Field("count", "N", typed=Typed.TEXT), "/usr/bin", "/usr/bin"),
    ],
)
async def test_a_value_reaches_the_agent_as_what_it_is(field: Field, text: str, value: Value) -> None:
    async with stage(session("career")) as on:
        answers = asking(on, field)
        await on.say("career", "go on")
        await on.chat.seen(CAREER, "I need something")
        await on.say("career", f"/answer {text}")
        await on.quiet()
        assert values(answers) == [(Asked.ANSWERED, {field.name: value})]


async def test_several_values_are_asked_one_after_the_other_and_some_may_be_left_out() -> None:
    async with stage(session("career")) as on:
        answers = asking(on, NAME, COLOUR, PUSH)
        await on.say("career", "go on")
        await reply(on, "1 of 3: Name of the branch", "main")
        skipping = await on.chat.seen(CAREER, "2 of 3: Colour")
        assert [button.label for button in skipping.buttons] == ["Dark red", "Blue", "Skip", "Decline"]
        await on.press("career", "Skip")
        await on.chat.seen(CAREER, "3 of 3: Push it")
        await on.press("career", "Yes")
        await on.quiet()
        assert values(answers) == [(Asked.ANSWERED, {"name": "main", "push": True})]


async def test_who_declines_once_is_asked_no_more_of_it() -> None:
    async with stage(session("career")) as on:
        answers = asking(on, NAME, COLOUR, PUSH)
        await on.say("career", "go on")
        await on.chat.seen(CAREER, "1 of 3")
        await on.press("career", "Decline")
        await on.quiet()
        assert values(answers) == [(Asked.ANSWERED, None)]
        assert not [text for text in on.chat.texts(CAREER) if "2 of 3" in text]


async def test_a_link_is_shown_whole_and_opened_by_people_only() -> None:
    async with stage(session("career")) as on:
        url = "https://login.example/start?code=1234"
        answers = asking(on, url=url)
        await on.say("career", "go on")
        asked = await on.chat.seen(CAREER, f"nobody has opened it: {url}")
        assert [button.label for button in asked.buttons] == ["Done", "Decline"]
        await on.press("career", "Done")
        await on.quiet()
        assert values(answers) == [(Asked.ANSWERED, {})]


async def test_what_a_chat_cannot_ask_is_declined_and_people_see_that_it_was() -> None:
    async with stage(session("career")) as on:
        answers = asking(on, unfit="it asks for a list")
        await on.say("career", "go on")
        shown = await on.chat.seen(CAREER, "career asks: I need something\n· declined: it asks for a list")
        assert shown.buttons == ()
        assert answers == [Answer(Asked.UNDELIVERED, reason="it asks for a list")]


async def test_nobody_else_answers_for_an_operator() -> None:
    async with stage(session("career")) as on:
        answers = asking(on, NAME)
        await on.say("career", "go on")
        await reply(on, "Name of the branch", "of a user", USER)
        await reply(on, "Name of the branch", "of somebody else", forwarded=True)
        await on.quiet()
        assert answers == []
        assert [what for what, _ in await acts(on)] == [ActKind.REFUSED]
        assert [prompt.words for _, prompt in on.runtime.prompts] == ["go on"]


async def test_a_reply_that_comes_too_late_is_nobodys_words() -> None:
    async with stage(session("career")) as on:
        answers = asking(on, NAME)
        await on.say("career", "go on")
        await on.chat.seen(CAREER, "Name of the branch")
        await on.press("career", "Decline")
        await on.quiet()
        await reply(on, "Name of the branch", "main")
        await on.chat.seen(CAREER, "This has been decided, or is no longer asked.")
        await on.say("career", "/answer main")
        await on.chat.seen(CAREER, "no agent asks anything here now")
        assert len(answers) == 1
        assert [prompt.words for _, prompt in on.runtime.prompts] == ["go on"]


async def test_a_reply_to_a_question_for_permission_is_ordinary_words() -> None:
    async with stage(session("career")) as on:

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            assert agent.listener is not None
            if prompt.words == "go on":
                await agent.listener.asked(Question("rm", ()))
            return f"heard {prompt.words}"

        on.agent("career", career)
        await on.say("career", "go on")
        await reply(on, "asks for permission", "rather move it")
        await on.say("career", "/stop")
        await on.say("career", "/resume")
        await on.chat.seen(CAREER, "heard rather move it")


@pytest.mark.parametrize("begin", ["peer", "mail"])
async def test_a_form_is_no_way_round_what_holds_for_a_peers_turn(begin: str) -> None:
    for peer_tools, shown, outcome in (
        (PeerTools.DENY, f"declined: {BEHIND}", Asked.UNDELIVERED),
        (PeerTools.ASK, f"Push it\n· {BEHIND}", Asked.ANSWERED),
    ):
        async with stage(session("career", peer_tools=peer_tools)) as on:
            answers = asking(on, PUSH)
            await on.send("career", "push it", wake=begin == "peer")
            if begin == "mail":
                await on.say("career", "read your mail")
            asked = await on.chat.seen(CAREER, shown)
            assert bool(asked.buttons) is (outcome is Asked.ANSWERED)
            if asked.buttons:
                await on.press("career", "Yes")
            await on.quiet()
            assert [one.outcome for one in answers] == [outcome]


async def test_where_nobody_attends_it_is_declined_at_once() -> None:
    async with stage(session("career")) as on:
        on.chat.open = False
        answers = asking(on, NAME, PUSH)
        await on.say("career", "go on")
        await on.chat.seen(CAREER, "declined: nobody attends")
        assert [one.outcome for one in answers] == [Asked.UNDELIVERED]


async def test_the_time_for_a_form_is_counted_from_its_first_question() -> None:
    async with stage(session("career"), limits=Limits(question_timeout_s=300)) as on:
        answers = asking(on, NAME, PUSH)
        await on.say("career", "go on")
        await on.clock.advance(200)
        await reply(on, "Name of the branch", "main")
        await on.chat.seen(CAREER, "2 of 2")
        await on.clock.advance(99)
        assert answers == []
        await on.clock.advance(1)
        await on.chat.seen(CAREER, "Push it\n· declined: no answer in time")
        assert [one.outcome for one in answers] == [Asked.TIMED_OUT]


async def test_a_stop_cancels_it() -> None:
    async with stage(session("career")) as on:
        asking(on, NAME)
        await on.say("career", "go on")
        await on.chat.seen(CAREER, "Name of the branch")
        await on.say("career", "/stop")
        await on.chat.seen(CAREER, "· withdrawn")
        await reply(on, "Name of the branch", "main")
        await on.chat.seen(CAREER, "This has been decided, or is no longer asked.")


async def test_a_reply_that_comes_before_the_form_is_asked_again_is_kept_for_it() -> None:
    store = FragileStore()
    async with stage(session("career"), store=store) as on:
        answers: list[Answer] = []
        again = asyncio.Event()
        first: list[asyncio.Task[Answer]] = []

        async def career(agent: FakeAgent, prompt: Prompt) -> str:
            assert agent.listener is not None
            question = Question("I need something", form=(NAME,), number=3, asked_at=on.clock.now())
            first.append(asyncio.ensure_future(agent.listener.asked(question)))
            await asyncio.wait(first)
            await again.wait()
            answers.append(await agent.listener.asked(question))
            return "done"

        on.agent("career", career)
        await on.say("career", "go on")
        await on.chat.seen(CAREER, "Name of the branch")
        store.down = True
        first[0].cancel()  # as by the end of the bridge that had asked
        await on.quiet()
        store.down = False
        await reply(on, "Name of the branch", "main")
        await on.chat.seen(CAREER, "passed on as soon as the agent can be reached")
        await reply(on, "Name of the branch", "other")
        await on.chat.seen(CAREER, "This has been decided")
        again.set()
        await on.chat.seen(CAREER, "· answered")
        await on.quiet()
        assert values(answers) == [(Asked.ANSWERED, {"name": "main"})]
