"""An agent asks its people in the middle of a turn: the real bridge and agent, and Telegram by a loopback Bot API."""

import json

import pytest

from bridge.flow.questions import KEPT
from tests.acceptance.home import Home
from tests.fakes.bot_api import BotApi
from tests.fakes.bot_api.world import Sent

CHAT, CAREER = -1001, 43
PLACE = f"telegram:{CHAT}/{CAREER}"
FORM = {
    "mode": "form",
    "message": "Where do I push it?",
    "requestedSchema": {
        "properties": {
            "branch": {"type": "string", "title": "Branch"},
            "kind": {"type": "string", "enum": ["merge", "rebase"], "title": "How"},
            "loud": {"type": "boolean"},
        },
        "required": ["branch", "kind"],
    },
}
LINK = {"mode": "url", "message": "Log in", "elicitationId": "e-1", "url": "https://login.example/start?code=1"}


def office(home: Home, api: BotApi) -> None:
    api.forum(CHAT, topics={CAREER: "Career"})
    home.telegram(api, chats=[CHAT], users=[222])
    home.worker(
        "career",
        {"on": "prompt", "match": "push", "script": f"elicit {json.dumps(FORM)}"},
        {"on": "prompt", "match": "log in", "script": f"elicit {json.dumps(LINK)}"},
        {"on": "prompt", "match": "clean", "script": "ask-permission rm -r build"},
        places=[PLACE],
    )


async def test_an_operator_answers_by_a_reply_and_by_buttons_and_nobody_else_does(home: Home, api: BotApi) -> None:
    office(home, api)
    await home.up()
    api.say("push it", chat=CHAT, thread=CAREER, user=111)
    first = await api.seen(lambda one: "1 of 3: Branch" in one.text, timeout=20)
    assert (first.thread, first.text.split("\n")[0]) == (CAREER, "career asks: Where do I push it?")
    api.say("evil", chat=CHAT, thread=CAREER, user=222, reply_to=first.message_id)
    await api.seen(lambda one: "/answer is for operators" in one.text, timeout=20)
    api.say("main-42", chat=CHAT, thread=CAREER, user=111, reply_to=first.message_id)
    second = await api.seen(lambda one: "2 of 3: How" in one.text, timeout=20)
    rebase = dict(second.buttons)["rebase"]
    assert "only an operator" in str(await api.answered(api.press(second, rebase, user=222), timeout=20))
    assert await api.answered(api.press(second, rebase, user=111), timeout=20) == "rebase"
    third = await api.seen(lambda one: "3 of 3: loud" in one.text, timeout=20)
    assert [label for label, _ in third.buttons] == ["Yes", "No", "Skip", "Decline"]
    api.say("/answer skip", chat=CHAT, thread=CAREER, user=111)
    said = await api.seen(lambda one: one.text.startswith("elicited: "), timeout=20)
    told = json.loads(said.text.removeprefix("elicited: "))
    assert told == {"action": "accept", "content": {"branch": "main-42", "kind": "rebase"}}
    assert "decided" in str(await api.answered(api.press(second, rebase, user=111), timeout=20))
    assert [prompt[0]["text"] for prompt in home.prompts("career")] == ["push it"]
    await api.seen(lambda one: one.edited and one.message_id == first.message_id and "· answered" in one.text, 20)


async def test_a_link_is_followed_by_people_only_and_a_question_in_vain_is_said_to_be(home: Home, api: BotApi) -> None:
    office(home, api)
    home.limits(question_timeout_s=2)
    await home.up()
    api.say("log in", chat=CHAT, thread=CAREER, user=111)
    await api.seen(lambda one: "https://login.example/start?code=1" in one.text and one.thread == CAREER, timeout=20)
    said = await api.seen(lambda one: one.text.startswith("elicited: "), timeout=20)
    told = json.loads(said.text.removeprefix("elicited: "))
    assert (told["action"], told["_meta"]["tieline"]["outcome"]) == ("cancel", "timed_out")
    await api.seen(lambda one: one.edited and "declined: no answer in time" in one.text, timeout=20)


