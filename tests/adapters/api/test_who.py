"""Who a caller is, is decided by its token or the kernel, and never by what it says."""

import asyncio
import os
import platform
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from adapters.api.processes import Lineage, Peer, Seen, from_proc, lineage, peer_of
from adapters.api.who import Channel, caller
from bridge.caller import Descent
from bridge.errors import Code, Refused
from bridge.message import Origin
from tests.adapters.api.live import post
from tests.adapters.api.memory_exchange import CAREER, DESK, SHELL, MemoryExchange

SEND = {"to": "career", "text": "hello"}


def met(pid: int) -> Peer:
    """As if it had just connected."""
    seen = from_proc(pid)
    assert seen is not None
    return Peer(pid, seen.birth)


async def test_a_token_is_its_session_whatever_the_processes_say(home: Path, exchange: MemoryExchange) -> None:
    exchange.agents[os.getpid()] = CAREER
    await post(home, "/v1/send", SEND, Authorization="Bearer desk-token")
    [by] = exchange.callers
    assert (by.session, by.origin, by.bound, by.operator) == (DESK, Origin.PEER, True, False)


async def test_a_token_cannot_speak_as_another_session(home: Path, exchange: MemoryExchange) -> None:
    token = {"Authorization": "Bearer desk-token"}
    status, answer = await post(home, "/v1/send", {**SEND, "from": "build"}, **token)
    assert (status, answer["error"]["code"]) == (403, "not_permitted")
    assert exchange.turned == [(DESK, f"POST /v1/send as build (process {os.getpid()})")]
    for own in ("desk", "default/desk"):
        assert (await post(home, "/v1/send", {**SEND, "from": own}, **token))[0] == 200


@pytest.mark.parametrize(("header", "code"), [("Bearer stolen", "not_permitted"), ("Bearer", "invalid_request")])
async def test_an_unknown_token_is_refused_and_not_ignored(
    home: Path, exchange: MemoryExchange, header: str, code: str
) -> None:
    _, answer = await post(home, "/v1/send", SEND, Authorization=header)
    assert answer["error"]["code"] == code
    assert exchange.sends == []
    assert [whose for whose, _ in exchange.turned] == [None] * (code == "not_permitted")


async def test_below_an_agent_a_caller_is_that_agent(home: Path, exchange: MemoryExchange) -> None:
    exchange.agents[os.getppid()] = DESK
    await post(home, "/v1/send", SEND)
    [by] = exchange.callers
    assert (by.session, by.origin, by.bound) == (DESK, Origin.PEER, True)


async def test_a_caller_that_the_kernel_does_not_name_is_a_program(exchange: MemoryExchange) -> None:
    by = await caller(exchange, Channel(None, None, None))
    assert (by.session, by.origin, by.operator) == (SHELL, Origin.PEER, False)
    with pytest.raises(Refused) as refused:
        await caller(exchange, Channel(None, None, "desk"))
    assert refused.value.code is Code.NOT_PERMITTED


async def test_nobody_passes_for_a_program_by_ending_before_it_is_looked_at(exchange: MemoryExchange) -> None:
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    await process.wait()
    with pytest.raises(Refused) as refused:
        await caller(exchange, Channel(None, Peer(process.pid, "1"), None, wish="POST /v1/send"))
    assert refused.value.code is Code.NOT_PERMITTED
    assert exchange.turned == [(None, f"POST /v1/send (process {process.pid})")]


async def test_no_number_of_processes_between_them_hides_an_agent() -> None:
    code = """
import os, sys
for _ in range(100):
    if os.fork():
        os.wait()
        os._exit(0)
print(os.getpid(), flush=True)
sys.stdin.read()
"""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdin=pipe, stdout=pipe)
    assert process.stdout is not None
    deepest = int(await process.stdout.readline())
    pids = lineage(met(deepest)).pids
    await process.communicate(b"")
    assert pids[0] == deepest
    assert pids.index(process.pid) == 100


async def test_the_name_of_a_program_does_not_hide_its_ancestors(tmp_path: Path) -> None:
    disguised = tmp_path / ") R 1 1 (x"
    shutil.copy("/bin/sleep", disguised)
    process = await asyncio.create_subprocess_exec(disguised, "60")
    try:
        assert lineage(met(process.pid)).pids[:2] == (process.pid, os.getpid())
    finally:
        process.kill()
        await process.wait()


# What the kernel says, and what follows of it

SHELL_PID, PARENT = 30, 20
PERSON = {SHELL_PID: Seen(PARENT, True, "900"), PARENT: Seen(1, False, "500"), 1: Seen(0, False, "1")}


