"""The next bridge adopts the worker of a turn, or what is left of it, and nothing else (DESIGN §8)."""

import asyncio
import os
import signal
import socket
import sys
from dataclasses import replace
from typing import Any

import pytest

from adapters.acp.spec import AgentSpec
from adapters.process import birth_of
from adapters.worker.codec import as_json
from adapters.worker.link import Link
from adapters.worker.nursery import Nursery
from adapters.worker.proof import own_hello
from adapters.worker.terms import Ready
from bridge.ids import TurnId
from bridge.ports.runtime import Compressed, Context, Execution, StartFailed, Text, ToolBegun, ToolEnded
from bridge.turn import Failure, FailureKind, Process
from tests.adapters.acp.bench import ROOT, Ear, until
from tests.adapters.worker.families import family, forger, hello_of
from tests.adapters.worker.house import House

SCOPES: list[dict[str, Any]] = [
    {"session": "default/other"},
    {"agent": "other"},
    {"cwd": "/"},
    {"alias": "another"},
    {"alias": None},
]


# It lives
async def test_a_later_bridge_goes_on_where_the_last_one_stopped(house: House) -> None:
    job = await house.works("end ; say it is done")
    await job.is_left()
    adopted = await house.adopts(job, after=job.ear.numbers[-1])
    assert adopted
    assert (adopted.process, adopted.alias, adopted.alive) == (job.agent.process, job.agent.alias, True)
    ear = Ear()
    house.opens()
    result = await adopted.rejoin(ear, job.ear.numbers[-1])
    assert result
    assert result.final == "it is done"
    assert ear.of(ToolBegun) == []
    assert len(ear.of(ToolEnded)) == 1
    await adopted.forget()
    assert house.folder.journals() == []
    assert (await house.bench.say(adopted, "do: say and on")).final == "and on"


async def test_what_was_told_and_not_stored_is_told_again(house: House) -> None:
    job = await house.works("say done")
    await job.is_left()
    adopted = await house.adopts(job)
    assert adopted
    ear = Ear()
    house.opens()
    assert await adopted.rejoin(ear, 0)
    assert ear.of(ToolBegun) == job.ear.of(ToolBegun)


async def test_a_result_that_nobody_heard_is_kept_in_the_grace(house: House) -> None:
    job = await house.works("say done")
    await job.is_left()
    house.opens()
    await until(lambda: b'"kind":"result"' in house.folder.journal(job.turn).read_bytes())
    adopted = await house.adopts(job)
    assert adopted
    result = await adopted.rejoin(Ear(), 0)
    assert result
    assert result.final == "done"


async def test_how_an_agent_ended_while_no_bridge_was_there_is_heard_by_the_next(house: House) -> None:
    job = await house.works("stderr no_more_memory ; crash 3")
    await job.is_left()
    house.opens()
    await until(lambda: b'"kind":"result"' in house.folder.journal(job.turn).read_bytes())
    await house.gone(job.agent.process)
    adopted = await house.adopts(job)
    assert adopted
    assert not adopted.alive
    result = await adopted.rejoin(Ear(), 0)
    assert result
    assert result.failure
    assert "no_more_memory" in result.failure.detail
    await adopted.forget()
    assert house.folder.journals() == []
    await house.gone(job.worker)


@pytest.mark.parametrize("epoch", [0, 1])
async def test_a_bridge_that_is_not_later_is_refused_and_the_work_goes_on(house: House, epoch: int) -> None:
    job = await house.works("say done")
    assert await house.adopts(job, epoch) is None
    house.opens()
    assert (await job.doing).final == "done"
    assert (await house.bench.say(job.agent, "do: say still here")).final == "still here"


@pytest.mark.parametrize("scope", SCOPES, ids=str)
async def test_another_scope_is_refused_and_the_work_goes_on(house: House, scope: dict[str, Any]) -> None:
    job = await house.works("say done")
    assert await house.adopts(job, **scope) is None
    house.opens()
    assert (await job.doing).final == "done"


