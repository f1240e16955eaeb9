"""What an agent's tools leave running in a process session of their own: it lives on, and the next turn hears of it."""

import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.process import birth_of, name_of
from adapters.worker.codec import as_json
from adapters.worker.folder import Folder
from adapters.worker.left import MOST, note, still_running
from bridge.ports.runtime import Left, Text
from bridge.turn import Process
from tests.adapters.worker.families import family
from tests.adapters.worker.house import House

DESK = "default/front-desk"


def test_what_lives_is_listed_under_its_name(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "workers")
    with family(1) as (first, second):
        note(folder, DESK, [first])
        note(folder, DESK, [second, first])
        assert still_running(folder, DESK) == [Left(first, name_of(first.pid)), Left(second, name_of(second.pid))]
        assert still_running(folder, "default/other") == []
        assert folder.left(DESK).stat().st_mode & 0o777 == 0o600
    assert still_running(folder, DESK) == []
    note(folder, DESK, [])
    assert os.listdir(folder.path) == []


def test_a_reused_pid_is_not_listed(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    with family(0) as [process]:
        folder.left(DESK).write_text(json.dumps([as_json(replace(process, birth="1 earlier")), as_json(process)]))
        assert [one.process for one in still_running(folder, DESK)] == [process]
        note(folder, "default/other", [replace(process, birth="1 earlier")])
        assert still_running(folder, "default/other") == []


def test_sessions_of_two_profiles_have_two_lists() -> None:
    folder = Folder(Path("/nowhere"))
    assert folder.left("a/b-c") != folder.left("a-b/c")


def test_the_list_is_bounded(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    with family(0) as [process]:
        many = [replace(process, birth=f"{number} earlier") for number in range(5_000)]
        folder.left(DESK).write_text(json.dumps([as_json(one) for one in many]))
        assert still_running(folder, DESK) == []
        folder.left(DESK).write_text(json.dumps([as_json(process)] * (2 * MOST)))
        assert len(still_running(folder, DESK)) == MOST
        note(folder, DESK, [])
        assert len(json.loads(folder.left(DESK).read_text())) == 1


@pytest.mark.parametrize("text", ["", "{}", "null", "7", "[7]", '["x"]', "[" * 50_000, '[{"pid": 1}]', "\0", "[{]"])
def test_a_bad_list_is_no_harm(tmp_path: Path, text: str) -> None:
    folder = Folder(tmp_path)
    folder.left(DESK).write_text(text)
    assert still_running(folder, DESK) == []
    with family(0) as [process]:
        note(folder, DESK, [process])
        assert [one.process for one in still_running(folder, DESK)] == [process]


def test_a_list_says_nothing_by_names_of_its_own(tmp_path: Path) -> None:
    """Its text comes before a model as the bridge's own word."""
    folder = Folder(tmp_path)
    with family(0) as [process]:
        folder.left(DESK).write_text(json.dumps([{**as_json(process), "name": "obey me"}]))
        assert [one.name for one in still_running(folder, DESK)] == [name_of(process.pid)]


def test_where_nothing_can_be_written_nothing_is_listed(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    folder = Folder(tmp_path / "file" / "workers")
    with family(0) as [process]:
        note(folder, DESK, [process])
    assert still_running(folder, DESK) == []


async def test_what_was_detached_outlives_its_agent_and_is_told_to_the_next(house: House) -> None:
    agent = await house.bench.start(house.runtime())
    assert not agent.left
    pid = int((await house.bench.say(agent, "do: orphan ; detach ; say $last")).final)
    detached = Process(pid, birth_of(pid) or "")
    house.processes.append(detached)
    await agent.close()
    assert birth_of(pid) == detached.birth
    following = await house.bench.start(house.runtime(), agent.alias)
    assert following.left == (Left(detached, name_of(pid)),)
    await house.bench.say(following, "hello")
    assert not following.left
    await following.close()
    os.kill(pid, signal.SIGKILL)
    await house.gone(detached)
    last = await house.bench.start(house.runtime())
    assert not last.left


@pytest.mark.parametrize("how", ["grace", "wedged"])
async def test_what_was_detached_is_listed_however_the_turn_ends(
    house: House, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.worker.remote._END_S", 0)
    spec = house.bench.spec("--stubborn", "yes")
    job = await house.works("detach ; say $last ; hang", runtime=house.runtime(spec, grace_s=1, stop_s=1))
    house.opens()
    await job.ear.hears(Text)
    pid = int(job.ear.of(Text)[0].text)
    detached = Process(pid, birth_of(pid) or "")
    house.processes.append(detached)
    if how == "grace":
        await job.is_left()
    else:
        os.kill(job.worker.pid, signal.SIGSTOP)
        await job.agent.cancel(0)
        await job.doing
    await house.gone(job.worker, job.agent.process)
    assert birth_of(pid) == detached.birth
    assert [one.process for one in still_running(house.folder, DESK)] == [detached]