def test_a_lineage_is_the_process_and_its_ancestors_and_its_own_terminal() -> None:
    assert lineage(Peer(SHELL_PID, "900"), PERSON.get) == Lineage((SHELL_PID, PARENT, 1), terminal=True)
    assert lineage(Peer(PARENT, "500"), PERSON.get) == Lineage((PARENT, 1), terminal=False)


@pytest.mark.parametrize("birth", ["899", None])
def test_a_later_process_with_the_same_pid_is_not_taken_for_who_connected(birth: str | None) -> None:
    assert lineage(Peer(SHELL_PID, birth), PERSON.get) == Lineage((), terminal=False)


def test_a_process_that_is_adopted_while_it_is_looked_at_is_looked_at_again() -> None:
    """Its parent has ended between two looks: what is above it by then is what counts."""
    table = {**PERSON, 10: Seen(1, False, "2")}
    looks: list[int] = []

    def look(pid: int) -> Seen | None:
        looks.append(pid)
        if pid == PARENT:
            table[SHELL_PID] = Seen(10, True, "900")
            return None
        return table[pid]

    assert lineage(Peer(SHELL_PID, "900"), look) == Lineage((SHELL_PID, 10, 1), terminal=True)
    assert looks.count(PARENT) == 1


def test_what_may_not_be_looked_at_ends_the_lineage() -> None:
    seen = {SHELL_PID: PERSON[SHELL_PID]}
    assert lineage(Peer(SHELL_PID, "900"), seen.get) == Lineage((SHELL_PID, PARENT), terminal=True)


def opened_and_ended(path: Path) -> tuple[Peer | None, Peer | None]:
    """Who opened a connection that outlives it: while it waits to be reaped, and once its pid may be another's."""
    code = "import os, socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); os.fork() or s.recv(1)"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        process = subprocess.Popen([sys.executable, "-c", code, path])
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        connection, _ = listener.accept()
    with connection:
        unreaped = peer_of(connection)
        process.wait()
        return unreaped, peer_of(connection)


@pytest.mark.skipif(sys.platform != "linux", reason="nobody tells")
async def test_a_connection_that_outlives_who_opened_it_speaks_for_nobody(
    exchange: MemoryExchange, tmp_path: Path
) -> None:
    """Its opener hands it on and ends; another process may have the pid by the time it is used."""
    unreaped, reaped = opened_and_ended(tmp_path / "socket")
    assert reaped is not None
    assert reaped.birth is None
    if tuple(map(int, platform.release().split(".")[:2])) >= (6, 5):
        assert unreaped == reaped
    with pytest.raises(Refused, match="has ended"):
        await caller(exchange, Channel(None, reaped, None))


@pytest.mark.parametrize("name", [None, "shell", "desk", "build"])
async def test_what_an_agent_has_left_behind_speaks_for_nobody(exchange: MemoryExchange, name: str | None) -> None:
    asked: list[Sequence[int]] = []

    def left(pids: Sequence[int]) -> Descent:
        asked.append(pids)
        return Descent.LEFT

    with pytest.raises(Refused, match="has ended") as refused:
        await caller(exchange, Channel(None, met(os.getpid()), name, left))
    assert refused.value.code is Code.NOT_PERMITTED
    assert refused.value.remedy
    assert [pids[:2] for pids in asked] == [(os.getpid(), os.getppid())]
    assert [whose for whose, _ in exchange.turned] == [None]


async def test_below_a_living_agent_nothing_is_left_behind(exchange: MemoryExchange) -> None:
    exchange.agents[os.getppid()] = DESK
    by = await caller(exchange, Channel(None, met(os.getpid()), None, lambda _: Descent.LEFT))
    assert (by.session, by.origin, by.bound) == (DESK, Origin.PEER, True)


@pytest.mark.skipif(sys.platform != "linux", reason="its `script` is another")
@pytest.mark.parametrize(
    ("descent", "origin"), [(Descent.FREE, Origin.USER), (Descent.FOREIGN, Origin.PEER), (Descent.LEFT, None)]
)
async def test_a_terminal_is_a_person_only_where_no_agent_has_opened_it(
    exchange: MemoryExchange, descent: Descent, origin: Origin | None
) -> None:
    command = ["script", "-qec", "echo $$; read _", "/dev/null"]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
    try:
        assert process.stdout is not None
        shell = int(await process.stdout.readline())
        channel = Channel(None, met(shell), None, lambda _: descent)
        if origin is None:
            with pytest.raises(Refused, match="has ended"):
                await caller(exchange, channel)
        else:
            by = await caller(exchange, channel)
            assert (by.origin, by.operator) == (origin, origin is Origin.USER)
    finally:
        await process.communicate(b"\n")
