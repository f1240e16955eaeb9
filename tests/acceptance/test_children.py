"""An agent spawns children with its tool: the real bridge, agents and tool servers."""

import json
import os

from bridge.errors import REMEDY, Code
from tests.acceptance.home import Home, exist
from tests.acceptance.test_crash import alive


def spawn(agent: str, task: str) -> str:
    return f"call peer_spawn {json.dumps({'agent': agent, 'title': 'A helper', 'task': task})}"


def ask_back(text: str) -> str:
    """Waits until the child is free, and reads what it had answered before."""
    return f"call peer_ask {json.dumps({'to': '$child', 'text': text, 'timeout_s': 20})}"


def desk(home: Home, *scripts: str) -> None:
    home.worker("desk", {"on": "mail", "script": " ; ".join(scripts)})
    home.rule("default/shell", "default/desk")
    home.rule("default/desk", "tag:agent:helper", ["spawn"])


def touching(home: Home) -> str:
    """Lets the agent leave its process id."""
    return f"touch {home.path}/${{pid}}.pid"


def left(home: Home) -> list[int]:
    return [int(name.removesuffix(".pid")) for name in os.listdir(home.path) if name.endswith(".pid")]


def gone(pids: list[int]) -> bool:
    return not any(map(alive, pids))


async def children(home: Home, *, parent: str = "default/desk") -> list[str]:
    return [one["id"] for one in (await home.typed("sessions", "--json")).lines if one["parent"] == parent]


async def test_a_child_works_for_the_turn_that_spawned_it_and_is_gone_with_it(home: Home) -> None:
    desk(
        home,
        spawn("helper", "look it up"),
        "let child $last.session",
        ask_back("and now?"),
        "let second $last.reply.text",
        "call peer_receive",
        "say $text + $second",
    )
    home.agent("helper", {"on": "mail", "script": f"{touching(home)} ; say found: $text"})
    await home.up()
    answer = await home.ask("desk", "is it serious?")
    assert answer.json["reply"]["text"] == "found: look it up + found: and now?"
    pids = left(home)
    assert len(pids) == 1
    assert await children(home) == []
    assert [frame["method"] for frame in home.frames("helper")].count("session/new") == 1
    await home.down()
    assert gone(pids)


async def test_what_is_refused_is_an_ordinary_answer_with_what_to_do(home: Home) -> None:
    script = [
        spawn("helper", "one"),
        "let first $last.state",
        spawn("helper", "two"),
        "let second $last.error.code by $last.error.rule",
        spawn("other", "three"),
        "let third $last.error.code: $last.error.remedy",
    ]
    told = (
        "say $first, $second, $third"  # Its first turn has ended before its child answered, which wakes it once more.
    )
    home.worker(
        "desk", {"on": "mail", "match": "serious", "script": " ; ".join(script)}, {"on": "mail", "script": told}
    )
    home.rule("default/shell", "default/desk")
    home.rule("default/desk", "tag:agent:helper", ["spawn"])
    home.agent("helper", {"on": "mail", "script": "hang"})
    home.limits(children=1)
    await home.up()
    answer = await home.ask("desk", "is it serious?")
    refusals = f"busy by limits.children, not_permitted: {REMEDY[Code.NOT_PERMITTED]}"
    assert answer.json["reply"]["text"] == f"queued, {refusals}"
    trace = (await home.typed("trace", answer.json["conversation_id"], "--json")).lines
    codes = [one["detail"].get("code") for one in trace if one["step"] == "decision"]
    assert codes == [None, None, "busy", "not_permitted"]


async def test_a_child_is_refused_one_deeper_than_there_may_be(home: Home) -> None:
    desk(
        home,
        spawn("helper", "go down"),
        "let child $last.session",
        ask_back("and now?"),
        "call peer_receive",
        "say $text",
    )
    home.rule("kind:tool", "tag:agent:helper", ["spawn"])
    home.agent("helper", {"on": "mail", "script": f"{spawn('helper', 'go down')} ; say $last.error.code"})
    home.limits(spawn_depth=1)
    await home.up()
    answer = await home.ask("desk", "is it serious?")
    assert answer.json["reply"]["text"] == "depth_limit"


async def test_a_child_of_a_bridge_that_is_killed_is_retired_and_neither_gone_on_with_nor_tried_again(
    home: Home,
) -> None:
    gate = home.path / "gate"
    desk(home, spawn("helper", "look it up"), f"wait-for {gate}", "say done")
    home.agent(
        "helper", {"on": "mail", "script": f"{touching(home)} ; touch {home.path}/busy ; wait-for {gate} ; say found"}
    )
    await home.up()
    asking = await home.began("ask", "desk", "is it serious?", "--timeout", "50", "--json")
    await exist(home.path / "busy")
    (child,) = await children(home)
    assert child not in (await home.typed("sessions")).out
    pids = left(home)
    assert len(pids) == 1
    await home.kill()
    await home.up()
    assert gone(pids)
    gate.touch()
    assert await children(home) == []
    assert (await home.typed("send", child, "go on", "--json")).json["error"]["code"] == "session_closed"
    # Whatever becomes of the parent's turn, who had asked it hears so, and no child is prompted again.
    out, _ = await asking.communicate()
    assert json.loads(out)["answer"] != "open"
    assert len(home.prompts("helper")) == 1
    steps = (await home.typed("trace", json.loads(out)["message_id"], "--json")).lines
    ends = [one["detail"].get("reason") for one in steps if one["session"] == child and one["step"] == "settled"]
    assert ends == ["children do not outlive the bridge that has spawned them"]


async def test_who_stops_a_session_stops_its_children(home: Home) -> None:
    desk(home, spawn("helper", "look it up"), "hang")
    home.agent("helper", {"on": "mail", "script": f"{touching(home)} ; touch {home.path}/busy ; hang"}, stubborn="yes")
    home.limits(stop_grace_s=1)
    await home.up()
    await home.tieline("send", "desk", "is it serious?", "--wake")
    await exist(home.path / "busy")
    before = left(home)
    assert len(before) == 1
    stopped = await home.typed("session", "stop", "desk", "--json")
    assert stopped.json["stopped"]
    status = await home.typed("status", "--json")
    assert status.json["turns"] <= 1
    await home.down()
    assert gone(before)
    await home.up()
    assert await children(home) == []
    assert len(home.prompts("helper")) == 1