async def test_what_a_later_bridge_has_adopted_is_its_own(house: House) -> None:
    """The one before lives still: it ends neither the worker nor its journal."""
    job = await house.works("end ; say done")
    adopted = await house.adopts(job)
    assert adopted
    failure = (await job.doing).failure
    assert failure
    assert "later bridge" in failure.detail
    await job.agent.forget()
    await job.agent.cancel(0)
    await job.agent.close()
    assert house.folder.journals() == [job.turn]
    house.opens()
    result = await adopted.rejoin(Ear(), 0)
    assert result
    assert result.final == "done"


async def test_thousands_of_events_are_told_again(house: House) -> None:
    """Each is confirmed while the next is told: neither side waits for the other to read."""
    many = " ; ".join(["say x"] * 6_000)
    job = await house.works(many)
    await job.is_left()
    house.opens()
    await until(lambda: b'"kind":"result"' in house.folder.journal(job.turn).read_bytes())
    adopted = await house.adopts(job)
    assert adopted
    ear = Ear()
    async with asyncio.timeout(60):
        assert await adopted.rejoin(ear, 0)
    assert len(ear.of(Text)) == 6_000


# Where the context has moved
async def test_a_compression_that_nobody_stored_explains_another_context(house: House) -> None:
    go_on = house.path / "go-on"
    job = await house.works(f"compress ; say half ; wait-for {go_on} ; say done")
    house.opens()
    await job.ear.hears(Text)
    await job.is_left()
    number = job.ear.numbers[job.ear.events.index(job.ear.of(Compressed)[0])]
    later = job.ear.of(Compressed)[0].alias
    assert job.agent.alias == later != job.launch.alias
    assert await house.adopts(job, 2, number) is None
    assert await house.adopts(job, 2, number - 1, alias=later) is None
    adopted = await house.adopts(job, 2, number, alias=later)
    assert adopted
    assert adopted.alias == later
    await adopted.leave()
    again = await house.adopts(job, 3, number - 1)
    assert again
    go_on.touch()
    ear = Ear()
    assert await again.rejoin(ear, number - 1)
    assert [one.alias for one in ear.of(Compressed)] == [later]


async def test_what_a_dead_worker_has_on_record_is_of_the_context_that_it_told_last(house: House) -> None:
    job = await house.works("compress ; say half ; hang")
    house.opens()
    await job.ear.hears(Text)
    await job.is_left()
    number = job.ear.numbers[job.ear.events.index(job.ear.of(Compressed)[0])]
    later = job.ear.of(Compressed)[0].alias
    await house.kills(job.worker)
    remains = await house.adopts(job, 2, number - 1)
    assert remains
    assert remains.alias == later
    remains = await house.adopts(job, 2, number, alias=later)
    assert remains
    assert remains.alias == later


async def test_an_agent_goes_on_under_its_later_context(house: House) -> None:
    agent = await house.bench.start(house.runtime())
    before = agent.alias
    later = (await house.bench.say(agent, "do: compress ; say $last")).final
    assert agent.alias == later != before
    assert (await house.bench.say(agent, "do: say $session")).final == before
    await agent.close()
    resumed = await house.bench.start(house.runtime(), later)
    assert (await house.bench.say(resumed, "do: say $session")).final == later


# Who it is not
async def test_another_process_at_the_workers_name_is_not_adopted(house: House) -> None:
    job = await house.works("say done")
    await job.is_left()
    address = house.folder.path / f"{job.header.name}.sock"
    address.unlink()
    with forger(address, hello_of(job.worker)) as heard:
        assert await house.adopts(job) is None
        assert await asyncio.to_thread(heard.readline) == "nothing\n"


async def test_who_listens_and_accepts_nobody_holds_nobody_up(house: House) -> None:
    job = await house.works("say done")
    await job.is_left()
    address = house.folder.path / f"{job.header.name}.sock"
    address.unlink()
    with socket.socket(socket.AF_UNIX) as deaf, socket.socket(socket.AF_UNIX) as first:
        deaf.bind(str(address))
        deaf.listen(0)
        first.connect(str(address))
        async with asyncio.timeout(5):
            assert await house.adopts(job) is None


