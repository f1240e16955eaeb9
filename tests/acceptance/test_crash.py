"""What the bridge has accepted survives its sudden death (invariants 1, 2 and 5)."""

import asyncio
import os
import signal
import sqlite3
from contextlib import closing

from bridge import briefing
from tests.acceptance.home import Home, exist
from tests.fakes.bot_api import BotApi

CHAT, FRONT = -1001, 42


async def test_a_message_accepted_before_the_death_is_delivered_once_after_it(home: Home) -> None:
    gate = home.path / "gate"
    script = f"begin edit ; touch {home.path}/busy ; wait-for {gate} ; say first done"
    home.worker(
        "career",
        {"on": "mail", "match": "first", "script": script},
        {"on": "mail", "script": "say done: $text"},
    )
    home.rule("default/shell", "default/career")
    await home.up()
    first = await home.tieline("send", "career", "first", "--wake", "--json")
    await exist(home.path / "busy")
    second = await home.tieline("send", "career", "second", "--wake", "--json", "--key", "k2")
    await home.kill(workers=True)
    await home.up()
    again = await home.tieline("send", "career", "second", "--wake", "--json", "--key", "k2")
    assert (again.json["message_id"], again.json["duplicate"]) == (second.json["message_id"], True)
    answer = await home.tieline("ask", "career", "third", "--json")
    assert answer.json["reply"]["text"] == "done: third"
    mail = (await home.tieline("inbox", "--json")).lines
    answers = [one for one in mail if one["in_reply_to"] == second.json["message_id"]]
    assert [one["text"] for one in answers] == ["done: second"]
    # The turn over the first had begun to edit, and nobody attends who could say whether to run it again.
    (lost,) = [one for one in mail if one["in_reply_to"] == first.json["message_id"]]
    assert lost["origin"] == "system"


async def test_a_turn_that_had_only_read_is_tried_again_after_the_death_by_its_agents_own_history(home: Home) -> None:
    gate = home.path / "gate"
    home.worker("career", {"on": "mail", "script": f"touch {home.path}/busy ; wait-for {gate} ; say done: $text"})
    home.rule("default/shell", "default/career")
    await home.up()
    asking = await home.began("ask", "career", "look it up", "--timeout", "50")
    await exist(home.path / "busy")
    await home.kill(workers=True)
    gate.touch()
    await home.up()
    out, _ = await asking.communicate()
    assert out.decode().strip() == "done: look it up"
    notices = [prompt[0]["text"] for prompt in home.prompts("career")]
    assert notices == [briefing.MAIL_NOTICE, f"{briefing.CONTINUATION_NOTICE}\n{briefing.MAIL_NOTICE}"]


async def test_parked_work_is_decided_once_by_an_operator_after_another_death(home: Home, api: BotApi) -> None:
    gate = home.path / "gate"
    api.forum(CHAT, topics={FRONT: "Front Desk"})
    home.telegram(api, chats=[CHAT], users=[222])
    script = f"begin pay ; touch {home.path}/busy ; wait-for {gate} ; say paid"
    home.worker("front-desk", {"on": "prompt", "match": "pay", "script": script}, places=[f"telegram:{CHAT}/{FRONT}"])
    await home.up()
    api.say("pay the bill", chat=CHAT, thread=FRONT, user=222)
    await exist(home.path / "busy")
    await home.kill(workers=True)
    await home.up()
    question = await api.seen(lambda sent: sent.thread == FRONT and "Run it again?" in sent.text, timeout=20)
    retry, discard = (data for _, data in question.buttons)
    await home.kill()
    gate.touch()
    await home.up()
    assert "operator" in str(await api.answered(api.press(question, retry, 222), timeout=20))
    assert await api.answered(api.press(question, retry, 111), timeout=20) == "It is run again."
    for data in (retry, discard):
        assert "decided already" in str(await api.answered(api.press(question, data, 111), timeout=20))
    await api.seen(lambda sent: sent.thread == FRONT and sent.text == "paid", timeout=20)
    assert len(home.prompts("front-desk")) == 2


