"""Who a caller is, is decided by its token or the kernel, and never by what it says."""

import asyncio
import os
import shutil
import sys
from pathlib import Path

import pytest

from adapters.api.processes import Peer, from_proc, lineage
from adapters.api.who import Channel, caller
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


async def test_a_token_cannot_speak_as_another_session(home: Path) -> None:
    token = {"Authorization": "Bearer desk-token"}
    status, answer = await post(home, "/v1/send", {**SEND, "from": "build"}, **token)
    assert (status, answer["error"]["code"]) == (403, "not_permitted")
    for own in ("desk", "default/desk"):
        assert (await post(home, "/v1/send", {**SEND, "from": own}, **token))[0] == 200


@pytest.mark.parametrize(("header", "code"), [("Bearer stolen", "not_permitted"), ("Bearer", "invalid_request")])
async def test_an_unknown_token_is_refused_and_not_ignored(
    home: Path, exchange: MemoryExchange, header: str, code: str
) -> None:
    _, answer = await post(home, "/v1/send", SEND, Authorization=header)
    assert answer["error"]["code"] == code
    assert exchange.sends == []


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
        await caller(exchange, Channel(None, Peer(process.pid, "1"), None))
    assert refused.value.code is Code.NOT_PERMITTED


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