async def test_the_worker_of_another_turn_is_not_adopted(house: House) -> None:
    runtime = house.runtime()
    job, other = await house.works("say done", "turn-1", runtime), await house.works("say done", "turn-2", runtime)
    await job.is_left()
    names = [house.folder.path / f"{one.header.name}.sock" for one in (other, job)]
    names[0].rename(names[1])
    assert await house.adopts(job) is None
    house.opens()
    assert (await other.doing).final == "done"


async def test_a_worker_that_has_gone_on_to_another_turn_is_not_adopted(house: House) -> None:
    job = await house.works("say done")
    journal = house.folder.journal(job.turn)
    written = journal.read_bytes()
    house.opens()
    await job.doing
    await job.agent.forget()
    journal.write_bytes(written)
    assert await house.adopts(job) is None
    assert (await house.bench.say(job.agent, "do: say still here")).final == "still here"


async def test_what_an_agent_has_started_does_not_adopt_its_worker(house: House) -> None:
    told = house.path / "told"
    attempt = (
        "import os, socket, sys; os.setsid(); s = socket.socket(socket.AF_UNIX); s.settimeout(20); "
        "s.connect(sys.argv[1]); open(sys.argv[2] + '.part', 'wb').write(s.recv(100)); "
        "os.rename(sys.argv[2] + '.part', sys.argv[2])"
    )
    start = (
        "import runpy, subprocess, sys; subprocess.Popen([sys.executable, '-c', *sys.argv[1:4]]); "
        "sys.argv[1:] = sys.argv[4:]; runpy.run_module('adapters.scripted', run_name='__main__')"
    )
    address = house.folder.path / "worker-1.sock"
    command = (sys.executable, "-c", start, attempt, str(address), str(told), "--state", str(house.path / "state"))
    spec = AgentSpec("desk", command, env={"PYTHONPATH": str(ROOT)})
    agent = await house.bench.start(house.runtime(spec=spec))
    await until(told.exists)
    assert told.read_bytes() == b""
    with house.folder.connect("worker-1") as stranger:
        link = await Link.over(stranger)
        assert "hello" in (await link.receive() or {})
        link.close()
    await agent.close()


# It has died
async def test_what_a_dead_worker_has_on_record_is_told_once(house: House) -> None:
    job = await house.works("end ; say done")
    await job.is_left()
    house.opens()
    await until(lambda: b'"kind":"result"' in house.folder.journal(job.turn).read_bytes())
    await house.kills(job.worker)
    remains = await house.adopts(job)
    assert remains
    assert not remains.alive
    ear = Ear()
    result = await remains.rejoin(ear, 0)
    assert result
    assert result.final == "done"
    assert (len(ear.of(ToolBegun)), len(ear.of(ToolEnded))) == (1, 1)
    await remains.forget()
    assert await house.adopts(job, 3) is None
    await house.gone(job.agent.process)


async def test_a_worker_that_died_in_the_middle_leaves_no_result_and_no_agent(house: House) -> None:
    runtime = house.runtime(spec=house.bench.spec("--stubborn", "yes"))
    job = await house.works("say never", runtime=runtime)
    await job.is_left()
    await house.kills(job.worker)
    remains = await house.adopts(job)
    assert remains
    assert birth_of(job.agent.process.pid) != job.agent.process.birth
    ear = Ear()
    assert await remains.rejoin(ear, 0) is None
    assert len(ear.of(ToolBegun)) == 1


@pytest.mark.parametrize("scope", SCOPES, ids=str)
async def test_the_record_of_a_dead_worker_is_not_used_for_another_scope(house: House, scope: dict[str, Any]) -> None:
    job = await house.works("say done")
    await job.is_left()
    await house.kills(job.worker)
    assert await house.adopts(job, **scope) is None
    assert await house.adopts(job, 1) is None
    assert await house.adopts(job)


