"""What an agent asks its user for: as people can answer it, and back in the protocol's own terms."""

import asyncio
import json
from typing import Any

import pytest

from bridge.ports.runtime import Text
from bridge.question import Answer, Asked, Choice, Field, Typed, Value
from tests.adapters.acp.bench import Bench, Ear, until

ACCEPTS = Answer(Asked.ANSWERED, values={})


def form(*required: str, message: str = "I need something", **properties: Any) -> str:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return "elicit " + json.dumps({"mode": "form", "message": message, "requestedSchema": schema})


async def elicited(bench: Bench, directive: str, answer: Answer = ACCEPTS) -> tuple[Ear, Any]:
    """What was asked, and what the agent was answered."""
    agent = await bench.start()
    ear = Ear(answer=answer)
    result = await bench.say(agent, f"do: {directive}", ear)
    assert agent.alive
    assert result.final.startswith("elicited: "), result
    return ear, json.loads(result.final.removeprefix("elicited: "))


async def test_agents_are_told_that_people_can_be_asked(bench: Bench) -> None:
    await bench.start()
    (hello,) = bench.received("initialize")
    assert hello["params"]["clientCapabilities"]["elicitation"] == {"form": {}, "url": {}}


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        (
            {"type": "boolean", "title": "Push it"},
            Field("it", "Push it", (Choice("Yes", True), Choice("No", False))),
        ),
        (
            {"type": "string", "enum": ["red", "blue"]},
            Field("it", "it", (Choice("red", "red"), Choice("blue", "blue"))),
        ),
        (
            {"type": "string", "oneOf": [{"const": "r", "title": "Dark red"}]},
            Field("it", "it", (Choice("Dark red", "r"),)),
        ),
        (
            {"type": "string", "description": "of the\nbranch", "minLength": 2, "maxLength": 9, "format": "uri"},
            Field("it", "it: of the branch (uri)", typed=Typed.TEXT, least=2, most=9),
        ),
        (
            {"type": "integer", "minimum": 1, "default": 4},
            Field("it", "it (a whole number)", (Choice("Use 4", 4),), typed=Typed.INTEGER, least=1),
        ),
        ({"type": "number", "maximum": 0.5}, Field("it", "it (a number)", typed=Typed.NUMBER, most=0.5)),
    ],
)
async def test_a_value_is_asked_for_as_people_can_give_it(bench: Bench, asked: dict[str, Any], field: Field) -> None:
    ear, _ = await elicited(bench, form("it", it=asked))
    (question,) = ear.questions
    assert (question.title, question.form, question.options) == ("I need something", (field,), ())
    assert (question.number, question.unfit) == (1, None)
    assert question.asked_at == pytest.approx(bench.now, abs=60)


@pytest.mark.parametrize("value", ["main", 7, 2.5, True, ""])
async def test_what_people_say_is_the_content(bench: Bench, value: Value) -> None:
    _, told = await elicited(bench, form(it={"type": "string"}), Answer(Asked.ANSWERED, values={"it": value}))
    assert told == {"action": "accept", "content": {"it": value}}


@pytest.mark.parametrize(
    ("answer", "action"),
    [
        (Answer(Asked.ANSWERED), "decline"),
        (Answer(Asked.UNDELIVERED, reason="nobody attends"), "decline"),
        (Answer(Asked.TIMED_OUT), "cancel"),
        (Answer(Asked.CANCELLED), "cancel"),
    ],
)
async def test_what_nobody_said_is_told_as_what_it_is(bench: Bench, answer: Answer, action: str) -> None:
    _, told = await elicited(bench, form(it={"type": "string"}), answer)
    assert told["action"] == action
    assert told["_meta"]["tieline"]["outcome"] == answer.outcome
    assert told["_meta"]["tieline"].get("reason") == answer.reason
    assert "content" not in told


async def test_a_link_is_passed_on_and_not_opened(bench: Bench) -> None:
    request = {"mode": "url", "message": "Log in", "elicitationId": "e-1", "url": "https://login.example/?code=1"}
    ear, told = await elicited(bench, f"elicit {json.dumps(request)}")
    (question,) = ear.questions
    assert (question.title, question.url, question.form) == ("Log in", "https://login.example/?code=1", ())
    assert told == {"action": "accept", "content": {}}


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "javascript:alert(1)",
        "https://user:secret@login.example/",
        f"https://a.example/{'x' * 2000}",
    ],
)
async def test_a_link_that_people_should_not_follow_is_not_shown(bench: Bench, url: str) -> None:
    request = {"mode": "url", "message": "Log in", "elicitationId": "e-1", "url": url}
    ear, _ = await elicited(bench, f"elicit {json.dumps(request)}")
    (question,) = ear.questions
    assert (question.url, question.unfit) == (None, "its link is none that people should follow")


