"""Workers that are killed, stopped or short of room, and bridges that are held up by none of it."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from adapters.process import birth_of
from adapters.worker.codec import read
from adapters.worker.left import still_running
from adapters.worker.link import Link
from adapters.worker.nursery import NoWorker, Nursery
from adapters.worker.remote import RemoteAgent
from adapters.worker.runtime import WorkerRuntime
from adapters.worker.terms import Ready
from bridge.ids import TurnId
from bridge.ports.runtime import Execution, Prompt, Result, StartFailed, Text
from bridge.turn import FailureKind, Process
from tests.adapters.acp.bench import ROOT, Ear
from tests.adapters.worker.house import House
from tests.adapters.worker.stage import AGENT, LAUNCH, Stage
from tests.adapters.worker.test_receipts import full_after

DESK = "default/front-desk"
FORKS_NONE = """
import os, socket, sys
from adapters.worker.cradle import rock

def fork():
    raise BlockingIOError(11, "Resource temporarily unavailable")

os.fork = fork
rock(socket.socket(fileno=int(sys.argv[1])), lambda _: None)
"""


async def test_a_worker_that_was_stopped_is_not_waited_for_by_the_next_bridge(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.worker.runtime._ADOPT_S", 0.2)
    job = await house.works("say done")
    await job.is_left()
    os.kill(job.worker.pid, signal.SIGSTOP)
    assert await house.adopts(job) is None
    async with asyncio.timeout(20):
        await house.runtime(stop_s=1_000).end(job.agent.process)
    await house.gone(job.worker, job.agent.process)


async def test_a_stop_does_not_wait_for_a_worker_that_takes_nothing(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.worker.remote._END_S", 0.2)
    agent = await house.bench.start(house.runtime())
    worker = house.worker_of(agent)
    os.kill(worker.pid, signal.SIGSTOP)
    prompt = Prompt(words="x" * 4_000_000, execution=Execution(TurnId("turn-1"), 1))
    asking = asyncio.create_task(agent.prompt(prompt, Ear()))
    await asyncio.sleep(0)
    async with asyncio.timeout(20):
        await agent.cancel(0)
        assert (await asking).cancelled


async def test_an_idle_agent_ends_with_its_worker(house: House) -> None:
    agent = await house.bench.start(house.runtime(house.bench.spec("--stubborn", "yes")))
    worker = house.worker_of(agent)
    await house.kills(worker)
    await house.gone(agent.process)
    assert not agent.alive


async def test_what_was_detached_is_listed_also_where_its_worker_was_killed(house: House) -> None:
    spec = house.bench.spec("--stubborn", "yes")
    job = await house.works("detach ; say $last ; hang", runtime=house.runtime(spec))
    house.opens()
    await job.ear.hears(Text)
    pid = int(job.ear.of(Text)[0].text)
    detached = Process(pid, birth_of(pid) or "")
    house.processes.append(detached)
    await house.kills(job.worker)
    assert (await job.doing).unsure
    assert [one.process for one in still_running(house.folder, DESK)] == [detached]


async def _taken(bridge: WorkerRuntime, turn: Execution) -> None:
    assert not await bridge.taken(turn)


async def _retold(bridge: WorkerRuntime, turn: Execution) -> None:
    assert await bridge.retold(turn, 0, Ear()) is None


async def _adopted(bridge: WorkerRuntime, turn: Execution) -> None:
    assert await bridge.adopt(LAUNCH, AGENT, turn, 0) is None


async def _ended(bridge: WorkerRuntime, turn: Execution) -> None:
    await bridge.end(AGENT)


async def _tidied(bridge: WorkerRuntime, turn: Execution) -> None:
    await bridge.tidy()


@pytest.mark.parametrize("reads", [_taken, _retold, _adopted, _ended, _tidied])
async def test_a_journal_that_takes_long_to_read_holds_up_nobody(
    house: House, reads: Callable[[WorkerRuntime, Execution], Awaitable[None]]
) -> None:
    house.folder.make()
    os.mkfifo(house.folder.journal("turn-1"))
    reading = asyncio.ensure_future(reads(house.runtime(), Execution(TurnId("turn-1"), 1)))
    async with asyncio.timeout(20):
        end = await asyncio.to_thread(os.open, house.folder.journal("turn-1"), os.O_WRONLY)
    assert not reading.done()
    os.close(end)
    await reading


async def test_without_room_for_a_worker_it_is_tried_again_and_people_need_not_resume_it(house: House) -> None:
    (house.path / "run").touch()
    with pytest.raises(StartFailed) as caught:
        await house.bench.start(house.runtime())
    failure = caught.value.failure
    assert (failure.kind, failure.temporary) == (FailureKind.CAPACITY, True)
    assert str(house.folder.path) in failure.detail


async def test_a_turn_of_which_nothing_could_be_recorded_leaves_the_worker_to_the_next(
    tmp_path: Path, house: House
) -> None:
    stage = Stage(tmp_path / "workers", journal=full_after(1))
    ours, theirs = socket.socketpair()
    for end in (ours, theirs):
        end.setblocking(False)
    stage.serving = asyncio.create_task(stage.host.serve(await Link.over(theirs), stage.folder.listen(stage.name)))
    link = await Link.over(ours)
    assert await link.receive()
    await link.send({"do": "known"})
    started = await link.receive()
    assert started
    ready = read(Ready, started["started"])

    async def kill() -> None:
        stage.over.set()

    agent = RemoteAgent(link, ready, kill=kill, recorder=house.runtime(), end_s=0.5, name=lambda: "turn-0")
    for turn in ("turn-1", "turn-2"):
        stage.actor.steps.put_nowait(Result("done", "end_turn"))
        result = await agent.prompt(Prompt(words="do it", execution=Execution(TurnId(turn), 1)), Ear())
        assert (result.final, result.failure) == ("done", None)
        await agent.forget()
    await agent.close()
    await stage.serving


async def test_where_no_process_can_be_forked_it_is_said_without_a_traceback(
    capfd: pytest.CaptureFixture[str],
) -> None:
    nursery = Nursery((sys.executable, "-P", "-c", FORKS_NONE), {"PYTHONPATH": str(ROOT)})
    with pytest.raises(NoWorker):
        await nursery.worker()
    await nursery.close()
    assert capfd.readouterr().err == ""


async def test_what_a_worker_warns_of_is_in_the_log_of_its_agents(house: House) -> None:
    agent = await house.bench.start(house.runtime())
    await house.bench.say(agent, "do: raw hello ; say done")
    await agent.close()
    warned = [line for line in house.bench.stderr if "no ACP frames" in line]
    assert warned == ["worker: an agent prints lines that are no ACP frames (the first one has 5 bytes)"]