async def test_a_record_is_not_used_by_a_bridge_from_before_its_last_owner(house: House) -> None:
    job = await house.works("say done")
    await job.is_left()
    adopted = await house.adopts(job, 5)
    assert adopted
    await adopted.leave()
    await house.kills(job.worker)
    assert await house.adopts(job, 4) is None
    assert await house.adopts(job, 6)


async def test_a_damaged_journal_is_believed_up_to_its_damage(house: House) -> None:
    job = await house.works("end ; say done")
    await job.is_left()
    house.opens()
    journal = house.folder.journal(job.turn)
    await until(lambda: b'"kind":"result"' in journal.read_bytes())
    await house.kills(job.worker)
    journal.write_bytes(journal.read_bytes().replace(b'"kind":"tool_ended"', b'"kind":"tool_edned"'))
    remains = await house.adopts(job)
    assert remains
    ear = Ear()
    assert await remains.rejoin(ear, 0) is None
    assert len(ear.events) == 1


async def test_a_worker_whose_journal_was_damaged_is_not_adopted(house: House) -> None:
    job = await house.works("say done")
    await job.is_left()
    journal = house.folder.journal(job.turn)
    journal.write_bytes(journal.read_bytes().replace(b'"kind":"tool"', b'"kind":"loot"'))
    assert await house.adopts(job) is None
    await house.runtime().end(job.agent.process)
    await house.gone(job.worker, job.agent.process)


# How it ends
async def test_nobody_comes_and_all_of_it_is_gone_but_the_record(house: House) -> None:
    runtime = house.runtime(house.bench.spec("--stubborn", "yes"), grace_s=1, stop_s=1)
    job = await house.works("say never ; hang", runtime=runtime)
    below = house.below(job.worker)
    assert job.agent.process in below
    await job.is_left()
    await house.gone(job.worker, *below)
    assert house.folder.journals() == [job.turn]
    assert not (house.folder.path / f"{job.header.name}.sock").exists()


async def test_sigterm_ends_a_worker_with_its_agent(house: House) -> None:
    job = await house.works("say never")
    os.kill(job.worker.pid, signal.SIGTERM)
    failure = (await job.doing).failure
    assert failure
    assert failure.kind is FailureKind.CRASH
    await house.gone(job.worker, job.agent.process)
    assert not job.agent.alive


async def test_a_bridge_ends_what_an_earlier_one_has_left(house: House) -> None:
    job = await house.works("say never", runtime=house.runtime(spec=house.bench.spec("--stubborn", "yes"), stop_s=1))
    await job.is_left()
    await house.runtime(stop_s=1).end(replace(job.agent.process, birth="1 earlier"))
    assert birth_of(job.worker.pid) == job.worker.birth
    await house.runtime(stop_s=1).end(job.agent.process)
    await house.gone(job.worker, job.agent.process)


async def test_an_idle_agent_ends_when_its_bridge_leaves(house: House) -> None:
    job = await house.works("say done")
    house.opens()
    await job.doing
    await job.agent.forget()
    await job.agent.leave()
    await house.gone(job.worker, job.agent.process)


async def test_only_what_is_over_is_tidied_away(house: House) -> None:
    runtime = house.runtime()
    dead, alive = await house.works("say done", "turn-1", runtime), await house.works("say done", "turn-2", runtime)
    for job in (dead, alive):
        await job.is_left()
    await house.kills(dead.worker)
    house.folder.journal("turn-3").write_bytes(b"no journal")
    undecided = house.runtime()
    assert await undecided.adopt(dead.launch, dead.agent.process, Execution(TurnId("turn-1"), 2), 0)
    await undecided.tidy()
    assert sorted(house.folder.journals()) == ["turn-1", "turn-2"]
    await house.runtime().tidy()
    assert house.folder.journals() == ["turn-2"]
    assert [one.name for one in house.folder.path.glob("*.sock")] == [f"{alive.header.name}.sock"]
    assert await house.adopts(alive)


