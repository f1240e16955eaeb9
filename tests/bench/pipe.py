"""What every agent that mounts the tools pays for it: how soon `tieline mcp` answers, and how much memory it takes.

A real bridge in this process and the real command, as agents start it. Beside each figure stands that of an interpreter
that does nothing: what is left over is the pipe's own.
"""

import asyncio
import json
import os
import sys
import time
from pathlib import Path

from adapters.compose import TOOL_SERVER, bridge
from adapters.mcp import server as mcp
from adapters.settings.load import load
from bridge.caller import Caller
from bridge.flow.exchange import Exchange
from bridge.ids import SessionId
from bridge.message import Origin
from tests.acceptance.processes import peak_bytes
from tests.bench.result import Result, p50, p99

PERSON = Caller(SessionId("default/shell"), Origin.USER, person="shell", operator=True)
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
}
_ECHO = "import sys; sys.stdout.write(sys.stdin.readline()); sys.stdout.flush(); sys.stdin.read()"
WITHIN_MS = 150
WITHIN_MB = 20


async def pipe(folder: Path, *, rounds: int) -> list[Result]:
    home = folder / "pipe"
    home.mkdir()
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TIELINE_")}
    environ["TIELINE_HOME"] = str(home)
    async with bridge(load(home, environ), environ) as exchange:
        await mcp.preload()
        environ["TIELINE_TOKEN"] = await _token(exchange)
        bare, piped = [], []
        for _ in range(rounds):
            bare.append(await _answered((sys.executable, "-I", "-S", "-c", _ECHO), environ))
            piped.append(await _answered(TOOL_SERVER, environ))
    taken = [seconds for seconds, _ in piped]
    mega = max(peak for _, peak in piped) / 1e6
    return [
        Result(
            f"tieline mcp answers initialize: share of {WITHIN_MS} ms",
            f"{p50(taken) * 1e3:.0f} ms (p99 {p99(taken) * 1e3:.0f} ms)",
            f"a bare interpreter {p50([seconds for seconds, _ in bare]) * 1e3:.0f} ms",
            p50(taken) * 1e3 / WITHIN_MS,
            1,
            less_is_better=True,
        ),
        Result(
            f"its memory at most: share of {WITHIN_MB} MB",
            f"{mega:.1f} MB",
            f"a bare interpreter {max(peak for _, peak in bare) / 1e6:.1f} MB",
            mega / WITHIN_MB,
            1,
            less_is_better=True,
        ),
    ]


async def _token(exchange: Exchange) -> str:
    made = await exchange.make_token(PERSON, "shell", "bench")
    assert made.token is not None
    return made.token


async def _answered(command: tuple[str, ...], environ: dict[str, str]) -> tuple[float, int]:
    """How many seconds the command took to answer from its start on, and the most memory that it ever had."""
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        *command, env=environ, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
    assert await process.stdout.readline()
    seconds = time.perf_counter() - began
    peak = peak_bytes(process.pid)
    process.stdin.close()
    await process.wait()
    return seconds, peak
