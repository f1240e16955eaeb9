"""A shell asks a session, and the loop between sessions, over real processes."""

import asyncio
import json

from tests.acceptance.home import Home, exist


async def test_ask_prints_the_reply(home: Home) -> None:
    home.worker("career", {"on": "mail", "script": "say forty-two"})
    home.rule("default/shell", "default/career")
    ready = await home.up()
    assert (ready["event"], ready["web"]) == ("ready", None)
    assert ready["socket"] == str(home.path / "run" / "control.sock")
    ran = await home.tieline("ask", "default/career", "what is it?")
    assert (ran.code, ran.out) == (0, "forty-two\n")
    assert await home.down() == 0


async def test_no_answer_in_time_is_75_and_the_late_answer_is_in_the_inbox(home: Home) -> None:
    gate = home.path / "gate"
    home.worker("career", {"on": "mail", "script": f"wait-for {gate} ; say at last"})
    home.rule("default/shell", "default/career")
    await home.up()
    ran = await home.ask("career", "what is it?", timeout=0.5)
    assert (ran.code, ran.json["answer"], ran.json["reply"]) == (75, "open", None)
    follow = await home.began("inbox", "--follow", "--json")
    gate.touch()
    assert follow.stdout is not None
    async with asyncio.timeout(20):
        mail = json.loads(await follow.stdout.readline())
    follow.terminate()
    await follow.wait()
    assert (mail["text"], mail["in_reply_to"], mail["from"]) == ("at last", ran.json["message_id"], "default/career")
    again = (await home.tieline("inbox", "--json")).lines
    assert [one["message_id"] for one in again] == [mail["message_id"]]
    assert (await home.tieline("ack", mail["message_id"])).code == 0
    assert (await home.tieline("inbox", "--json")).out == ""


async def test_not_permitted_is_told_with_rule_and_remedy_and_unknown_equals_invisible(home: Home) -> None:
    for handle in ("career", "finance"):
        home.worker(handle)
    home.rule("default/shell", "default/career", verbs=["discover"])
    await home.up()
    denied = await home.ask("career", "may I?")
    assert denied.code == 77
    assert denied.json["error"]["code"] == "not_permitted"
    assert denied.json["error"]["rule"]
    assert denied.json["error"]["remedy"]
    invisible, unknown = await home.ask("finance", "may I?"), await home.ask("nobody", "may I?")
    assert invisible.code == unknown.code == 77
    assert invisible.out == unknown.out
    assert invisible.json["error"]["code"] == "unknown_session"
    assert invisible.err == unknown.err


async def test_an_agent_may_not_learn_more_through_its_tools(home: Home) -> None:
    home.worker("front-desk")
    home.worker("finance")
    home.rule("default/shell", "default/front-desk")
    await home.up()
    answers = []
    for name in ("finance", "nobody"):
        asked = await home.ask("front-desk", f'do: call peer_send {{"to": "{name}", "text": "x"}} ; say $last')
        answers.append(asked.json["reply"]["text"])
    assert answers[0] == answers[1]
    assert "unknown_session" in answers[0]
    listed = await home.ask("front-desk", "do: call peer_sessions {} ; say $last")
    assert "finance" not in listed.json["reply"]["text"]


async def test_ten_sessions_work_side_by_side_and_one_session_one_by_one(home: Home) -> None:
    handles = [f"worker-{number}" for number in range(10)]
    for handle in handles:
        home.worker(
            handle, {"on": "mail", "script": f"touch {home.path}/{handle}.here ; wait-for {home.path}/all ; say done"}
        )
        home.rule("default/shell", f"default/{handle}")
    await home.up()
    asking = [asyncio.ensure_future(home.ask(handle, "go")) for handle in handles]
    await exist(*(home.path / f"{handle}.here" for handle in handles))
    (home.path / "all").touch()
    assert [(await one).code for one in asking] == [0] * 10