# Before it is ready
async def test_a_start_that_is_stopped_at_once_leaves_nothing(house: House) -> None:
    """Whatever it was doing, and whoever starts next gets a worker of its own."""
    runtime = house.runtime()
    for steps in range(0, 60, 3):
        starting = asyncio.create_task(house.bench.start(runtime))
        for _ in range(steps):
            await asyncio.sleep(0)
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
    agent = await house.bench.start(runtime)
    assert (await house.bench.say(agent, "do: say here")).final == "here"
    await house.gone(*(one for one in house.bench.born if one != agent.process))
    await until(lambda: len(list(house.folder.path.glob("*.sock"))) == 1)


async def test_a_stubborn_agent_that_is_starting_is_stopped_hard(house: House) -> None:
    spec = house.bench.spec("--stubborn", "yes", rules=[{"on": "initialize", "script": "hang"}])
    starting = asyncio.create_task(house.bench.start(house.runtime(spec=spec, stop_s=30)))
    await until(lambda: house.bench.born)
    (agent,) = house.bench.born
    starting.cancel()
    async with asyncio.timeout(10):
        await asyncio.gather(starting, return_exceptions=True)
    await house.gone(agent)
    await until(lambda: not list(house.folder.path.glob("*.sock")))


@pytest.mark.parametrize("forged", ["sibling", "birth", "itself"])
async def test_who_is_not_the_worker_that_was_started_gets_no_order(house: House, forged: str) -> None:
    with family(0) as [started], family(0) as [sibling]:
        hellos = {
            "sibling": hello_of(sibling),
            "birth": replace(hello_of(started), birth="1"),
            "itself": own_hello(),
        }
        house.bench.nursery = nursery = Forging(started)
        starting = asyncio.create_task(house.bench.start(house.runtime()))
        theirs = await nursery.asked
        await theirs.send({"hello": as_json(hellos[forged])})
        assert await theirs.receive() == {"do": "kill"}
        theirs.close()
        with pytest.raises(StartFailed, match="of no use"):
            await starting
        assert house.bench.born == []


async def test_why_an_agent_has_ended_at_once_is_heard_though_it_was_never_seen(house: House) -> None:
    with family(0) as [ended]:
        pass
    why = Failure(FailureKind.CONFIG, "It is no program.", retryable=False)
    with family(0) as [started]:
        house.bench.nursery = nursery = Forging(started)
        starting = asyncio.create_task(house.bench.start(house.runtime()))
        theirs = await nursery.asked
        await theirs.send({"hello": as_json(hello_of(started))})
        assert "start" in (await theirs.receive() or {})
        await theirs.send({"born": as_json(ended)})
        assert await theirs.receive() == {"do": "known"}
        await theirs.send({"failed": as_json(why)})
        assert await theirs.receive() == {"do": "kill"}
        theirs.close()
        with pytest.raises(StartFailed) as failed:
            await starting
        assert failed.value.failure == why
        assert house.bench.born == []


@pytest.mark.parametrize("told", ["born", "started"])
async def test_another_process_is_not_taken_for_the_agent(house: House, told: str) -> None:
    with family(0) as [started], family(0) as [other]:
        house.bench.nursery = nursery = Forging(started)
        starting = asyncio.create_task(house.bench.start(house.runtime()))
        theirs = await nursery.asked
        await theirs.send({"hello": as_json(hello_of(started))})
        assert "start" in (await theirs.receive() or {})
        ready = Ready(other, "context-1", Context.NEW, "")
        await theirs.send({told: as_json(other if told == "born" else ready)})
        assert await theirs.receive() == {"do": "kill"}
        theirs.close()
        with pytest.raises(StartFailed, match="of no use"):
            await starting
        assert house.bench.born == []
        assert birth_of(other.pid) == other.birth


class Forging(Nursery):
    def __init__(self, started: Process) -> None:
        super().__init__((), {})
        self._started = started
        self.asked: asyncio.Future[Link] = asyncio.get_running_loop().create_future()

    async def worker(self) -> tuple[socket.socket, Process]:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        theirs.setblocking(False)
        self.asked.set_result(await Link.over(theirs))
        return ours, self._started