async def test_a_stop_withdraws_what_is_asked(home: Home, api: BotApi) -> None:
    office(home, api)
    await home.up()
    api.say("clean up", chat=CHAT, thread=CAREER, user=111)
    asked = await api.seen(lambda one: "career asks for permission: rm -r build" in one.text, timeout=20)
    api.say("/stop", chat=CHAT, thread=CAREER, user=111)
    gone = await api.seen(lambda one: one.edited and "· withdrawn" in one.text, timeout=20)
    assert (gone.message_id, gone.buttons) == (asked.message_id, ())
    allow = dict(asked.buttons)["Allow"]
    assert "decided" in str(await api.answered(api.press(asked, allow, user=111), timeout=20))


async def asked_and_known(api: BotApi) -> Sent:
    """A question that stands in the topic. What is sent there after it tells that the bridge knows of that."""
    api.say("clean up", chat=CHAT, thread=CAREER, user=111)
    asked = await api.seen(lambda one: "asks for permission: rm -r build" in one.text, timeout=20)
    api.say("/queue", chat=CHAT, thread=CAREER, user=111)
    await api.seen(lambda one: one.thread == CAREER and one.message_id > asked.message_id, timeout=20)
    return asked


@pytest.mark.parametrize("death", ["killed", "asked to end"])
@pytest.mark.parametrize("pressed", ["before the next bridge", "after it"])
async def test_an_answer_reaches_the_agent_once_over_the_death_of_the_bridge_that_asked(
    home: Home, api: BotApi, death: str, pressed: str
) -> None:
    office(home, api)
    home.limits(worker_grace_s=60, stop_grace_s=1)
    await home.up()
    asked = await asked_and_known(api)
    allow = dict(asked.buttons)["Allow"]
    if death == "killed":
        await home.kill()
    else:
        assert await home.down() == 0
    if pressed == "before the next bridge":
        callback = api.press(asked, allow, user=111)
        await home.up()
    else:
        await home.up()
        callback = api.press(asked, allow, user=111)
    assert await api.answered(callback, timeout=20) in ("Allow", KEPT)
    await api.seen(lambda one: one.text == "permission: allow_once", timeout=20)
    shown = await api.seen(lambda one: one.edited and one.text.endswith("rm -r build\n· Allow"), timeout=20)
    assert (shown.message_id, shown.buttons) == (asked.message_id, ())
    assert [one.message_id for one in api.sent(CHAT, CAREER) if "asks for" in one.text] == [asked.message_id]
    assert "decided" in str(await api.answered(api.press(asked, allow, user=111), timeout=20))
    assert [prompt[0]["text"] for prompt in home.prompts("career")] == ["clean up"]
    assert len([one for one in home.frames("career") if str(one.get("id", "")).startswith("scripted-")]) == 1


async def test_a_question_keeps_its_time_over_a_death_of_the_bridge(home: Home, api: BotApi) -> None:
    office(home, api)
    home.limits(question_timeout_s=3, worker_grace_s=60)
    await home.up()
    asked = await asked_and_known(api)
    await home.kill()
    await home.up()
    await api.seen(lambda one: one.text == "permission: reject_once", timeout=20)
    shown = await api.seen(lambda one: one.edited and "denied: no answer in time" in one.text, timeout=20)
    assert shown.message_id == asked.message_id


async def test_where_nobody_is_a_question_is_answered_at_once(home: Home, api: BotApi) -> None:
    office(home, api)
    home.worker("desk", {"on": "mail", "script": "ask-permission rm -r build"})
    home.rule("default/shell", "default/desk")
    home.limits(question_timeout_s=3_000)
    await home.up()
    assert (await home.ask("desk", "clean up")).json["reply"]["text"] == "permission: reject_once"
    assert not [one for one in api.history if "rm -r build" in one.text]
