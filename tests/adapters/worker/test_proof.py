"""Whoever says to be a worker is one, or is refused (DESIGN §8): by what the kernel says, and by no clock."""

import subprocess
import sys
from dataclasses import replace

import pytest

from adapters.process import birth_of
from adapters.worker.proof import HOPS, Hello, Unproven, descends, lives, own_hello, owns
from bridge.turn import Process
from tests.adapters.worker.families import ROOT, family, hello_of

DAYS = 10 * 86_400


@pytest.mark.parametrize("hops", range(HOPS + 1))
def test_a_worker_may_be_some_hops_below_what_was_started(hops: int) -> None:
    with family(HOPS) as line:
        assert descends(hello_of(line[hops]), line[0]) == line[hops]


def test_a_child_that_is_too_deep_is_refused() -> None:
    with family(HOPS + 1) as line, pytest.raises(Unproven, match="does not come of"):
        descends(hello_of(line[-1]), line[0])


def test_a_sibling_is_refused() -> None:
    with family(0) as [started], family(0) as [sibling], pytest.raises(Unproven, match="does not come of"):
        descends(hello_of(sibling), started)


def test_a_sibling_that_claims_the_right_ancestors_is_refused() -> None:
    with family(0) as [started], family(0) as [sibling]:
        forged = replace(hello_of(sibling), ancestors=(started.pid,))
        with pytest.raises(Unproven, match="does not come of"):
            descends(forged, started)


def test_a_worker_that_names_other_ancestors_than_its_own_is_refused() -> None:
    with family(1) as [started, below], pytest.raises(Unproven, match="of others"):
        descends(replace(hello_of(below), ancestors=(1,)), started)


@pytest.mark.parametrize("birth", ["", "1", "0 never"])
def test_a_forged_birth_is_refused(birth: str) -> None:
    with family(0) as [started], pytest.raises(Unproven):
        descends(replace(hello_of(started), birth=birth), started)


def test_the_bridges_own_pid_is_refused() -> None:
    mine = own_hello()
    with pytest.raises(Unproven, match="the bridge itself"):
        descends(mine, Process(mine.pid, mine.birth))


@pytest.mark.parametrize("pid", [0, 1, -1])
def test_a_pid_that_is_nobodys_is_refused(pid: int) -> None:
    with pytest.raises(Unproven):
        lives(Hello(pid, "1"))


def test_a_dead_worker_is_refused() -> None:
    with family(0) as [started]:
        hello = hello_of(started)
    with pytest.raises(Unproven, match="does not live"):
        descends(hello, started)


def test_a_pid_that_is_another_process_by_now_is_refused() -> None:
    """The number of a process that has ended is given to another one: it was born at another time."""
    with family(0) as [ended]:
        hello = hello_of(ended)
    with family(0) as [now]:
        reused, started = replace(hello, pid=now.pid), replace(ended, pid=now.pid)
        with pytest.raises(Unproven, match="not born when it says"):
            descends(reused, started)


def test_a_process_that_was_started_earlier_under_the_same_pid_is_no_ancestor() -> None:
    with family(1) as [started, below], pytest.raises(Unproven, match="does not come of"):
        descends(hello_of(below), replace(started, birth="1 earlier"))


def test_an_agent_is_its_workers_own_and_nobody_elses() -> None:
    with family(1) as [worker, agent], family(0) as [other]:
        assert owns(worker, agent)
        with pytest.raises(Unproven, match="no agent of"):
            owns(other, agent)
        with pytest.raises(Unproven, match="no agent of"):
            owns(worker, other)


def test_an_agent_that_has_ended_is_nobodys() -> None:
    with family(1) as [worker, agent]:
        assert not owns(worker, replace(agent, birth="1"))
    assert not owns(worker, agent)


def test_births_are_the_same_whatever_the_clock_says() -> None:
    """Read under a clock that is ten days ahead, then ten days behind."""
    with family(0) as [process]:
        told = {_told_under_a_clock(process.pid, shift) for shift in (0, DAYS, -DAYS)}
        assert told == {process.birth} == {birth_of(process.pid)}


def _told_under_a_clock(pid: int, shift: float) -> str:
    read = "from adapters.process import birth_of; import sys; print(birth_of(int(sys.argv[1])))"
    stepped = (
        "import time; now, ns = time.time, time.time_ns; "
        f"time.time = lambda: now() + {shift}; time.time_ns = lambda: ns() + int({shift} * 1e9); "
    )
    ran = subprocess.run(
        [sys.executable, "-c", stepped + read, str(pid)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return ran.stdout.strip()