async def test_the_agent_of_a_dead_bridge_is_gone_before_anything_runs_again(home: Home) -> None:
    home.agent("career", {"on": "mail", "script": f"let p $pid ; touch {home.path}/busy ; hang"}, stubborn="yes")
    home.session("career", "career")
    home.rule("default/shell", "default/career")
    home.limits(stop_grace_s=1)
    await home.up()
    await home.tieline("send", "career", "hang on", "--wake")
    await exist(home.path / "busy")
    pids = home.agents()
    assert pids
    await home.kill(workers=True)
    await home.up()
    assert not [pid for pid in pids if alive(pid)]


async def test_a_bridge_that_is_told_to_end_while_it_starts_ends(home: Home) -> None:
    home.agent("career", {"on": "mail", "script": f"touch {home.path}/busy ; hang"}, stubborn="yes")
    home.session("career", "career")
    home.rule("default/shell", "default/career")
    home.limits(stop_grace_s=60)
    await home.up()
    await home.tieline("send", "career", "hang on", "--wake")
    await exist(home.path / "busy")
    await home.kill()
    lock = home.path / "tieline.lock"
    lock.unlink()
    starting = await home.began("run")
    await exist(lock)
    starting.terminate()
    async with asyncio.timeout(20):
        out, _ = await starting.communicate()
    for pid in home.agents():
        os.kill(pid, signal.SIGKILL)
    assert (starting.returncode, out) == (0, b"")


async def test_no_update_of_telegram_is_lost_or_handled_twice_over_a_death(home: Home, api: BotApi) -> None:
    api.forum(CHAT, topics={FRONT: "Front Desk"})
    home.telegram(api, chats=[CHAT])
    home.worker("front-desk", places=[f"telegram:{CHAT}/{FRONT}"])
    await home.up()
    for number in range(3):
        api.say(f"before {number}", chat=CHAT, thread=FRONT, user=111)
    await api.seen(lambda sent: sent.text == "echo: before 0", timeout=20)
    await home.kill()
    for number in range(3):
        api.say(f"after {number}", chat=CHAT, thread=FRONT, user=111)
    await home.up()
    await api.seen(lambda sent: sent.text == "echo: after 2", timeout=20)
    prompted = [prompt[-1]["text"] for prompt in home.prompts("front-desk")]
    assert [text for text in prompted if text.startswith("after")] == ["after 0", "after 1", "after 2"]
    # What the death cut off before any tool is prompted again; but it came once, and is completed at most once.
    with closing(sqlite3.connect(home.path / "tieline.db")) as connection:
        came = connection.execute("SELECT text FROM messages WHERE intent = 'input' ORDER BY id").fetchall()
        done = connection.execute("SELECT inputs FROM turns WHERE state = 'completed'").fetchall()
    assert came == [(f"{when} {number}",) for when in ("before", "after") for number in range(3)]
    assert len(done) == len(set(done)) >= 5


async def test_a_second_bridge_on_one_home_is_refused_and_names_the_first(home: Home) -> None:
    ready = await home.up()
    second = await home.tieline("run")
    assert second.code != 0
    assert str(ready["pid"]) in second.err
    assert (await home.tieline("status", "--json")).json["pid"] == ready["pid"]


async def test_sigterm_lets_the_running_turn_end(home: Home) -> None:
    gate = home.path / "gate"
    home.worker("career", {"on": "mail", "script": f"touch {home.path}/busy ; wait-for {gate} ; say in time"})
    home.rule("default/shell", "default/career")
    await home.up()
    sent = await home.tieline("send", "career", "hello", "--wake", "--json")
    await exist(home.path / "busy")
    ending = asyncio.ensure_future(home.down())
    gate.touch()
    assert await ending == 0
    await home.up()
    mail = (await home.tieline("inbox", "--json")).lines
    assert [(one["in_reply_to"], one["text"]) for one in mail] == [(sent.json["message_id"], "in time")]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] != "Z"
