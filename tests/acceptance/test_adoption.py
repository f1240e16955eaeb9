"""The bridge dies, the agents go on: the next one adopts them in the middle of a turn (DESIGN §8)."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from adapters.process import birth_of
from tests.acceptance.home import Home, exist
from tests.fakes.bot_api import BotApi

CHAT, FRONT = -1001, 42


class Gate:
    """What a script waits for."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def open(self) -> None:
        self.path.touch()


@pytest.fixture
def gate(home: Home) -> Gate:
    return Gate(home.path / "gate")


def working(home: Home, gate: Gate, then: str = "say it is done") -> str:
    """A script that has used a tool, and goes on once the gate is open."""
    begins = f"call peer_receive {{}} ; tool edit ; begin run ; touch {home.path}/busy"
    return f"{begins} ; wait-for {gate.path} ; end ; {then}"


async def test_a_turn_goes_on_over_the_death_of_its_bridge(home: Home, gate: Gate) -> None:
    home.worker("career", {"on": "notice", "script": working(home, gate)})
    home.rule("default/shell", "default/career")
    await home.up()
    sent = await home.tieline("send", "career", "do it", "--wake", "--json")
    await exist(home.path / "busy")
    pids = home.agents()
    await home.kill()
    await home.up()
    assert home.agents() == pids
    gate.open()
    answer = await home.tieline("ask", "career", "do it", "--json", "--key", "other", "--timeout", "1")
    mail = [one for one in (await home.inbox()) if one["in_reply_to"] == sent.json["message_id"]]
    assert [one["text"] for one in mail] == ["it is done"]
    assert answer.json["answer"] in ("open", "answered")
    assert len(home.prompts("career")) <= 2


async def test_its_answer_comes_once_at_the_place_that_asked(home: Home, api: BotApi, gate: Gate) -> None:
    api.forum(CHAT, topics={FRONT: "Front Desk", 43: "Career"})
    home.telegram(api, chats=[CHAT])
    home.worker(
        "front-desk",
        {"on": "prompt", "script": 'call peer_send {"to": "career", "text": "look", "wake": true}'},
        {"on": "notice", "script": "call peer_receive {} ; say Career says: $last.messages[0].text"},
        places=[f"telegram:{CHAT}/{FRONT}"],
    )
    home.worker("career", {"on": "notice", "script": working(home, gate)}, places=[f"telegram:{CHAT}/43"])
    home.rule("default/front-desk", "default/career")
    await home.up()
    api.say("ask career", chat=CHAT, thread=FRONT, user=111)
    await exist(home.path / "busy")
    await home.kill()
    await home.up()
    gate.open()
    told = await api.seen(lambda one: one.text == "Career says: it is done", timeout=30)
    assert told.thread == FRONT
    assert [one.text for one in api.sent(CHAT, FRONT)].count("Career says: it is done") == 1
    assert len(home.prompts("career")) == 1


async def test_an_adopted_agent_still_has_its_tools(home: Home, gate: Gate) -> None:
    reply = 'call peer_reply {"message_id": "$id", "text": "by tool"} ; say and the final text'
    script = f"tool edit ; touch {home.path}/busy ; wait-for {gate.path} ; {reply}"
    home.worker("career", {"on": "mail", "script": script})
    home.rule("default/shell", "default/career")
    await home.up()
    asking = await home.began("ask", "career", "do it", "--timeout", "50")
    await exist(home.path / "busy")
    await home.kill()
    await home.up()
    gate.open()
    out, _ = await asking.communicate()
    assert out.decode().strip() == "by tool"


async def test_a_death_may_come_again_and_again(home: Home, gate: Gate) -> None:
    home.worker("career", {"on": "notice", "script": working(home, gate)})
    home.rule("default/shell", "default/career")
    await home.up()
    asking = await home.began("ask", "career", "do it", "--timeout", "50")
    await exist(home.path / "busy")
    for _ in range(3):
        await home.kill()
        await home.up()
    gate.open()
    out, _ = await asking.communicate()
    assert out.decode().strip() == "it is done"
    assert len(home.prompts("career")) == 1


