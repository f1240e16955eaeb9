"""What ten thousand idle sessions cost: each with an unread message that wakes nobody.

The bridge's core starts over the store in a process of its own: once with the sessions, once with none.
"""

import asyncio
import json
import resource
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from adapters.loop import run_loop
from adapters.sqlite.database import Database
from adapters.sqlite.store import open_store
from bridge.ports.store import Change
from bridge.session import Declared, Kind
from policy.decide import Rules
from tests.bench.home import exchange_over
from tests.bench.mail import Mail, recipient_of
from tests.bench.result import Result

LOOK_S = 1.0


async def idle(folder: Path, *, sessions: int) -> list[Result]:
    await _prepare(folder / "idle.db", sessions)
    none, many = await _started(folder / "none.db", 0), await _started(folder / "idle.db", sessions)
    name = f"{sessions:,} idle sessions"
    tasks, visits = many["tasks"] - none["tasks"], many["visits"] - none["visits"]
    cpu = many["cpu_s"] / LOOK_S * 100
    grown = (many["bytes"] - none["bytes"]) / 1e6
    return [
        Result(f"{name}: tasks more than with none", f"{tasks}", "", tasks, 0, 0, less_is_better=True),
        Result(f"{name}: looks at the store a second", f"{visits}", "", visits, 0, 0, less_is_better=True),
        Result(f"{name}: share of a core, in %", f"{cpu:.1f} %", "", cpu, 1, less_is_better=True),
        Result(f"{name}: memory more than with none, in MB", f"{grown:.1f} MB", "", grown, 50, less_is_better=True),
        Result(
            f"{name}: until it accepts, in s",
            f"{many['start_s']:.2f} s",
            f"none {none['start_s']:.2f} s",
            many["start_s"],
            3,
            less_is_better=True,
        ),
    ]


async def _prepare(path: Path, sessions: int) -> None:
    """The sessions as an earlier start left them, and their mail."""
    store = await open_store(path)
    try:
        async with exchange_over(store, Rules([])) as exchange:
            await exchange.start(_declared(sessions))
        mail = Mail()
        unread = [replace(mail.message(0), recipient=recipient_of(number), wake=False) for number in range(sessions)]
        await store.commit(Change(puts=unread))
    finally:
        await store.close()


def _declared(sessions: int) -> list[Declared]:
    return [Declared(recipient_of(n), "An agent", Kind.CHAT, agent="fake", cwd="/") for n in range(sessions)]


async def _started(path: Path, sessions: int) -> dict[str, Any]:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.bench.idle", str(path), str(sessions), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await child.communicate()
    if child.returncode:
        raise RuntimeError(f"the idle bridge ended with {child.returncode}")
    told: dict[str, Any] = json.loads(out)
    return told


async def _run(path: Path, sessions: int) -> dict[str, float]:
    declared, visits = _declared(sessions), 0
    run = Database.run

    async def counted(database: Database, work: Any) -> Any:
        nonlocal visits
        visits += 1
        return await run(database, work)

    began = time.perf_counter()
    store = await open_store(path)
    async with exchange_over(store, Rules([])) as exchange:
        await exchange.start(declared)
        await exchange.begin()
        start_s = time.perf_counter() - began
        await asyncio.sleep(LOOK_S)  # What the start has set going comes to its end.
        Database.run = counted  # type: ignore[assignment,method-assign]
        cpu = time.process_time()
        await asyncio.sleep(LOOK_S)
        told = {
            "start_s": start_s,
            "tasks": len(asyncio.all_tasks()),
            "visits": visits,
            "cpu_s": time.process_time() - cpu,
            "bytes": _resident_bytes(),
        }
    await store.close()
    return told


def _resident_bytes() -> int:
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    print(json.dumps(run_loop(_run(Path(sys.argv[1]), int(sys.argv[2])))))