@pytest.mark.parametrize(
    ("properties", "why"),
    [
        ({"it": {"type": "array", "items": {"type": "string", "enum": ["a"]}}}, "takes several values"),
        ({"it": {"type": "_custom"}}, "takes several values"),
        ({"it": {"type": "string", "enum": [str(number) for number in range(50)]}}, "offers 50 choices"),
        ({f"p{number}": {"type": "string"} for number in range(40)} | {"it": {"type": "string"}}, "asks for 41 values"),
        ({"other": {"type": "string"}}, "a value that it does not describe"),
    ],
)
async def test_a_form_that_no_chat_can_ask_is_said_to_be_one(bench: Bench, properties: Any, why: str) -> None:
    ear, _ = await elicited(bench, form("it", **properties))
    (question,) = ear.questions
    assert question.form == ()
    assert why in (question.unfit or "")


async def test_what_need_not_be_given_and_cannot_be_asked_is_left_out(bench: Bench) -> None:
    several = {"type": "array", "items": {"type": "string", "enum": ["a"]}}
    ear, _ = await elicited(bench, form("it", it={"type": "boolean"}, some=several))
    (question,) = ear.questions
    assert [field.name for field in question.form or ()] == ["it"]


@pytest.mark.parametrize(
    "request_",
    [
        {"mode": "form", "message": "hm"},
        {"mode": "form", "message": 7, "requestedSchema": {}},
        {"mode": "url", "message": "hm", "elicitationId": "e", "url": "no link"},
        {"mode": "dance", "message": "hm"},
        {"message": "hm"},
        {"mode": "form", "message": "hm", "requestedSchema": {}, "_meta": {"mode": 7, "message": None, "self": 1}},
    ],
)
async def test_a_request_that_is_none_is_refused_and_the_agent_goes_on(bench: Bench, request_: Any) -> None:
    ear, told = await elicited(bench, f"elicit {json.dumps(request_)}")
    assert told == "error"
    assert ear.questions == []


async def test_megabytes_are_asked_in_a_few_words(bench: Bench) -> None:
    big = "x" * 1_000_000
    ear, _ = await elicited(bench, form("it", message=big, it={"type": "string", "title": big, "description": big}))
    (question,) = ear.questions
    assert len(question.title) + len((question.form or ())[0].label) < 2_000


async def test_a_form_of_another_session_is_nobodys(bench: Bench) -> None:
    request = {"sessionId": "other", "mode": "form", "message": "hm", "requestedSchema": {"properties": {}}}
    ear, told = await elicited(bench, f"elicit {json.dumps(request)}")
    assert (ear.questions, told["action"]) == ([], "cancel")


async def test_a_cancel_withdraws_it_at_once(bench: Bench) -> None:
    agent = await bench.start()
    ear = Ear()
    running = asyncio.create_task(bench.say(agent, f"do: {form(it={'type': 'string'})}", ear))
    await ear.is_asked()
    await agent.cancel(grace_s=10)
    assert (await running).cancelled
    (answer,) = bench.received()
    assert answer["result"]["action"] == "cancel"
    assert ear.withdrawn == 1


async def test_what_says_that_a_link_was_followed_means_nothing(bench: Bench) -> None:
    agent = await bench.start()
    frame = '{"jsonrpc":"2.0","method":"elicitation/complete","params":{"elicitationId":"e-1"}}'
    ear = Ear()
    assert (await bench.say(agent, f"do: raw {frame} ; say on", ear)).final == "on"
    assert ear.events == [Text("on")]


async def test_questions_are_counted_through_a_turn(bench: Bench) -> None:
    agent = await bench.start()
    ear = Ear(answer=ACCEPTS)
    await bench.say(agent, f"do: {form()} ; ask-permission rm ; {form()}", ear)
    await bench.say(agent, f"do: {form()}", ear)
    assert [question.number for question in ear.questions] == [1, 2, 3, 1]
    await until(lambda: agent.alive)