async def test_what_was_done_without_a_bridge_is_on_record_for_the_next(home: Home, gate: Gate) -> None:
    home.limits(worker_grace_s=1)
    home.worker("career", {"on": "notice", "script": working(home, gate)})
    home.rule("default/shell", "default/career")
    await home.up()
    sent = await home.tieline("send", "career", "do it", "--wake", "--json")
    await exist(home.path / "busy")
    workers = home.workers()
    await home.kill()
    gate.open()
    await ended(workers)
    await home.up()
    (mail,) = [one for one in await home.inbox() if one["in_reply_to"] == sent.json["message_id"]]
    assert mail["text"] == "it is done"
    assert len(home.prompts("career")) == 1
    assert os.listdir(home.path / "run" / "workers") == []


@pytest.mark.parametrize("again", [False, True])
async def test_how_an_agent_died_while_no_bridge_was_there_is_told(
    home: Home, api: BotApi, gate: Gate, again: bool
) -> None:
    """The worker lives on; the bridge may also die once more before it has told that."""
    api.forum(CHAT, topics={FRONT: "Front Desk"})
    home.telegram(api, chats=[CHAT])
    script = f"tool edit ; touch {home.path}/busy ; wait-for {gate.path} ; stderr out_of_luck ; crash 3"
    home.worker("front-desk", places=[f"telegram:{CHAT}/{FRONT}"])
    await home.up()
    api.say(f"do: {script}", chat=CHAT, thread=FRONT, user=111)
    await exist(home.path / "busy")
    agents, workers = home.agents(), home.workers()
    await home.kill()
    gate.open()
    await ended(agents)
    assert all(birth_of(worker) for worker in workers)
    if again:
        await home.up()
        await home.kill()
    await home.up()
    asked = await api.seen(lambda one: one.thread == FRONT and "Run it again?" in one.text, timeout=30)
    assert "out_of_luck" in "\n".join(one.text for one in api.sent(CHAT, FRONT))
    assert asked.buttons
    assert len(home.prompts("front-desk")) == 1
    await ended(workers)
    api.say("hello again", chat=CHAT, thread=FRONT, user=111)
    await api.seen(lambda one: one.thread == FRONT and one.text == "echo: hello again", timeout=30)


async def test_without_a_bridge_in_the_grace_agent_and_tools_are_gone_and_the_work_is_parked(
    home: Home, api: BotApi, gate: Gate
) -> None:
    api.forum(CHAT, topics={FRONT: "Front Desk"})
    home.telegram(api, chats=[CHAT])
    home.limits(worker_grace_s=1, stop_grace_s=2)
    script = f"begin run ; orphan ; touch {home.path}/busy ; wait-for {gate.path} ; say never"
    home.worker("front-desk", {"on": "prompt", "script": script}, places=[f"telegram:{CHAT}/{FRONT}"])
    await home.up()
    api.say("do it", chat=CHAT, thread=FRONT, user=111)
    await exist(home.path / "busy")
    agents, workers = home.agents(), home.workers()
    below = [pid for agent in agents for pid in children(agent)]
    births = {pid: birth_of(pid) for pid in (*agents, *workers, *below)}
    assert len(births) >= 3
    await home.kill()
    await ended(births)
    assert not any(birth_of(pid) == birth for pid, birth in births.items())
    await home.up()
    question = await api.seen(lambda one: one.thread == FRONT and "Run it again?" in one.text, timeout=30)
    assert question.buttons
    assert len(home.prompts("front-desk")) == 1


async def test_sigterm_leaves_a_long_turn_to_the_next_bridge(home: Home, gate: Gate) -> None:
    home.limits(stop_grace_s=1)
    home.worker("career", {"on": "notice", "script": working(home, gate)})
    home.rule("default/shell", "default/career")
    await home.up()
    asking = await home.began("ask", "career", "do it", "--timeout", "50")
    await exist(home.path / "busy")
    assert await home.down() == 0
    await home.up()
    gate.open()
    out, _ = await asking.communicate()
    assert out.decode().strip() == "it is done"
    assert len(home.prompts("career")) == 1


