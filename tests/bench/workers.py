"""What it costs that agents run in workers: how long until people see something of a turn, and how much memory.

A real bridge in this process, with real workers, scripted agents and their tool servers. Beside each time stands that
of the same agent without any bridge.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from adapters.compose import TOOL_SERVER, bridge
from adapters.settings.load import load
from bridge.caller import Caller
from bridge.flow.exchange import Exchange
from bridge.flow.listener import TurnListener
from bridge.ids import SessionId
from bridge.message import Origin
from bridge.ports.runtime import Event
from bridge.views import Send
from tests.acceptance.processes import below, command_of
from tests.bench.result import Result, p50

SHELL = Caller(SessionId("default/shell"), Origin.PEER)
PERSONA = {"rules": [{"on": "notice", "script": "say I look ; call peer_receive {} ; say done"}]}
NOTICE = "[Tieline] a notice"
ANSWER_S = 180.0


async def workers(folder: Path, *, rounds: int, cold: int, sessions: int) -> list[Result]:
    home = folder / "workers"
    home.mkdir()
    command = _described(home, cold + sessions)
    alone = [await _alone(command, home) for _ in range(cold)]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TIELINE_")}
    environ["TIELINE_HOME"] = str(home)
    async with _running(home, environ) as exchange:
        with _first_updates() as seen:
            for number in range(cold):
                await _asked(exchange, number)
            first, took = seen[0], seen[1:cold]
            seen.clear()
            for _ in range(rounds):
                await _asked(exchange, 0)
            warm = list(seen)
        took = took or [first]
        rows = [
            _within("a warm agent's first update after the dispatch, in ms", p50(warm) * 1e3, "ms", 100, _worst(warm)),
            _within(
                "a cold one's beyond the agent's own start, in s",
                p50(took) - p50(alone),
                "s",
                1,
                f"alone {p50(alone):.2f} s, with its worker {p50(took):.2f} s, the very first {first:.2f} s",
            ),
            *_memory(),
        ]
        began = time.perf_counter()
        answered = await asyncio.gather(*(_asked(exchange, cold + number) for number in range(sessions)))
        seconds = time.perf_counter() - began
        rows.append(
            Result(
                f"{sessions} sessions at once: share that answers",
                f"{sum(answered)} of {sessions}",
                f"in {seconds:.1f} s, {_together()}",
                sum(answered) / sessions,
                1,
            )
        )
    return rows


def _described(home: Path, sessions: int) -> tuple[str, ...]:
    """Writes the settings, and returns the agents' command."""
    (home / "persona.json").write_text(json.dumps(PERSONA))
    command = (sys.executable, "-P", "-m", "adapters.scripted", "--persona", str(home / "persona.json"))
    tables = [
        "[limits]\npair_messages = 10000\nopen_requests = 1000",
        f"[agents.scripted]\ncommand = {json.dumps(command)}",
        '[[policy.rules]]\nfrom = "default/shell"\nto = "default/*"\n'
        'verbs = ["discover", "send", "ask", "wake"]\neffect = "allow"',
    ]
    tables += [f'[sessions.s{number}]\nagent = "scripted"\ncwd = "{home}"' for number in range(sessions)]
    (home / "tieline.toml").write_text("\n".join(tables))
    return command


async def _alone(command: Sequence[str], home: Path) -> float:
    """From the start of the agent to its first update, with a tool server beside it as it has one with a bridge."""
    began = time.perf_counter()
    pipe = asyncio.subprocess.PIPE
    agent = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, start_new_session=True)
    assert agent.stdin is not None
    assert agent.stdout is not None
    env = [{"name": "TIELINE_HOME", "value": str(home)}]
    server = {"name": "tieline", "command": TOOL_SERVER[0], "args": list(TOOL_SERVER[1:]), "env": env}
    new = {"cwd": str(home), "mcpServers": [server]}
    asked: list[tuple[str, dict[str, Any]]] = [("initialize", {"protocolVersion": 1}), ("session/new", new)]
    try:
        for number, (method, params) in enumerate(asked):
            await _send(agent, number, method, params)
            opened = json.loads(await agent.stdout.readline())
        blocks = [{"type": "text", "text": NOTICE}]
        await _send(agent, 2, "session/prompt", {"sessionId": opened["result"]["sessionId"], "prompt": blocks})
        assert b"session/update" in await agent.stdout.readline()
        return time.perf_counter() - began
    finally:
        os.killpg(agent.pid, 9)
        await agent.wait()


async def _send(agent: asyncio.subprocess.Process, number: int, method: str, params: Mapping[str, Any]) -> None:
    assert agent.stdin is not None
    frame = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    agent.stdin.write(json.dumps(frame).encode() + b"\n")
    await agent.stdin.drain()


@asynccontextmanager
async def _running(home: Path, environ: Mapping[str, str]) -> AsyncIterator[Exchange]:
    async with bridge(load(home, environ), environ) as exchange:
        yield exchange


@contextmanager
def _first_updates() -> Iterator[list[float]]:
    """How long after its dispatch each turn has shown something, in seconds."""
    seen: list[float] = []
    known = set()
    happened = TurnListener.happened

    async def noted(listener: TurnListener, event: Event, number: int = 0) -> None:
        turn = listener._turn
        if turn.id not in known:
            known.add(turn.id)
            seen.append(time.time() - turn.started_at)
        await happened(listener, event, number)

    TurnListener.happened = noted  # type: ignore[assignment,method-assign]
    try:
        yield seen
    finally:
        TurnListener.happened = happened  # type: ignore[method-assign]


async def _asked(exchange: Exchange, number: int) -> bool:
    view = await exchange.ask(SHELL, Send(f"s{number}", "hello", wake=True), ANSWER_S)
    return view.reply is not None


def _within(name: str, measured: float, unit: str, must: float, beside: str) -> Result:
    return Result(name, f"{measured:.2f} {unit}", beside, measured, must, less_is_better=True)


def _worst(taken: Sequence[float]) -> str:
    return f"at worst {max(taken) * 1e3:.0f} ms"


def _memory() -> list[Result]:
    """Linux only: nothing else tells what processes share."""
    found = [(pid, shares) for pid in _workers() if (shares := _shares(pid)) is not None]
    if not found:
        return []
    agents = [shares[0] for pid in below(os.getpid()) if b"--persona" in command_of(pid) and (shares := _shares(pid))]
    beside = f"the agent itself {p50(agents):.1f} MB"
    return [
        _within(
            f"a worker's memory over its agent's, {kind}, in MB", p50([of[at] for _, of in found]), "MB", 60, beside
        )
        for at, kind in enumerate(("resident", "its share of what is shared"))
    ]


def _together() -> str:
    """What all processes take, each of them its share of what is shared."""
    pids = below(os.getpid())
    taken = {pid: shares[1] for pid in pids if (shares := _shares(pid)) is not None}
    of_workers = sum(taken.get(pid, 0) for pid in _workers())
    return f"workers {of_workers:.0f} MB, with agents and tools {sum(taken.values()):.0f} MB" if taken else ""


def _workers() -> list[int]:
    """The processes that run agents, without the one that forks them."""
    parents = [pid for pid in below(os.getpid()) if b"adapters.hosting" in command_of(pid)]
    return [pid for pid in parents if any(pid in below(other) for other in parents)]


def _shares(pid: int) -> tuple[float, float] | None:
    """In MB: what is resident, and its proportional share of it."""
    try:
        told = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return None
    resident, share = (int(told.partition(f"\n{name}:")[2].split()[0]) / 1e3 for name in ("Rss", "Pss"))
    return resident, share
