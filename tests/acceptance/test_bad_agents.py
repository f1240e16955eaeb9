"""Agents that behave badly are bounded, stopped and told of, and the bridge goes on: real processes, and a loopback Bot
API."""

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.acceptance.home import Home, exist
from tests.acceptance.processes import below, born, gone, living, peak_bytes, workers
from tests.fakes.bot_api import BotApi

CHAT, CAREER = -1001, 43
PLACE = f"telegram:{CHAT}/{CAREER}"
SHELL_AGENT = Path(__file__).parents[1] / "fakes" / "shell_agent.py"
MIB = 1 << 20
GRACE_S = 1.0


@pytest.fixture
async def office(home: Home, api: BotApi) -> Home:
    api.forum(CHAT, topics={CAREER: "Career"})
    home.telegram(api, chats=[CHAT])
    return home


def say(api: BotApi, text: str) -> None:
    api.say(text, chat=CHAT, thread=CAREER, user=111)


async def told(api: BotApi, part: str, timeout: float = 30) -> str:
    return (await api.seen(lambda one: one.thread == CAREER and part in one.text, timeout)).text


def family(bridge: int) -> dict[int, str]:
    """The agents below a bridge with their workers and whatever else was started for them, but for what forks those."""
    return born(pid for pid in below(bridge) if pid not in below(bridge, 1))


async def test_who_floods_stderr_in_a_turn_keeps_nobody_waiting_and_fills_nothing(office: Home, api: BotApi) -> None:
    flood = f"touch {office.path}/floods ; flood 5 60000 ; flood 100 120 ; say that was all"
    office.worker("career", {"on": "prompt", "script": flood}, places=[PLACE], program=SHELL_AGENT)
    office.worker("desk")
    office.rule("default/shell", "default/desk")
    bridge = (await office.up())["pid"]
    say(api, "flood")
    await exist(office.path / "floods")
    (worker,) = office.workers()
    waited = []
    while not any(one.text == "that was all" for one in api.history):
        began = time.monotonic()
        assert (await office.tieline("status")).code == 0
        waited.append(time.monotonic() - began)
    assert waited
    assert max(waited) < 5
    assert (await office.ask("desk", "hello")).code == 0
    assert peak_bytes(worker) < 200 * MIB
    assert peak_bytes(bridge) < 300 * MIB
    assert sum(path.stat().st_size for path in (office.path / "logs").glob("agents-*")) <= 2 * MIB
    assert await office.down() == 0  # and its worker has written what it had to write
    assert "lines are left out]" in (office.path / "logs" / "agents-default.log").read_text()


@pytest.mark.parametrize("how", ["stop", "renew", "idle", "drain"])
async def test_who_ignores_that_it_is_to_end_is_gone_after_the_grace(office: Home, api: BotApi, how: str) -> None:
    office.limits(stop_grace_s=GRACE_S, **({"idle_close_s": 0.5} if how == "idle" else {}))
    wedged = f"ignore-cancel ; tool edit ; touch {office.path}/busy ; hang"
    rules = [{"on": "prompt", "match": "work", "script": wedged}, {"on": "prompt", "script": "say here"}]
    office.worker("career", *rules, places=[PLACE], stubborn="yes")
    bridge = (await office.up())["pid"]
    say(api, "work" if how == "stop" else "hello")
    if how == "stop":
        await exist(office.path / "busy")
    else:
        await told(api, "here")
    if how == "idle":
        await office.logged("its agent was idle and is closed")
    else:
        processes = family(bridge)
        assert len(processes) >= 3  # a worker, an agent, its tools
        match how:
            case "stop":
                say(api, "/stop")
                await told(api, "stopped")
            case "renew":
                say(api, "/new")
                await told(api, "fresh")
            case "drain":
                assert await office.down() == 0
        await gone(processes)
    if how == "drain":
        await office.up()
    say(api, "hello again")
    await api.until(
        lambda: sum(one.text == "here" for one in api.sent(CHAT, CAREER)) == (1 if how == "stop" else 2), 30
    )