async def test_what_an_agent_has_left_running_is_told_to_its_next_turn_and_at_its_place(
    home: Home, api: BotApi
) -> None:
    api.forum(CHAT, topics={FRONT: "Front Desk"})
    home.telegram(api, chats=[CHAT])
    home.worker("front-desk", {"on": "notice", "script": "say I know"}, places=[f"telegram:{CHAT}/{FRONT}"])
    await home.up()
    api.say("do: detach ; say it is $last", chat=CHAT, thread=FRONT, user=111)
    told = await api.seen(lambda one: one.text.startswith("it is "), timeout=30)
    pid = int(told.text.split()[-1])
    try:
        workers = home.workers()
        await home.kill()
        await ended(workers)
        assert birth_of(pid)
        await home.up()
        api.say("hello", chat=CHAT, thread=FRONT, user=111)
        answer = await api.seen(lambda one: "I know" in one.text, timeout=30)
        assert answer.text == "I know\necho: hello"
        # A final overtakes what else waits at its place, so the notice may come after the answer.
        await api.seen(lambda one: "left running" in one.text and f" {pid} (" in one.text, timeout=30)
        assert f" {pid} (" in str(home.prompts("front-desk")[-1])
    finally:
        os.kill(pid, signal.SIGKILL)


async def test_an_idle_agent_ends_with_its_bridge(home: Home) -> None:
    home.worker("career")
    home.rule("default/shell", "default/career")
    await home.up()
    await home.tieline("ask", "career", "hello")
    processes = [*home.agents(), *home.workers()]
    await home.kill()
    await ended(processes)
    await home.up()
    answer = await home.tieline("ask", "career", "hello again", "--json")
    assert answer.json["reply"]["text"] == "done: hello again"


async def test_a_worker_that_dies_ends_its_turn_and_its_agent(home: Home, gate: Gate) -> None:
    home.worker("career", {"on": "notice", "script": working(home, gate)}, stubborn="yes")
    home.rule("default/shell", "default/career")
    await home.up()
    asking = await home.began("ask", "career", "do it", "--timeout", "30", "--json")
    await exist(home.path / "busy")
    agents = home.agents()
    for pid in home.workers():
        os.kill(pid, signal.SIGKILL)
    out, _ = await asking.communicate()
    assert b'"failed"' in out
    await ended(agents)


async def test_what_a_worker_that_died_had_not_heard_of_is_not_done_again(home: Home, gate: Gate) -> None:
    script = f"call peer_receive {{}} ; touch {home.path}/ready ; wait-for {gate.path} ; tool edit"
    script += f" ; touch {home.path}/busy ; wait-for {home.path}/never"
    home.worker("career", {"on": "notice", "script": script})
    home.rule("default/shell", "default/career")
    await home.up()
    asking = await home.began("ask", "career", "do it", "--timeout", "30", "--json")
    await exist(home.path / "ready")
    (worker,) = home.workers()
    os.kill(worker, signal.SIGSTOP)
    gate.open()
    await exist(home.path / "busy")
    os.kill(worker, signal.SIGKILL)
    out, _ = await asking.communicate()
    assert b'"failed"' in out
    assert len(home.prompts("career")) == 1


async def ended(pids: "list[int] | dict[int, str | None]") -> None:
    async with asyncio.timeout(30):
        while any(birth_of(pid) for pid in pids):  # noqa: ASYNC110 - the kernel tells only parents
            await asyncio.sleep(0.02)


def children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += [int(child) for child in (task / "children").read_text().split()]
    return found


async def test_what_a_worker_leaves_that_was_killed_is_removed(home: Home, gate: Gate) -> None:
    home.worker("career", {"on": "notice", "script": working(home, gate)})
    home.rule("default/shell", "default/career")
    await home.up()
    await home.tieline("send", "career", "do it", "--wake")
    await exist(home.path / "busy")
    await home.kill(workers=True)
    assert os.listdir(home.path / "run" / "workers") != []
    await home.up()
    async with asyncio.timeout(20):
        while os.listdir(home.path / "run" / "workers"):  # noqa: ASYNC110 - nothing else tells of it
            await asyncio.sleep(0.02)
