"""What a person types may begin with the name of another session: then it is handed to that one."""

from dataclasses import replace

import pytest

from bridge.errors import Code
from bridge.message import Origin
from bridge.ports.chat import Heard
from bridge.ports.runtime import Prompt
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import OPERATOR, USER, Stage, ident, room, rule, session, stage

DESK = room("desk")
ONLY_PEOPLE = [rule("default/shell", "default/desk")]


async def answers(agent: FakeAgent, prompt: Prompt) -> str:
    return f"about {prompt.words}: yes"


def heard_by(on: Stage) -> list[tuple[str, str | None]]:
    return [(who, prompt.words) for who, prompt in on.runtime.prompts]


@pytest.mark.parametrize(
    "text",
    [
        "@career is it real?",
        "@session:default/career is it real?",
        "@session:career is it real?",
        "  @career\nis it real?",
        "@career: is it real?",
        "@career, is it real?",
        "@default/career is it real?",
        "@Life Coach is it real?",
        "@life coach\n is it real?",
    ],
)
async def test_a_mention_at_the_beginning_is_a_handoff_by_that_person(text: str) -> None:
    titled = replace(session("career"), title="Life Coach")
    async with stage(session("desk"), titled, rules=ONLY_PEOPLE) as on:
        on.agent("career", answers)
        await on.say("desk", text)
        await on.chat.seen(DESK, "career: about is it real?: yes")
        await on.quiet()
        assert heard_by(on) == [(ident("career"), "is it real?")]
        asked = (await on.store.recent_verdicts(None, 9))[-1]
        assert (asked.sender, asked.origin, asked.person) == (ident("desk"), Origin.USER, OPERATOR.id)


@pytest.mark.parametrize(
    "text",
    [
        "@nobody is it real?",
        "@ career is it real?",
        "ask @career whether it is real",
        "career@example.com wrote",
        "@careers is it real?",
        "@desk is it real?",
        "@",
    ],
)
async def test_what_mentions_no_other_session_at_its_beginning_is_for_the_one_here_whole(text: str) -> None:
    async with stage(session("desk"), session("career")) as on:
        await on.say("desk", text)
        await on.quiet()
        assert heard_by(on) == [(ident("desk"), text)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("@Twin look", "Choose: default/one, default/two"),
        ("@session:default/nobody look", "See /sessions"),
        ("@session:other/career look", "See /sessions"),
        ("@career", "Like: @career TEXT"),
        ("@career:", "Like: @career TEXT"),
    ],
)
async def test_a_mention_that_cannot_be_meant_so_is_told_and_reaches_nobody(text: str, told: str) -> None:
    twins = [replace(session(name), title="Twin") for name in ("one", "two")]
    async with stage(session("desk"), session("career"), *twins) as on:
        await on.say("desk", text)
        await on.chat.seen(DESK, told)
        await on.quiet()
        assert on.runtime.prompts == []


async def test_a_mention_is_decided_like_every_handoff() -> None:
    async with stage(session("desk"), session("career"), rules=ONLY_PEOPLE) as on:
        await on.say("desk", "@career look", USER)
        await on.quiet()
        assert on.runtime.prompts == []
        assert (await on.store.recent_verdicts(None, 1))[0].code is Code.NOT_PERMITTED


async def test_what_somebody_else_had_mentioned_is_not_handed_on_again() -> None:
    async with stage(session("desk"), session("career")) as on:
        heard = Heard(DESK, OPERATOR, "@career look", "room:desk:forwarded", passed_on=True)
        await on.exchange.inbound.hear(heard)
        await on.quiet()
        assert heard_by(on) == [(ident("desk"), "@career look")]


async def test_a_mention_that_is_heard_twice_is_handed_on_once() -> None:
    async with stage(session("desk"), session("career")) as on:
        on.agent("career", answers)
        for _ in range(2):
            await on.say("desk", "@career look", key="room:desk:same")
            await on.quiet()
        assert heard_by(on) == [(ident("career"), "look")]


async def test_what_an_agent_writes_mentions_nobody() -> None:
    async with stage(session("desk"), session("career")) as on:

        async def mentions(agent: FakeAgent, prompt: Prompt) -> str:
            return "@career look"

        on.agent("desk", mentions)
        await on.say("desk", "hello")
        await on.chat.seen(DESK, "@career look")
        await on.quiet()
        assert heard_by(on) == [(ident("desk"), "hello")]


async def test_a_mention_where_no_session_is_offers_to_bind_the_place() -> None:
    async with stage(session("career")) as on:
        await on.say("nowhere", "@career look")
        await on.chat.seen(room("nowhere"), "/bind")
        assert on.runtime.prompts == []