async def test_what_an_agent_has_started_ends_with_it_unless_it_has_left_its_process_session(
    office: Home, api: BotApi
) -> None:
    office.limits(stop_grace_s=GRACE_S)
    kinds = {
        "group": "sleep 300 & echo $$! > {file}",
        "twice": "(sh -c 'echo $$$$ > {file}; exec sleep 300' &) &",
        "deaf": "sh -c 'trap \"\" TERM; echo $$$$ > {file}; while :; do sleep 1; done' &",
        "job": f'{sys.executable} -c \'import os, time; os.setpgid(0, 0); open("{{file}}", "w").write(str(os.getpid()))'
        "; time.sleep(300)' &",
        "apart": "setsid sh -c 'echo $$$$ > {file}; exec sleep 300' &",
        "daemon": "(setsid sh -c 'echo $$$$ > {file}; exec sleep 300' &) &",
    }
    runs = [f"run {command.format(file=office.path / kind)}" for kind, command in kinds.items()]
    rules = {"on": "prompt", "match": "work", "script": [*runs, "hang"]}
    again = {"on": "prompt", "script": "echo"}
    notice = {"on": "notice", "script": "echo"}
    office.worker("career", rules, notice, again, places=[PLACE], program=SHELL_AGENT)
    bridge = (await office.up())["pid"]
    say(api, "work")
    files = {kind: office.path / kind for kind in kinds}
    await exist(*files.values())
    async with asyncio.timeout(20):
        while not all(path.read_text().strip() for path in files.values()):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    tools = {kind: born([int(path.read_text())]) for kind, path in files.items()}
    assert all(tools.values())
    everything = family(bridge)
    say(api, "/stop")
    await told(api, "stopped")
    try:
        for kind in ("group", "twice", "deaf", "job"):
            await gone(tools[kind])
        assert living(tools["apart"] | tools["daemon"]) == [*tools["apart"], *tools["daemon"]]
        await gone({pid: birth for pid, birth in everything.items() if pid not in tools["apart"] | tools["daemon"]})
        say(api, "hello again")
        listed = await told(api, "were left running by an earlier turn")
        assert all(str(pid) in listed for pid in (*tools["apart"], *tools["daemon"]))
    finally:
        for kind in ("apart", "daemon"):
            for pid in living(tools[kind]):
                os.kill(pid, signal.SIGKILL)


async def test_what_comes_after_a_cancel_reaches_nobody(office: Home, api: BotApi) -> None:
    office.limits(stop_grace_s=20)
    slow = f"say begun ; tool edit ; ignore-cancel ; touch {office.path}/busy ; wait-for {office.path}/gate"
    late = f"{slow} ; say too late ; late far too late"
    office.worker("career", {"on": "prompt", "match": "work", "script": late}, places=[PLACE])
    await office.up()
    say(api, "work")
    await exist(office.path / "busy")
    say(api, "/stop")
    async with asyncio.timeout(20):
        while not any(one.get("method") == "session/cancel" for one in office.frames("career")):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    (office.path / "gate").touch()
    await told(api, "stopped")
    say(api, "hello again")
    await told(api, "echo: hello again")
    assert not [one for one in api.history if "too late" in one.text]


@pytest.mark.parametrize("how", ["initialize", "session/new", "missing", "leaves"])
async def test_who_never_starts_is_told_of_in_time_and_leaves_nothing(office: Home, api: BotApi, how: str) -> None:
    office.limits(start_timeout_s=1, stop_grace_s=GRACE_S, attempts=2)
    commands = {"missing": ["/no/such/agent"], "leaves": [sys.executable, "-c", "pass"]}
    office.agent("career", {"on": how, "script": "hang"}, command=commands.get(how), stubborn="yes")
    office.session("career", "career", PLACE)
    bridge = (await office.up())["pid"]
    say(api, "hello")
    expected = {"missing": "/resume", "leaves": "ended with code 0"}.get(how, "not ready within 1 s")
    await told(api, expected)
    sockets = office.path / "run" / "workers"
    async with asyncio.timeout(30):
        while office.agents() or workers(bridge) or any(sockets.glob("*.sock")):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    listed = (await office.typed("sessions", "--json")).lines
    assert [one["live"] for one in listed if one["id"] == "default/career"] == [False]
    assert (await office.tieline("status", "--json")).json["turns"] <= 1
